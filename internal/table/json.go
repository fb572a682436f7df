package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// kind is what a row of JSON Lines has in a column.
type kind byte

const (
	absent kind = iota
	scalar
	array
)

// startJSON reads the first row, whose keys are the columns.
func (t *Reader) startJSON() error {
	if err := t.startValues(); err != nil {
		return err
	}
	t.text = withNull(t.text)
	t.named = bytes.HasPrefix(bytes.TrimSpace(t.text), []byte{'{'})
	t.pending = true
	return t.eachJSON(func(_ int, key, value string, k kind) error {
		if t.named {
			t.columns = append(t.columns, key)
		}
		t.cells, t.kinds = append(t.cells, value), append(t.kinds, k)
		return nil
	})
}

// parseJSON sets the cells to the values of the current line. An absent key is a missing value. A
// key that the first line lacks is an error if the caller reads that column. Otherwise it is
// ignored.
func (t *Reader) parseJSON() error {
	t.text = withNull(t.text)
	clear(t.cells)
	clear(t.kinds)
	return t.eachJSON(func(i int, key, value string, k kind) error {
		if t.named {
			var known bool
			if i, known = t.index[key]; !known {
				if !t.opt.Others && !t.wanted[key] {
					return nil
				}
				return t.errorf("the first object has no key %.80q; expected all columns in the first object, with null for a missing value", key)
			}
		}
		if i >= len(t.cells) {
			return t.errorf("more than %d values, expected as many as in the first line", len(t.cells))
		}
		if t.kinds[i] != absent {
			return t.errorf("column %.80q occurs twice", t.columns[i])
		}
		t.cells[i], t.kinds[i] = value, k
		return nil
	})
}

// startValues selects how rows are found, and reads the first one: if the first line is not a whole
// value, or if it begins an array of objects, the input is read value by value.
func (t *Reader) startValues() error {
	first := bytes.TrimSpace(t.text)
	if len(first) == 0 {
		return nil
	}
	inner := bytes.TrimSpace(bytes.TrimPrefix(first, []byte{'['}))
	list := first[0] == '[' && (len(inner) == 0 || inner[0] == '{' || inner[0] == '[' && (t.opt.Format == JSON || depth(first) > 0))
	if t.values = list || first[0] == '{' && depth(first) > 0; !t.values {
		return nil
	}
	t.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(append(bytes.Clone(t.text), '\n')), t.in), 1<<16)
	t.line = t.row
	if list {
		for c := byte(0); c != '['; {
			c, _ = t.in.ReadByte()
		}
	}
	return t.readValue()
}

// depth returns how many brackets of a text of JSON are open.
func depth(text []byte) int {
	s := scanner{}
	for _, c := range text {
		s.next(c)
	}
	return s.depth
}

// scanner follows the brackets and strings of JSON.
type scanner struct {
	depth           int
	quoted, escaped bool
}

func (s *scanner) next(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted:
		s.escaped, s.quoted = c == '\\', c != '"'
	case c == '"':
		s.quoted = true
	case c == '{', c == '[':
		s.depth++
	case c == '}', c == ']':
		s.depth--
	}
}

// readValue reads the next object or array.
func (t *Reader) readValue() error {
	t.text, t.ended = t.text[:0], false
	s := scanner{}
	for {
		c, err := t.in.ReadByte()
		switch {
		case err == io.EOF && len(t.text) > 0:
			return nil // it is not complete, as parseJSON finds
		case err == io.EOF:
			t.ended = true
			return err
		case err != nil:
			return t.Wrap(err)
		case c == '\n':
			t.line++
		case len(t.text) == 0 && c == ']': // of the array of all rows
			t.ended = true
			return io.EOF
		}
		if len(t.text) == 0 {
			if c == ' ' || c == '\t' || c == '\n' || c == ',' {
				continue
			}
			t.row = t.line
		}
		if t.text = append(t.text, c); len(t.text) > maxBytes {
			return t.errorf("a row of more than %d MiB", maxBytes>>20)
		}
		if s.next(c); s.depth <= 0 && !s.quoted && (c == '}' || c == ']') {
			t.ended = true
			return nil
		}
	}
}

// notNumbers matches strings, and the values outside of them that Python writes for no number.
var notNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// withNull replaces NaN by null and infinities by text.
func withNull(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	return notNumbers.ReplaceAllFunc(text, func(b []byte) []byte {
		switch b[0] {
		case '"':
			return b
		case 'N':
			return []byte("null")
		}
		return slices.Concat([]byte{'"'}, b, []byte{'"'})
	})
}

// eachJSON passes the index, the key and the value of every member of the object, or of the array,
// in the current line.
func (t *Reader) eachJSON(set func(i int, key, value string, k kind) error) error {
	if !utf8.Valid(t.text) { // the decoder would replace invalid bytes
		return t.errorf("the line is not UTF-8 text")
	}
	d := json.NewDecoder(bytes.NewReader(t.text))
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
		value, k, err := jsonCell(d)
		if err != nil {
			return t.notJSON(err)
		}
		if err := set(i, key, value, k); err != nil {
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

// jsonCell reads a value: the text of a string, "" for null, and JSON for all others.
func jsonCell(d *json.Decoder) (text string, k kind, err error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", absent, err
	}
	switch raw[0] {
	case '"':
		err = json.Unmarshal(raw, &text)
		return strings.TrimSpace(text), scalar, err
	case '[':
		return string(raw), array, nil
	case 'n':
		return "", scalar, nil
	}
	return string(raw), scalar, nil
}

func (t *Reader) notJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t.errorf("not JSON: %w", err)
}
