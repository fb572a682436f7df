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

// startJSON reads the first row, whose keys are the columns. Rows are the objects or arrays of an
// array, or values one after the other.
func (t *Reader) startJSON() error {
	text := append(bytes.TrimSpace(t.text), '\n')
	inner := bytes.TrimSpace(bytes.TrimPrefix(text, []byte{'['}))
	if text[0] == '[' && (len(inner) == 0 || inner[0] == '{' || inner[0] == '[' && t.opt.Format == JSON) {
		text, t.inArray = text[1:], true
	}
	t.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(text)), t.in), 1<<16)
	t.line = t.row
	if err := t.readValue(); err != nil {
		return err
	}
	t.Named = t.text[0] == '{'
	t.pending = true
	return t.eachJSON(func(_ int, key, value string, k kind) error {
		if t.Named {
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
	clear(t.cells)
	clear(t.kinds)
	return t.eachJSON(func(i int, key, value string, k kind) error {
		if t.Named {
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

// readValue reads the next object or array, or what is in its place up to the end of the line.
func (t *Reader) readValue() error {
	t.text, t.Ended = t.text[:0], true
	s := scanner{}
	for {
		c, err := t.in.ReadByte()
		switch {
		case err == io.EOF && len(t.text) == 0 && t.inArray:
			return t.errorf("the array of rows is not closed: the input may be truncated")
		case err == io.EOF && len(t.text) == 0:
			return io.EOF
		case err == nil && len(t.text) == 0 && (c == ']' || c == '[' && t.joined): // around all rows
			t.joined, t.inArray = c == ']', c == '['
			continue
		case err != nil && err != io.EOF:
			return t.Wrap(err)
		case c == '\n':
			t.line++
		case len(t.text) == 0:
			t.row = t.line
		}
		if err == io.EOF || c == '\n' && s.depth <= 0 && len(t.text) > 0 {
			break // it is not complete, as eachJSON finds
		}
		if len(t.text) == 0 && (c == ' ' || c == '\t' || c == '\n' || c == ',') {
			continue
		}
		if t.text = append(t.text, c); len(t.text) > maxBytes {
			return t.errorf("a row of more than %d MiB", maxBytes>>20)
		}
		if s.next(c); s.depth <= 0 && !s.quoted && (c == '}' || c == ']') {
			break
		}
	}
	t.text = withNull(t.text)
	return nil
}

// notNumbers matches strings, and the values outside of them that programs write for no number.
var notNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:(?i:inf(?:inity)?)|(?i:nan)|None|undefined)\b`)

// withNull replaces words such as NaN by null and infinities by text.
func withNull(text []byte) []byte {
	if json.Valid(text) {
		return text
	}
	return notNumbers.ReplaceAllFunc(text, func(b []byte) []byte {
		switch bytes.TrimPrefix(b, []byte{'-'})[0] {
		case '"':
			return b
		case 'I', 'i':
			return slices.Concat([]byte{'"'}, b, []byte{'"'})
		}
		return []byte("null")
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
	case t.Named && open != json.Delim('{'):
		return t.errorf("%.40q, expected a JSON object as in the first line", t.text)
	case !t.Named && open != json.Delim('['):
		return t.errorf("%.40q, expected a JSON array or, in every line, an object", t.text)
	}
	for i := 0; d.More(); i++ {
		if i == maxColumns {
			return t.errorf("more than %d columns", maxColumns)
		}
		key := ""
		if t.Named {
			token, err := d.Token()
			if err != nil {
				return t.notJSON(err)
			}
			key = token.(string) // the decoder accepts no other key
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return t.notJSON(err)
		}
		value, k := jsonCell(raw)
		if err := set(i, key, value, k); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return t.notJSON(err)
	}
	return nil
}

// jsonCell returns the text of a string, "" for null, and JSON for all other values.
func jsonCell(raw json.RawMessage) (text string, k kind) {
	switch raw[0] {
	case '"':
		json.Unmarshal(raw, &text) // a decoder has checked it
		return strings.TrimSpace(text), scalar
	case '[':
		return string(raw), array
	case 'n':
		return "", scalar
	}
	return string(raw), scalar
}

func (t *Reader) notJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return t.errorf("not JSON: %w", err)
}
