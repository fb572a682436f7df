package rows

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
)

// readCSV reads a CSV file.
func (t *tableReader) readCSV(ctx context.Context, f *tableFile, in io.Reader) error {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if head, _ := buffered.Peek(3); string(head) == "\xef\xbb\xbf" { // byte order mark
		buffered.Discard(3)
	}
	head, _ := buffered.Peek(1 << 16)
	first, _, _ := bytes.Cut(head, []byte("\n"))
	comma := rune(table.Separator(first))
	limited := &limitedRow{r: buffered, comma: byte(comma)}
	r := csv.NewReader(limited)
	r.Comma, r.ReuseRecord, r.TrimLeadingSpace, r.FieldsPerRecord = comma, true, comma != '\t', -1
	var add func(line int, cells []string) error
	width := 0
	for {
		if ctx.Err() != nil {
			return fmt.Errorf(" %w", ctx.Err())
		}
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(err)
		}
		limited.bytes, limited.fields = 0, 0
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		line, _ := r.FieldPos(0)
		if add == nil {
			width = len(cells)
			names, header := t.header(cells)
			if add, err = t.rowReader(f, names); err != nil {
				return fmt.Errorf("%d: %w", line, err)
			}
			if header {
				continue
			}
			t.headless = append(t.headless, f.path)
		}
		if len(cells) > width || len(cells) < width && t.layout() != LayoutWide {
			return fmt.Errorf("%d: %d fields, expected %d as in the first line", line, len(cells), width)
		}
		if err := add(line, cells); err != nil {
			return fmt.Errorf("%d: %w", line, err)
		}
	}
}

// rowReader returns the function that reads a row of a file with these columns.
func (t *tableReader) rowReader(f *tableFile, names []string) (func(line int, cells []string) error, error) {
	if err := distinct(names); err != nil {
		return nil, err
	}
	if t.layout() == LayoutWide {
		return t.wideReader(f, names)
	}
	roles, err := t.roles(names)
	if err == nil {
		err = t.setColumns(roles.inputNames())
	}
	return func(line int, cells []string) error { return t.addRow(f, line, &roles, cells) }, err
}

// checkNames returns an error for the first name of an input that a model cannot store, or that
// occurs twice.
func checkNames(names []string) error {
	for i, name := range names {
		switch {
		case name == "":
			return fmt.Errorf("column %d has no name", i+1)
		case !utf8.ValidString(name):
			return fmt.Errorf("column %.80q: the name %w", name, errNotUTF8)
		}
	}
	return distinct(names)
}

func distinct(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("column %.80q occurs twice", name)
		}
		seen[name] = true
	}
	return nil
}

var errNotUTF8 = errors.New("is not UTF-8 text")

// csvError returns an error of package csv with its line in front.
func csvError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%d: character %d: %w", parse.Line, parse.Column, parse.Err)
	}
	return fmt.Errorf(" %w", err)
}

// header returns the names of the columns, given the first line of the file, and whether that line
// is a header. Without a header, or if a name is empty, the name is the column's number, counted
// from 1.
func (t *tableReader) header(cells []string) (names []string, header bool) {
	names = make([]string, len(cells))
	used := map[string]bool{}
	for _, name := range slices.Concat([]string{t.opt.ID, t.opt.Time, t.opt.Split}, t.opt.Targets, t.opt.Columns) {
		used[name] = true
	}
	numbers, named := 0, false
	for i, cell := range cells {
		names[i] = strings.Clone(cell)
		if _, err := table.ParseFloat(cell, 64); err == nil {
			numbers++
		} else if cell != "" && used[cell] {
			named = true
		}
	}
	header = named || numbers == 0
	for i, name := range names {
		if !header || name == "" {
			names[i] = strconv.Itoa(i + 1)
		}
	}
	return names, header
}

// limitedRow is a reader that fails within a row that is too long.
type limitedRow struct {
	r             io.Reader
	comma         byte
	bytes, fields int // since the start of the row
}

