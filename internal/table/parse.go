package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Separator returns a tab or a semicolon if a line of CSV has one outside quotes, and otherwise a
// comma.
func Separator(line []byte) byte {
	quoted := false
	found := byte(',')
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\t':
			return c
		case c == ';':
			found = c
		}
	}
	return found
}

// splitCSV sets the cells to those of the current line.
func (t *Reader) splitCSV() error {
	t.cells = t.cells[:0]
	for rest, more := t.text, true; more; {
		var cell []byte
		if t.comma[0] != '\t' {
			rest = bytes.TrimLeft(rest, " \t")
		}
		if quoted, ok := bytes.CutPrefix(rest, []byte{'"'}); ok {
			if cell, rest, ok = unquote(quoted); !ok {
				return t.errorf("cell %d: the quotation mark is not closed on this line", len(t.cells)+1)
			}
			var after []byte
			if after, rest, more = bytes.Cut(rest, t.comma); len(bytes.TrimSpace(after)) > 0 {
				return t.errorf("cell %d: %.20q after the closing quotation mark, expected %q", len(t.cells)+1, after, t.comma)
			}
		} else {
			cell, rest, more = bytes.Cut(rest, t.comma)
		}
		if len(t.cells) == maxColumns {
			return t.errorf("more than %d columns", maxColumns)
		}
		t.cells = append(t.cells, string(bytes.TrimSpace(cell)))
	}
	return nil
}

// unquote returns a quoted cell, and what follows its closing quotation mark. s begins after the
// opening one.
func unquote(s []byte) (cell, rest []byte, ok bool) {
	for {
		before, after, found := bytes.Cut(s, []byte{'"'})
		if !found {
			return nil, nil, false
		}
		cell = append(cell, before...)
		if len(after) == 0 || after[0] != '"' {
			return cell, after, true
		}
		cell, s = append(cell, '"'), after[1:]
	}
}

// startJSON reads the first row, whose keys are the columns.
func (t *Reader) startJSON() error {
	t.named = bytes.HasPrefix(bytes.TrimSpace(t.text), []byte{'{'})
	t.pending = true
	return t.eachJSON(func(i int, key, value string) error {
		if t.named {
			t.columns = append(t.columns, key)
		}
		t.cells, t.read, t.given = append(t.cells, value), append(t.read, true), append(t.given, i)
		return nil
	})
}

// parseJSON sets the cells to the values of the current line. An absent key is a missing value. A
// key that the first line lacks is an error if the caller looks for that column or reads all
// columns. Otherwise it is ignored.
func (t *Reader) parseJSON() error {
	for _, i := range t.given { // not all cells, of which a row may have few
		t.cells[i], t.read[i] = "", false
	}
	t.given = t.given[:0]
	return t.eachJSON(func(i int, key, value string) error {
		if t.named {
			var known bool
			if i, known = t.index[key]; !known {
				if len(t.opt.Columns) > 0 && !t.wanted[key] {
					return nil
				}
				return t.errorf("the first object has no key %.80q; expected all columns in the first object, with null for a missing value", key)
			}
		}
		if i >= len(t.cells) {
			return t.errorf("more than %d values, expected as many as in the first line", len(t.cells))
		}
		if t.read[i] {
			return t.errorf("column %.80q occurs twice", t.columns[i])
		}
		t.cells[i], t.read[i], t.given = value, true, append(t.given, i)
		return nil
	})
}

// eachJSON passes the index, the key and the value of every member of the object, or of the array,
// in the current line.
func (t *Reader) eachJSON(set func(i int, key, value string) error) error {
	d := json.NewDecoder(bytes.NewReader(t.text))
	d.UseNumber()
	open, err := d.Token()
	if err != nil {
		return t.notJSON(err)
	}
	switch {
	case t.named && open != json.Delim('{'):
		return t.errorf("%.40q, expected a JSON object as in the first line", t.text)
	case !t.named && open != json.Delim('['):
		return t.errorf("%.40q, expected a JSON array or, in every line, an object", t.text)
	}
	for i := 0; d.More(); i++ {
		if i == maxColumns {
			return t.errorf("more than %d columns", maxColumns)
		}
		key := ""
		if t.named {
			token, err := d.Token()
			if err != nil {
				return t.notJSON(err)
			}
			key = token.(string) // the decoder accepts no other key
		}
		value, err := jsonCell(d)
		if err != nil {
			return t.notJSON(err)
		}
		if err := set(i, key, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return t.notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return t.errorf("text after the JSON value, expected one value per line")
	}
	return nil
}

// jsonCell reads a value: a number, a string, a truth value or null (empty) as text. An object or
// an array, which is no number, is skipped.
func jsonCell(d *json.Decoder) (text string, err error) {
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return "", err
		}
		switch v := token.(type) {
		case string:
			text = strings.TrimSpace(v)
		case json.Number:
			text = v.String()
		case bool:
			text = strconv.FormatBool(v)
		case json.Delim:
			if depth--; v == '{' || v == '[' {
				depth += 2
			}
			text = "{…}"
		}
		if depth == 0 {
			return text, nil
		}
	}
}

func (t *Reader) notJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t.errorf("not JSON: %w", err)
}
