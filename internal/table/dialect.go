package table

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// Format is the format of the rows.
type Format string

// The formats. An input without one is JSON if its first line begins with an object, or with an
// array of objects or arrays, and otherwise CSV.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
	JSON  Format = "json" // one array of rows, or rows one after the other
)

// FormatOf returns the format of a file, by its name, or "".
func FormatOf(path string) Format {
	switch strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))) {
	case ".jsonl", ".ndjson":
		return JSONL
	case ".json":
		return JSON
	}
	return ""
}

var byteOrderMark = []byte("\ufeff")

// dialect is how an input writes its rows.
type dialect struct {
	separator byte   // of CSV; a blank stands for any number of blanks and tabs
	decimal   byte   // point or comma; 0: not yet known
	Named     bool   // the first line, or the objects of JSON Lines, name the columns
	open      string // first number, such as 1.234, whose point may be a decimal one or not
	inArray   bool   // an array of all rows is open
	joined    bool   // such an array has ended, and another one may follow
}

// separators are the names of separators that are not written as themselves.
var separators = map[string]byte{"tab": '\t', "\\t": '\t', "space": ' ', "blank": ' ', "comma": ',', "semicolon": ';'}

// Check returns an error for the first option that is invalid.
func (o Options) Check() error {
	switch {
	case len(o.Separator) > 1 && separators[o.Separator] == 0:
		return fmt.Errorf(`--separator %q: expected one character, "tab" or "space"`, o.Separator)
	case o.Decimal != "" && o.Decimal != "." && o.Decimal != ",":
		return fmt.Errorf(`--decimal %q: expected "." or ","`, o.Decimal)
	}
	return nil
}

// jsonStart matches the first line of JSON.
var jsonStart = regexp.MustCompile(`^ *(\{ *("|$)|\[ *([{[]|$))`)

// findSeparator sets the separator of CSV, by the first line and, where that leaves a choice, by
// the second.
func (t *Reader) findSeparator() error {
	line := t.text
	if s := strings.Trim(strings.ToLower(string(line)), `"`); strings.HasPrefix(s, "sep=") && len(s) == 5 { // as Excel writes it
		t.separator = s[4]
		return t.readRow()
	}
	if s := t.opt.Separator; s != "" {
		if t.separator = separators[s]; t.separator == 0 {
			t.separator = s[0]
		}
		return nil
	}
	n := unquoted(line)
	comma := n[','] > 0 && t.opt.Decimal != ","
	other := ""
	switch {
	case n['\t'] > 0 && !t.blanks(line):
		t.separator = '\t'
	case n[';'] > 0:
		t.separator = ';'
		if comma {
			if other = ","; unquoted(t.peekLine(1))[';'] == 0 {
				t.separator, other = ',', ";"
			}
		}
	case n['|'] > 0 && !comma:
		t.separator, other = '|', ","
	case t.blanks(line):
		t.separator, other = ' ', ","
	case comma || t.opt.Decimal != ",":
		t.separator = ','
	default:
		t.separator = ';'
	}
	if other != "" {
		t.note("the cells are separated by %q, not by %q; --separator changes it", string(t.separator), other)
	}
	return nil
}

// quotedCell matches a cell in quotation marks.
var quotedCell = regexp.MustCompile(`"[^"]*"`)

// blanks reports whether blanks separate the cells of a line: all its fields between blanks are
// numbers, which they are not between commas or tabs, or the line and the next one have as many
// fields, and the next one has a number. In tables of R, the next line has one more: the row's
// name.
func (t *Reader) blanks(line []byte) bool {
	between := quotedCell.ReplaceAll(line, nil)
	line = quotedCell.ReplaceAll(line, []byte("name"))
	fields := strings.Fields(string(line))
	if len(fields) < 2 || bytes.IndexByte(line, '\t') >= 0 && bytes.IndexByte(line, ' ') < 0 {
		return false
	}
	if len(bytes.TrimSpace(between)) == 0 { // all cells are in quotation marks
		return true
	}
	number := func(cell string) bool { return isDecimal(cell) || Missing(cell) }
	notNumber := func(cell string) bool { return !number(strings.TrimSpace(cell)) }
	if bytes.ContainsAny(line, ",\t") {
		return !slices.ContainsFunc(fields, notNumber) &&
			(slices.ContainsFunc(strings.FieldsFunc(string(line), func(c rune) bool { return c == ',' || c == '\t' }), notNumber) || len(fields) > 2)
	}
	if !slices.ContainsFunc(fields, notNumber) {
		return true
	}
	next := strings.Fields(string(quotedCell.ReplaceAll(t.peekLine(1), []byte("name"))))
	return len(next) == len(fields) && slices.ContainsFunc(next, number) ||
		len(next) == len(fields)+1 && !slices.ContainsFunc(next[1:], notNumber)
}

