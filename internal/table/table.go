// Package table reads rows of columns one at a time, from CSV or JSON, as they arrive.
//
// CSV may begin with a line of column names. Cells are separated by tabs, semicolons, vertical
// bars, commas or blanks, which the first two lines decide. A cell may be quoted as in RFC 4180. A
// line of JSON Lines is an object, whose keys are the columns, or an array; JSON may also be an
// array of these over any number of lines. Blank lines, comments (#) and a byte order mark are
// skipped. The text may be UTF-16 or Windows-1252, and compressed with gzip. Where an input can be
// read in two ways, Notes says which one was taken; the options decide, too.
//
// A Reader holds one row, of at most 64 MiB. Errors of New and Next name the input and the line.
// Wrap adds them to the errors of a row's cells, which name the column.
//
// How an input writes its rows is decided in dialect.go, and what a cell means in cell.go.
package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
)

// Bounds of a row.
const (
	maxBytes   = 1 << 26
	maxColumns = 1 << 20
)

// Options of a Reader.
type Options struct {
	Name   string // of the input, for errors
	Format Format // "": by the first line
	// Separator of CSV (a character, tab or space), the Decimal point or comma, and what Comment
	// lines begin with (none: there are none). "": the input decides.
	Separator, Decimal, Comment string
	// MissingValues are cells that are missing, as texts or numbers, beside the usual ones.
	MissingValues []string
	// Columns are names that the caller looks for. The first line of CSV is a header if it has one
	// of them, or no number. In JSON Lines, if a later object has one of these columns that the
	// first object lacks, that is an error.
	Columns []string
	// Others: the caller also reads columns with other names, so they have to be in the first
	// object, too.
	Others bool
	// Ragged: a row of CSV may have fewer cells than the first line. The others are missing.
	Ragged bool
}

// Reader reads rows.
type Reader struct {
	opt  Options
	in   *bufio.Reader
	row  int    // number of the first line of the current row
	line int    // number of the last line that was read
	text []byte // of the current row

	Ended bool // a line break followed it; the row of an interrupted input may else be incomplete
	Index bool // the header leaves the first column without a name, as for numbers or names of rows
	dialect
	columns []string
	index   map[string]int  // of each column
	wanted  map[string]bool // Options.Columns
	cells   []string        // of the current row; "": missing
	pending bool            // the current row has not been returned
	read    bool            // Next has found the first row of CSV

	comment []byte    // the last one before the header
	missing []float64 // Options.MissingValues that are numbers
	notes   []string
	noted   []string // formats of the notes
	kinds   []kind   // of the cells of JSON
}

// New reads the names of the columns, from the first line. io.EOF says that the input is empty.
func New(r io.Reader, opt Options) (*Reader, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	in, err := decoded(r)
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", opt.Name, err)
	}
	t := &Reader{opt: opt, in: bufio.NewReaderSize(in, 1<<16), index: map[string]int{}, wanted: map[string]bool{}}
	for _, text := range opt.MissingValues {
		if v, err := ParseFloat(text, 64); err == nil {
			t.missing = append(t.missing, v)
		}
	}
	for _, name := range opt.Columns {
		t.wanted[name] = true
	}
	if err := t.readRow(); err != nil {
		return nil, err
	}
	if opt.Format == "" {
		if t.opt.Format = CSV; jsonStart.Match(t.text) {
			t.opt.Format = JSON
		}
	}
	start := t.startCSV
	if t.opt.Format != CSV {
		start = t.startJSON
	}
	if err := start(); err != nil {
		return nil, err
	}
	if !t.Named {
		for i := range t.cells {
			t.columns = append(t.columns, strconv.Itoa(i+1))
		}
	}
	for i, name := range t.columns {
		_, twice := t.index[name]
		for k := 1; twice && k < 100 && t.opt.Format == CSV; k++ { // as pandas does
			if other := fmt.Sprintf("%s.%d", name, k); !slices.Contains(t.columns, other) {
				t.columns[i], twice = other, false
				t.note("column %.80q occurs twice: the second one is called %.80q; to change that, rename it", name, other)
			}
		}
		if t.index[t.columns[i]] = i; twice {
			return nil, t.errorf("column %.80q occurs twice", name)
		}
	}
	return t, nil
}

// Columns returns the names of the columns: those of the header, the keys of the first object, or
// the numbers of the columns from 1.
func (t *Reader) Columns() []string { return t.columns }

// Format returns the format of the rows, CSV or JSONL.
func (t *Reader) Format() Format {
	if t.opt.Format == JSON {
		return JSONL
	}
	return t.opt.Format
}