func (l *limitedRow) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	l.bytes += n
	l.fields += bytes.Count(b[:n], []byte{l.comma})
	switch {
	case l.bytes > maxTableLine:
		return 0, fmt.Errorf("a row of more than %d MiB; is a quotation mark open?", maxTableLine>>20)
	case l.fields > maxTableFields:
		return 0, fmt.Errorf("a row of more than %d fields", maxTableFields)
	}
	return n, err
}

// stepName matches the name of a column of a wide table: the channel and the step.
var stepName = regexp.MustCompile(`^(.*?)[_.:\- \[]?(\d{1,9})\]?$`)

// wideReader returns the function that reads a series from a row.
func (t *tableReader) wideReader(f *tableFile, names []string) (func(line int, cells []string) error, error) {
	opt := t.opt
	opt.Columns = nil
	if opt.Time != "" {
		return nil, fmt.Errorf("time %q: a column of layout %q; the layout is %q", opt.Time, LayoutLong, LayoutWide)
	}
	if opt.forecasts() {
		opt.Targets = nil
	}
	base := tableReader{opt: opt}
	r, err := base.roles(names)
	if err != nil {
		return nil, err
	}
	channels, steps, err := wideChannels(names, r.inputs, t.opt.Columns)
	if err != nil {
		return nil, err
	}
	if err := t.setColumns(channels); err != nil {
		return nil, err
	}
	return func(line int, cells []string) error {
		for len(cells) < len(names) {
			cells = append(cells, "")
		}
		return t.addWide(f, line, &r, steps, cells)
	}, nil
}

// wideChannels groups the columns of a wide table by channel. If every name ends in a number, the
// name before it is the channel and the number is the step. Otherwise the columns are the steps of
// one channel, which is called value.
func wideChannels(names []string, inputs []int, selected []string) (channels []string, steps [][]int, err error) {
	type step struct{ number, column int }
	named := !slices.ContainsFunc(inputs, func(k int) bool { return !stepName.MatchString(names[k]) })
	lists := map[string][]step{}
	for i, k := range inputs {
		channel, number := "", i
		if named {
			m := stepName.FindStringSubmatch(names[k])
			channel = m[1]
			number, _ = strconv.Atoi(m[2])
		}
		channel = cmp.Or(channel, "value")
		if lists[channel] == nil {
			channels = append(channels, channel)
		}
		lists[channel] = append(lists[channel], step{number, k})
	}
	if len(selected) > 0 {
		channels, selected = selected, channels
	}
	for _, name := range channels {
		list := lists[name]
		if list == nil {
			return nil, nil, fmt.Errorf("no channel %q; the channels are %s", name, suggest.List(selected))
		}
		if len(list) != len(lists[channels[0]]) {
			return nil, nil, fmt.Errorf("channel %q has %d steps, expected %d as %q", name, len(list), len(lists[channels[0]]), channels[0])
		}
		slices.SortStableFunc(list, func(a, b step) int { return a.number - b.number })
		columns := make([]int, len(list))
		for i, s := range list {
			columns[i] = s.column
		}
		steps = append(steps, columns)
	}
	return channels, steps, nil
}

// addWide adds a row of a wide table, which is a series.
func (t *tableReader) addWide(f *tableFile, line int, r *roles, steps [][]int, cells []string) error {
	length := len(steps[0])
	for ; length > 0; length-- { // missing values at the end are the end
		if slices.ContainsFunc(steps, func(columns []int) bool { return !table.Missing(cells[columns[length-1]]) }) {
			break
		}
	}
	if length == 0 {
		return errors.New("the series has no values")
	}
	s, err := t.addSeries(f, r, cells)
	if err != nil {
		return err
	}
	s.x = make([]float32, 0, length*len(steps))
	for l := range length {
		for _, columns := range steps {
			v, err := t.value(cells[columns[l]])
			if err != nil {
				return columnError(r.names[columns[l]], err)
			}
			s.x = append(s.x, v)
		}
	}
	return t.count(len(s.x))
}
