package rows

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/table"
)

// jsonField is a member of an object: a value as text, or an array.
type jsonField struct {
	name, text string
	list       []float32 // an array of numbers; NaN is a missing value
	array      bool
}

// readJSON reads a JSON Lines file: objects that are rows, or objects that are series.
func (t *tableReader) readJSON(ctx context.Context, f *tableFile, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxTableLine)
	var r *roles
	var series bool
	for line := 1; lines.Scan(); line++ {
		if ctx.Err() != nil {
			return fmt.Errorf(" %w", ctx.Err())
		}
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if !utf8.Valid(text) { // the decoder would replace invalid bytes
			return fmt.Errorf("%d: the line %w", line, errNotUTF8)
		}
		fields, err := parseObject(text)
		if err == nil && r == nil {
			series = slices.ContainsFunc(fields, func(f jsonField) bool { return f.array })
			r, err = t.jsonRoles(fields, series)
		}
		if err == nil && series {
			err = t.addObject(f, r, fields)
		} else if err == nil {
			err = t.addJSONRow(f, line, r, fields)
		}
		if err != nil {
			return fmt.Errorf("%d: %w", line, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf(" a line of more than %d MiB", maxTableLine>>20)
	}
	if lines.Err() != nil {
		return fmt.Errorf(" %w", lines.Err())
	}
	return nil
}

// jsonRoles finds the columns by the first object of a file.
func (t *tableReader) jsonRoles(fields []jsonField, series bool) (*roles, error) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	r, err := t.roles(names)
	if err != nil {
		return nil, err
	}
	if series && len(t.opt.Columns) == 0 && t.columns == nil { // other values describe the series
		r.inputs = slices.DeleteFunc(r.inputs, func(k int) bool { return !fields[k].array })
	}
	return &r, t.setColumns(r.inputNames())
}

// addJSONRow adds an object that is a row. A column that it does not have is missing.
func (t *tableReader) addJSONRow(f *tableFile, line int, r *roles, fields []jsonField) error {
	if err := t.align(r, fields, false); err != nil {
		return err
	}
	return t.addRow(f, line, r, r.cells)
}

// align sets the cells and the lists of r to the fields of an object. Its time depends on the
// fields, not on the columns of the first object.
func (t *tableReader) align(r *roles, fields []jsonField, series bool) error {
	if r.cells == nil {
		r.cells, r.lists = make([]string, len(r.names)), make([][]float32, len(r.names))
	}
	for _, k := range r.given {
		r.cells[k], r.lists[k] = "", nil
	}
	r.given = r.given[:0]
	for _, f := range fields {
		k, known := r.index[f.name]
		switch {
		case !known && len(t.opt.Columns) == 0:
			return fmt.Errorf("column %.80q is not in the first line; the option columns selects the input", f.name)
		case !known:
			continue
		case f.array && !series:
			return columnError(f.name, errors.New("an array, expected a value as in the first line"))
		}
		r.cells[k], r.lists[k], r.given = f.text, f.list, append(r.given, k)
	}
	return nil
}

// addObject adds an object that is a series.
func (t *tableReader) addObject(f *tableFile, r *roles, fields []jsonField) error {
	if err := t.align(r, fields, true); err != nil {
		return err
	}
	s, err := t.addSeries(f, r, r.cells)
	if err != nil {
		return err
	}
	lists := r.lists
	length := len(lists[r.inputs[0]])
	for _, k := range r.inputs {
		if lists[k] == nil {
			return columnError(r.names[k], errors.New("no array, expected one with the values of the series"))
		}
		if n := len(lists[k]); n != length {
			return columnError(r.names[k], fmt.Errorf("%d values, expected %d as in %q", n, length, r.names[r.inputs[0]]))
		}
	}
	for l := range length {
		for _, k := range r.inputs {
			v := lists[k][l]
			if v != v && t.opt.Missing == "" {
				return columnError(r.names[k], fmt.Errorf("value %d is missing; %s", l+1, missingHint))
			}
			s.x = append(s.x, v)
		}
	}
	if length == 0 {
		return errors.New("the series has no values")
	}
	return t.count(len(s.x))
}

// parseObject parses a JSON object of values and of arrays of numbers.
func parseObject(line []byte) ([]jsonField, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, jsonError(err, token, "an object")
	}
	var fields []jsonField
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, jsonError(err, nil, "")
		}
		f := jsonField{name: token.(string)} // the decoder accepts no other key
		if seen[f.name] {
			return nil, fmt.Errorf("column %.80q occurs twice", f.name)
		}
		seen[f.name] = true
		if len(fields) >= maxTableFields {
			return nil, fmt.Errorf("a row of more than %d fields", maxTableFields)
		}
		if err := f.parse(d); err != nil {
			return nil, columnError(f.name, err)
		}
		fields = append(fields, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, jsonError(err, nil, "")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object, expected one object per line")
	}
	return fields, nil
}

// parse parses a field's value.
func (f *jsonField) parse(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return jsonError(err, nil, "")
	}
	if token != json.Delim('[') {
		f.text, err = scalar(token)
		return err
	}
	f.array, f.list = true, []float32{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return jsonError(err, nil, "")
		}
		text, err := scalar(token)
		if err != nil {
			return err
		}
		v, err := table.ParseNumber(text)
		if err != nil {
			return fmt.Errorf("value %d: %w", len(f.list)+1, err)
		}
		f.list = append(f.list, v)
	}
	_, err = d.Token()
	return jsonError(err, nil, "")
}

// scalar returns a number, a string, a truth value or null (empty) as text.
func scalar(token json.Token) (string, error) {
	switch v := token.(type) {
	case nil:
		return "", nil
	case string:
		return strings.TrimSpace(v), nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("%v, expected a number, a string, null or an array of numbers", token)
}

// jsonError describes a syntax error, or a token that is not the expected one.
func jsonError(err error, token json.Token, expected string) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case expected != "":
		return fmt.Errorf("%.40v, expected %s", token, expected)
	}
	return nil
}
