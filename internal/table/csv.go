package table

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
)

// maxQuotedLines bounds the lines of a row with line breaks in quoted cells. A quotation mark that
// is open by mistake would else hide the rest of the input.
const maxQuotedLines = 100

// startCSV reads the header, or the first row.
func (t *Reader) startCSV() error {
	if err := t.splitCSV(); err != nil {
		return err
	}
	t.named = isHeader(t.cells, t.wanted)
	t.pending = !t.named
	if !t.named {
		return nil
	}
	t.columns = slices.Clone(t.cells)
	for i, name := range t.columns {
		if name == "" {
			t.columns[i] = strconv.Itoa(i + 1)
		}
	}
	return nil
}

// parseCSV sets the cells to those of the current row.
func (t *Reader) parseCSV() error {
	if err := t.splitCSV(); err != nil {
		return err
	}
	for t.opt.Ragged && len(t.cells) < len(t.columns) {
		t.cells = append(t.cells, "")
	}
	if len(t.cells) != len(t.columns) {
		return t.errorf("%d cells, expected %d as in the first line", len(t.cells), len(t.columns))
	}
	return nil
}

func (t *Reader) splitCSV() error {
	t.content, t.ends = t.content[:0], t.ends[:0]
	for at, more := 0, true; more; {
		if len(t.ends) == maxColumns {
			return t.errorf("more than %d columns", maxColumns)
		}
		var err error
		if at, more, err = t.addCell(at); err != nil {
			return err
		}
		t.ends = append(t.ends, len(t.content))
	}
	content, from := string(t.content), 0
	t.cells = t.cells[:0]
	for _, end := range t.ends {
		t.cells = append(t.cells, content[from:end])
		from = end
	}
	return nil
}

// addCell appends the content of the cell that begins at an index of the text. It returns where the
// next one begins, and whether there is one.
func (t *Reader) addCell(at int) (next int, more bool, err error) {
	rest := t.text[at:]
	if t.separator != '\t' {
		rest = bytes.TrimLeft(rest, " \t")
	}
	cell := []byte(nil)
	if bytes.HasPrefix(rest, []byte{'"'}) {
		if cell, at, err = t.unquote(len(t.text) - len(rest) + 1); err != nil {
			return 0, false, err
		}
		rest = t.text[at:]
	}
	end := bytes.IndexByte(rest, t.separator)
	more = end >= 0
	if !more {
		end = len(rest)
	}
	next = len(t.text) - len(rest) + end + 1
	if cell == nil {
		cell = rest[:end]
	} else if after := rest[:end]; len(bytes.TrimSpace(after)) > 0 {
		return 0, false, t.errorf("cell %d: %.20q after the closing quotation mark, expected %q", len(t.ends)+1, after, string(t.separator))
	}
	t.content = append(t.content, bytes.TrimSpace(cell)...)
	return next, more, nil
}

// unquote returns the content of a quoted cell that begins at an index of the text, and the index
// behind its closing quotation mark. It reads more lines if the cell does not end on this one.
func (t *Reader) unquote(at int) (cell []byte, end int, err error) {
	cell = []byte{}
	for {
		n := bytes.IndexByte(t.text[at:], '"')
		if n < 0 {
			cell = append(append(cell, t.text[at:]...), '\n')
			at = len(t.text)
			if t.line-t.row+1 < maxQuotedLines {
				err = t.readLine()
			} else {
				err = io.EOF
			}
			if errors.Is(err, io.EOF) {
				t.ended = false
				err = t.errorf("cell %d: the quotation mark is not closed within %d lines", len(t.ends)+1, maxQuotedLines)
			}
			if err != nil {
				return nil, 0, err
			}
			continue
		}
		cell = append(cell, t.text[at:at+n]...)
		if at += n + 1; at == len(t.text) || t.text[at] != '"' {
			return cell, at, nil
		}
		cell, at = append(cell, '"'), at+1
	}
}
