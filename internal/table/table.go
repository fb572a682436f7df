// Package table reads rows of columns one at a time, from CSV or JSON Lines, as they arrive.
//
// CSV may begin with a line of column names. Cells are separated by tabs or semicolons, if the
// first line has them, or else by commas. A cell may be quoted as in RFC 4180 but must end on its
// line. A line of JSON Lines is an object, whose keys are the columns, or an array. Blank lines and
// a byte order mark are skipped.
//
// A Reader holds one line, of at most MaxLine bytes. Errors name the input, the line and the
// column.
package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
)

// Format is the format of the rows.
type Format string

// The formats.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
)

// Bounds of the input.
const (
	MaxLine    = 1 << 20 // bytes
	maxColumns = 1 << 16
)

// Options of a Reader.
type Options struct {
	Name   string // of the input, for errors
	Format Format
	// Columns are names that the caller looks for. Nil: it reads all columns. The first line of CSV
	// is a header if it has one of the names, or no number. In JSON Lines, if a later object has
	// one of these columns that the first object lacks, that is an error. Other keys are ignored.
	Columns []string
}

// Reader reads rows.
type Reader struct {
	opt     Options
	in      *bufio.Reader
	line    int    // number of the last line
	text    []byte // of the last line
	ended   bool   // a line break followed it
	comma   []byte
	named   bool
	columns []string
	index   map[string]int
	cells   []string        // of the current row; "": missing
	wanted  map[string]bool // Options.Columns
	read    []bool          // cells that the current JSON row has
	given   []int           // their indices
	pending bool            // the current row has not been returned
}

// New reads the names of the columns, from the first line. io.EOF says that the input is empty.
func New(r io.Reader, opt Options) (*Reader, error) {
	t := &Reader{opt: opt, in: bufio.NewReaderSize(r, 1<<16), index: map[string]int{}, wanted: map[string]bool{}}
	for _, name := range opt.Columns {
		t.wanted[name] = true
	}
	if err := t.readLine(); err != nil {
		return nil, err
	}
	var err error
	if opt.Format == JSONL {
		err = t.startJSON()
	} else {
		err = t.startCSV()
	}
	if err != nil {
		return nil, err
	}
	if !t.named {
		for i := range t.cells {
			t.columns = append(t.columns, strconv.Itoa(i+1))
		}
	}
	for i, name := range t.columns {
		if _, twice := t.index[name]; twice {
			return nil, t.errorf("column %.80q occurs twice", name)
		}
		t.index[name] = i
	}
	return t, nil
}

// startCSV reads the header, or the first row.
func (t *Reader) startCSV() error {
	t.comma = []byte{Separator(t.text)}
	if err := t.splitCSV(); err != nil {
		return err
	}
	number := func(cell string) bool { _, err := ParseFloat(cell, 64); return err == nil }
	wanted := func(cell string) bool { return cell != "" && t.wanted[cell] && !number(cell) }
	t.named = slices.ContainsFunc(t.cells, wanted) || !slices.ContainsFunc(t.cells, number)
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

// Columns returns the names of the columns: those of the header, the keys of the first object, or
// the numbers of the columns from 1.
func (t *Reader) Columns() []string { return t.columns }

// Named reports whether the input has names of columns.
func (t *Reader) Named() bool { return t.named }

// Ended reports whether a line break followed the current row. The last row of an input that was
// interrupted may be incomplete if none did.
func (t *Reader) Ended() bool { return t.ended }

// Next reads the next row. The error at the end of the input is io.EOF. After another error Next
// must not be called again.
func (t *Reader) Next() error {
	if t.pending { // New has read it
		t.pending = false
		return nil
	}
	if err := t.readLine(); err != nil {
		return err
	}
	if t.opt.Format == JSONL {
		return t.parseJSON()
	}
	if err := t.splitCSV(); err != nil {
		return err
	}
	if len(t.cells) != len(t.columns) {
		return t.errorf("%d cells, expected %d as in the first line", len(t.cells), len(t.columns))
	}
	return nil
}

// Find returns the index of a column. The error suggests a column with a similar name.
func (t *Reader) Find(column string) (int, error) {
	if i, ok := t.index[column]; ok {
		return i, nil
	}
	return 0, t.errorf("no column %.80q; the columns are %s%s", column, suggest.List(t.columns), suggest.Hint(column, t.columns))
}

// Text returns a cell of the current row, without spaces around it; "" if it is missing.
func (t *Reader) Text(i int) string { return t.cells[i] }

// Number returns the number in a cell of the current row, or NaN if it is missing.
func (t *Reader) Number(i int) (float32, error) {
	v, err := ParseNumber(t.cells[i])
	if err != nil {
		return 0, t.ColumnError(i, err)
	}
	return v, nil
}

// ParseNumber returns the number in a cell. It is NaN if Missing reports true.
func ParseNumber(cell string) (float32, error) {
	if Missing(cell) {
		return float32(math.NaN()), nil
	}
	v, err := ParseFloat(cell, 32)
	switch {
	case errors.Is(err, strconv.ErrRange) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%.40q is infinite or too large, expected a number below 3.4e38", cell)
	case err != nil || math.IsNaN(v):
		return 0, fmt.Errorf("%.40q is not a number", cell)
	}
	return float32(v), nil
}

// ParseFloat is strconv.ParseFloat, but rejects hexadecimal numbers and underscores, which are Go
// syntax.
func ParseFloat(text string, bits int) (float64, error) {
	if strings.ContainsAny(text, "_xX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, bits)
}

// Missing reports whether a cell says that there is no value.
func Missing(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "nan", "null", "none", "?":
		return true
	}
	return false
}

// Wrap adds the input's name and the current line to an error.
func (t *Reader) Wrap(err error) error {
	return fmt.Errorf("%s: line %d: %w", t.opt.Name, t.line, err)
}

// ColumnError adds the input's name, the current line and a column to an error.
func (t *Reader) ColumnError(i int, err error) error {
	return t.errorf("column %.80q: %w", t.columns[i], err)
}

func (t *Reader) errorf(format string, args ...any) error {
	return t.Wrap(fmt.Errorf(format, args...))
}

// readLine reads the next line that is not blank.
func (t *Reader) readLine() error {
	for {
		t.line++
		t.text = t.text[:0]
		for {
			part, err := t.in.ReadSlice('\n')
			if len(t.text)+len(part) > MaxLine {
				return t.errorf("longer than %d bytes", MaxLine)
			}
			t.text = append(t.text, part...)
			if err == bufio.ErrBufferFull {
				continue
			}
			if err == io.EOF && len(t.text) == 0 {
				return io.EOF
			}
			if err != nil && err != io.EOF {
				return t.Wrap(err)
			}
			t.ended = err == nil
			break
		}
		if t.line == 1 {
			t.text = bytes.TrimPrefix(t.text, []byte("\ufeff"))
		}
		t.text = bytes.TrimRight(t.text, "\r\n")
		if len(bytes.Trim(t.text, " ")) > 0 {
			return nil
		}
	}
}