// unquoted counts the characters of a line outside quotes.
func unquoted(line []byte) (n [256]int) {
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			n[c]++
		}
	}
	return n
}

// isHeader reports whether the cells of the first line of CSV are names: one that the caller looks
// for is among them, or no number. The numbers 0, 1, 2 … are names if the caller looks for one of
// them, or if the cell before them is empty.
func (t *Reader) isHeader(cells []string) bool {
	isNumber := func(cell string) bool {
		return isDecimal(cell) || slices.ContainsFunc([]string{"true", "false", "nan"}, func(s string) bool { return strings.EqualFold(cell, s) })
	}
	isName := func(cell string) bool { return cell != "" && t.wanted[cell] && !isNumber(cell) }
	numbers := cells
	if cells[0] == "" {
		numbers = cells[1:]
	}
	for i, cell := range numbers {
		if cell != strconv.Itoa(i) {
			numbers = nil
			break
		}
	}
	if len(numbers) > 1 && len(cells) > 2 {
		switch {
		case len(numbers) < len(cells):
			return true
		case slices.ContainsFunc(numbers, func(cell string) bool { return t.wanted[cell] }):
			t.note("the first line, 0, 1, 2 …, names the columns, so that --target and --columns refer to it; without such a name it is data, and the columns are called 1, 2, …")
			return true
		}
	}
	return slices.ContainsFunc(cells, isName) || !slices.ContainsFunc(cells, isNumber)
}

// isComment reports whether a line is a comment. Without the option, one that begins with # is,
// unless it has as many cells as a row.
func (t *Reader) isComment(line []byte) (bool, error) {
	switch mark := t.opt.Comment; {
	case t.opt.Format != CSV && t.opt.Format != "" || mark == "none":
		return false, nil
	case mark != "":
		return bytes.HasPrefix(line, []byte(mark)), nil
	case !bytes.HasPrefix(line, []byte("#")), missingNumber(strings.FieldsFunc(string(line), func(c rune) bool { return strings.ContainsRune(",;|\t", c) })[0]):
		return false, nil
	case t.columns == nil:
		t.comment = append(t.comment[:0], line[1:]...)
		return true, nil
	case len(t.columns) > 1 && unquoted(line)[t.separator] == len(t.columns)-1:
		return false, t.errorf("%.40q begins with # and has as many cells as a row; --comment '#' skips such lines, and --comment none reads them", line)
	}
	t.note("lines that begin with # are comments; --comment none reads them as rows")
	return true, nil
}

// toUTF8 converts a line that is not UTF-8 from Windows-1252, which contains Latin-1.
func (t *Reader) toUTF8(line []byte) []byte {
	text, err := charmap.Windows1252.NewDecoder().Bytes(line)
	if err != nil {
		return line
	}
	t.note("the text is not UTF-8 and is read as Windows-1252 (Latin-1); convert the file to UTF-8 if it is neither")
	return text
}

// Note adds a note about a column, once.
func (t *Reader) Note(column int, format string, args ...any) {
	t.noteOnce(t.columns[column]+format, fmt.Sprintf("column %.80q: "+format, append([]any{t.columns[column]}, args...)...))
}

// note adds a note, once per format.
func (t *Reader) note(format string, args ...any) {
	t.noteOnce(format, fmt.Sprintf(format, args...))
}

func (t *Reader) noteOnce(key, text string) {
	if !slices.Contains(t.noted, key) {
		t.noted, t.notes = append(t.noted, key), append(t.notes, t.opt.Name+": "+text)
	}
}

// Notes returns what was decided about the input so far where it could be read in two ways.
func (t *Reader) Notes() []string {
	if t.open != "" && t.decimal == 0 {
		return append(t.notes[:len(t.notes):len(t.notes)], fmt.Sprintf("%s: %.40q is read with a decimal point; --decimal=, reads points between thousands", t.opt.Name, t.open))
	}
	return t.notes
}
