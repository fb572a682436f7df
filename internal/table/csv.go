package table

import (
	"bytes"
	"errors"
	"fmt"
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
	if t.Named = t.isHeader(t.cells); !t.Named {
		if t.pending = true; !t.commentNames() {
			return t.checkPairs()
		}
		return nil
	}
	t.columns = slices.Clone(t.cells)
	if t.separator == ' ' || t.text[0] == '"' {
		t.nameRows()
	}
	for i, name := range t.columns {
		if name == "" {
			t.Index = t.Index || i == 0 && len(t.columns) > 1
			if t.columns[i] = strconv.Itoa(i + 1); slices.Contains(t.cells, t.columns[i]) {
				t.columns[i] = fmt.Sprint("Unnamed: ", i) // as pandas does
			}
		}
	}
	return nil
}

// nameRows adds a column without a name if the next line has one cell more than the header, as R
// writes the names of rows.
func (t *Reader) nameRows() {
	line := quotedCell.ReplaceAll(t.peekLine(1), []byte("name"))
	cells := bytes.Split(line, []byte{t.separator})
	if t.separator == ' ' {
		cells = bytes.Fields(line)
	}
	if len(cells) == len(t.columns)+1 && len(cells[len(cells)-1]) > 0 {
		t.columns = slices.Insert(t.columns, 0, "")
		t.note("the rows have a cell more than the header: the first one is the row's name")
	}
}

// commentNames takes the names of the columns from the last comment before the first row, if that
// has as many names.
func (t *Reader) commentNames() bool {
	if t.comment == nil {
		return false
	}
	names := t.cellsOf(bytes.TrimSpace(t.comment))
	if len(names) != len(t.cells) || len(names) < 2 || !t.isHeader(names) || slices.Contains(names, "") {
		return false
	}
	t.columns, t.Named = names, true
	t.note("the comment %.80q names the columns; --comment none reads it as a row", t.comment)
	return true
}

// cellsOf returns the cells of a line that is not the current row, or nil if it is not a whole row.
func (t *Reader) cellsOf(line []byte) []string {
	row, current := t.text, t.cells
	defer func() { t.text, t.cells = row, current }()
	t.text, t.cells = line, nil
	if bytes.Count(line, []byte{'"'})%2 != 0 || t.splitCSV() != nil {
		return nil
	}
	return t.cells
}

// isUnits reports whether a line below the names is no row, but has units or other names: it has no
// number, and one of the next three lines has the first number, below a text of it.
func (t *Reader) isUnits() bool {
	isValue := func(cell string) bool { return isDecimal(cell) || cell != "" && cell[0] >= '0' && cell[0] <= '9' }
	texts := t.cellsOf(t.text)
	for k := 1; k <= 3 && len(texts) == len(t.columns) && !slices.ContainsFunc(texts, isValue); k++ {
		cells := t.cellsOf(t.peekLine(k))
		for i, cell := range cells[:min(len(cells), len(texts))] {
			if isValue(cell) && !missingNumber(texts[i]) && !slices.Contains(t.opt.MissingValues, texts[i]) {
				return true
			}
		}
		if slices.ContainsFunc(cells, isValue) {
			return false
		}
	}
	return false
}

// checkPairs returns an error if the cells of a row without a header look like the halves of
// numbers with a decimal comma.
func (t *Reader) checkPairs() error {
	if t.Named || t.separator != ',' || t.opt.Separator != "" || t.opt.Decimal != "" || len(t.cells)%2 != 0 {
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
	if len(t.cells) == len(t.columns) {
		return nil
	}
	hint := ""
	if len(t.columns) == 1 && t.Named {
		hint = fmt.Sprintf("; if that is a comment or a title, --comment %.20q skips the lines that begin like it", strings.Fields(t.columns[0])[0])
	}
	return t.errorf("%d cells, expected %d as in the first line%s", len(t.cells), len(t.columns), hint)
}

// splitCSV sets the cells to those of the text.
func (t *Reader) splitCSV() error {
	separators, rest := string(t.separator), string(t.text)
	if t.separator == ' ' {
		separators, rest = " \t", strings.TrimSpace(strings.ReplaceAll(rest, "\u00a0", " "))
	}
	t.cells = t.cells[:0]
	for more := true; more; {
		if len(t.cells) == maxColumns {
			return t.errorf("more than %d columns", maxColumns)
		}
		if t.separator != '\t' {
			rest = strings.TrimLeft(rest, " \t")
		}
		cell, quoted := strings.CutPrefix(rest, `"`)
		if quoted {
			var err error
			if cell, rest, err = t.unquote(cell); err != nil {
				return err
			}
		}
		end := strings.IndexAny(rest, separators)
		if more = end >= 0; !more {
			end = len(rest)
		}
		if !quoted {
			cell = rest[:end]
		} else if after := rest[:end]; strings.TrimSpace(after) != "" {
			if strings.HasPrefix(after, " ") && t.opt.Separator == "" {
				return t.errorf("cell %d: %.20q after the closing quotation mark; if blanks separate the cells, --separator=space says so", len(t.cells)+1, after)
			}
			return t.errorf("cell %d: %.20q after the closing quotation mark, expected %q", len(t.cells)+1, after, string(t.separator))
		}
		t.cells, rest = append(t.cells, strings.TrimSpace(cell)), rest[min(end+1, len(rest)):]
	}
	return nil
}

// unquote returns the content of a quoted cell that begins with text, and what is behind its
// closing quotation mark. It reads more lines if the cell does not end on this one.
func (t *Reader) unquote(text string) (cell, after string, err error) {
	var b strings.Builder
	for {
		part, after, closed := strings.Cut(text, `"`)
		b.WriteString(part)
		switch {
		case !closed:
			t.text, err = t.text[:0], io.EOF
			if t.line-t.row+1 < maxQuotedLines {
				err = t.readLine()
			}
			if err == nil && b.Len()+len(t.text) > maxBytes {
				err = t.errorf("a row of more than %d MiB", maxBytes>>20)
			}
			if errors.Is(err, io.EOF) {
				t.Ended = false
				err = t.errorf("cell %d: the quotation mark is not closed within %d lines", len(t.cells)+1, maxQuotedLines)
			}
			if err != nil {
				return "", "", err
			}
			b.WriteByte('\n')
			text = string(t.text)
		case strings.HasPrefix(after, `"`):
			b.WriteByte('"')
			text = after[1:]
		default:
			return b.String(), after, nil
		}
	}
}