// Line returns the number of the first line of the current row.
func (t *Reader) Line() int { return t.row }

// Next reads the next row. The error at the end of the input is io.EOF. After another error Next
// must not be called again.
func (t *Reader) Next() error {
	if t.pending { // New has read it
		t.pending = false
		return nil
	}
	if t.opt.Format != CSV {
		if err := t.readValue(); err != nil {
			return err
		}
		return t.parseJSON()
	}
	for {
		if err := t.readRow(); err != nil {
			return err
		}
		if t.read = t.read || !t.Named || !t.isUnits(); t.read {
			return t.parseCSV()
		}
		t.note("line %d has no number, and the rows below it have: it is not read, as units are not; --missing-values with its cells reads it", t.row)
	}
}

// Find returns the index of a column. The error suggests a column with a similar name.
func (t *Reader) Find(column string) (int, error) {
	if i, ok := t.index[column]; ok {
		return i, nil
	}
	return -1, fmt.Errorf("no column %.80q; the columns are %s%s", column, suggest.List(t.columns), suggest.Hint(column, t.columns))
}

// Wrap adds the input's name and the line of the current row to an error.
func (t *Reader) Wrap(err error) error {
	return fmt.Errorf("%s:%d: %w", t.opt.Name, t.row, err)
}

// ColumnError adds a column to an error.
func (t *Reader) ColumnError(i int, err error) error {
	return fmt.Errorf("column %.80q: %w", t.columns[i], err)
}

func (t *Reader) errorf(format string, args ...any) error {
	return t.Wrap(fmt.Errorf(format, args...))
}

// readRow reads the next line that is neither blank nor a comment.
func (t *Reader) readRow() error {
	for {
		t.text, t.row = t.text[:0], t.line+1
		if err := t.readLine(); err != nil {
			return err
		}
		if len(bytes.Trim(t.text, " ")) == 0 || (t.columns == nil || t.separator != '\t') && len(bytes.TrimSpace(t.text)) == 0 {
			continue
		}
		if comment, err := t.isComment(t.text); err != nil || !comment {
			return err
		}
	}
}

// peekLine returns the k-th line after the current row, which remains to be read like those before
// it. It is nil after the end.
func (t *Reader) peekLine(k int) (next []byte) {
	in, row, line, ended := t.in, len(t.text), t.line, t.Ended
	var again bytes.Buffer
	t.in = bufio.NewReader(io.TeeReader(in, &again))
	for range k {
		t.text, next = t.text[:row], nil
		if t.readLine() != nil {
			break // the next reading returns the error
		}
		next = bytes.Clone(t.text[row:])
	}
	t.in = bufio.NewReaderSize(io.MultiReader(&again, in), 1<<16)
	t.text, t.line, t.Ended = t.text[:row], line, ended
	return next
}

// readLine appends the next line to the text, without its line break.
func (t *Reader) readLine() error {
	t.line++
	start := len(t.text)
	for {
		part, err := t.in.ReadSlice('\n')
		if len(t.text)+len(part) > maxBytes {
			return t.errorf("a row of more than %d MiB", maxBytes>>20)
		}
		t.text = append(t.text, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && len(t.text) == start {
			return io.EOF
		}
		if err != nil && err != io.EOF {
			return t.Wrap(err)
		}
		t.Ended = err == nil
		break
	}
	if t.line == 1 {
		t.text = bytes.TrimPrefix(t.text, byteOrderMark)
	}
	t.text = bytes.TrimSuffix(t.text, []byte("\n"))
	if t.line == 1 {
		for magic, format := range map[string]string{
			"BZh91AY&SY": "compressed with bzip2", "\xfd7zXZ\x00": "compressed with xz", "\x28\xb5\x2f\xfd": "compressed with zstd", "PK\x03\x04": "compressed with zip, as spreadsheets (.xlsx) are, too",
			"PAR1\x15": "in the format Parquet", "<!DOCTYPE": "a web page", "<!doctype": "a web page", "<html": "a web page", "version https://git-lfs": "a pointer of Git LFS, which git lfs pull replaces by the file",
		} {
			if bytes.HasPrefix(t.text, []byte(magic)) {
				return t.errorf("the file is %s, expected CSV or JSON, which may be compressed with gzip", format)
			}
		}
	}
	if i := bytes.IndexByte(t.text[start:], 0); i >= 0 {
		return t.errorf("byte %d of the line is zero, so this is no text: export spreadsheets and other binary files as CSV", i+1)
	}
	if t.opt.Format == CSV && !utf8.Valid(t.text[start:]) {
		t.text = append(t.text[:start], t.toUTF8(t.text[start:])...)
	}
	return nil
}
