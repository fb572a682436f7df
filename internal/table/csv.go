package table

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuotedLines bounds the lines of a row with line breaks in quoted cells. A quotation mark that
// is open by mistake would else hide the rest of the input.
const maxQuotedLines = 100

// startCSV reads the header, or the first row.
func (t *Reader) startCSV() error {
	if t.opt.Decimal != "" {
		t.decimal = t.opt.Decimal[0]
	}
	if !utf8.Valid(t.text) { // the format was not known
		t.text = t.toUTF8(t.text)
	}
	if err := t.findSeparator(); err != nil {
		return err
	}
	if err := t.splitCSV(); err != nil {
		return err
	}
	if t.named = t.isHeader(t.cells); !t.named {
		if t.pending = true; !t.commentNames() {
			return t.checkPairs()
		}
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

// commentNames takes the names of the columns from the last comment before the first row, if that
// has as many names.
func (t *Reader) commentNames() bool {
	if t.comment == nil {
		return false
	}
	row, cells := t.text, slices.Clone(t.cells)
	t.text = bytes.TrimSpace(t.comment)
	err := t.splitCSV()
	names := slices.Clone(t.cells)
	t.text, t.cells = row, cells
	if err != nil || len(names) != len(cells) || len(names) < 2 || !t.isHeader(names) || slices.Contains(names, "") {
		return false
	}
	t.columns, t.named = names, true
	t.note("the comment %.80q names the columns; --comment none reads it as a row", t.comment)
	return true
}

// checkPairs returns an error if the cells of a row without a header look like the halves of
// numbers with a decimal comma.
func (t *Reader) checkPairs() error {
	if t.named || t.separator != ',' || t.opt.Separator != "" || t.opt.Decimal != "" || len(t.cells)%2 != 0 {
		return nil
	}
	for i := 1; i < len(t.cells); i += 2 {
		if c := t.cells[i]; len(c) > 1 && c[0] == '0' && strings.Trim(c, "0123456789") == "" {
			return t.errorf("%s,%s are two cells, or a number with a decimal comma: --separator=, or --decimal=, says which", t.cells[i-1], c)
		}
	}
	return nil
}

// parseCSV sets the cells to those of the current row.
func (t *Reader) parseCSV() error {
	if err := t.splitCSV(); err != nil {
		return err
	}
	if len(t.columns) == 1 && t.separator == ',' && t.opt.Separator == "" && commaDecimal.Match(bytes.TrimSpace(t.text)) {
		t.separator = '\t' // a single column
		return t.parseCSV()
	}
	if err := t.checkPairs(); err != nil {
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
	if t.separator == ' ' {
		t.text = bytes.TrimSpace(t.text)
	}
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
	if t.separator == ' ' {
		end = bytes.IndexAny(rest, " \t")
	}
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
