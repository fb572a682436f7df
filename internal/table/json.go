package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
