package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
)

// rawSeries is a series that is being read.
type rawSeries struct {
	file, id, label, split string
	target                 []float32
	x                      []float32 // [length][columns]
	times                  []instant
	lines                  []int32 // of the rows, if there are times
}

// at names a row in an error: its file, its line and, if the file has several, its series.
func (s *rawSeries) at(k int) string {
	text := fmt.Sprintf("%s:%d", s.file, s.lines[k])
	if s.id != "" {
		text += fmt.Sprintf(": series %q", s.id)
	}
	return text
}

// roles are the indices of a file's columns by their use. −1: the file lacks the column.
type roles struct {
	names           []string
	index           map[string]int // of each name
	id, time, split int
	targets         []int // the class or the numbers of a series; none for a forecast
	inputs          []int

	// The values and the arrays of the current JSON object, and the columns that it has.
	cells []string
	lists [][]float32
	given []int
}

// roles finds the columns of a file that the options name.
func (t *tableReader) roles(names []string) (r roles, err error) {
	r.names, r.index = names, make(map[string]int, len(names))
	for i, name := range names {
		r.index[name] = i
	}
	taken := make([]bool, len(names))
	find := func(name string) int {
		if err != nil {
			return -1
		}
		i, known := r.index[name]
		if known {
			taken[i] = true
		} else {
			err = fmt.Errorf("no column %q; the columns are %s%s", name, suggest.List(names), suggest.Hint(name, names))
			if name == t.opt.Time && name != "" {
				err = fmt.Errorf("%w; if every line is a whole series, set the option layout to %q and time to \"\"", err, LayoutWide)
			}
		}
		return i
	}
	optional := func(name string) int {
		if name == "" {
			return -1
		}
		return find(name)
	}
	r.id, r.time, r.split = optional(t.opt.ID), optional(t.opt.Time), optional(t.opt.Split)
	if !t.opt.forecasts() {
		for _, name := range t.opt.Targets {
			r.targets = append(r.targets, find(name))
		}
	}
	wanted := t.opt.Columns
	if len(wanted) == 0 {
		wanted = t.columns // of the first file
	}
	for _, name := range wanted {
		r.inputs = append(r.inputs, find(name))
	}
	if wanted == nil {
		for i := range names {
			if !taken[i] {
				r.inputs = append(r.inputs, i)
			}
		}
	}
	if err == nil && len(r.inputs) == 0 {
		err = fmt.Errorf("no input column; the columns are %s", suggest.List(names))
	}
	if err == nil && len(r.inputs) > maxSeriesColumns {
		err = fmt.Errorf("%d input columns, expected at most %d", len(r.inputs), maxSeriesColumns)
	}
	return r, err
}

// setColumns sets the input columns for the first file. For the others, it returns an error if they
// differ.
func (t *tableReader) setColumns(names []string) error {
	if t.columns == nil {
		if err := checkNames(names); err != nil { // JSON has columns without a name
			return err
		}
		t.columns = names
	}
	if !slices.Equal(names, t.columns) {
		got, want := suggest.Difference(names, t.columns)
		return fmt.Errorf("input columns %s, expected %s as in the first file", got, want)
	}
	return nil
}

// inputNames returns the names of the input columns.
func (r *roles) inputNames() []string {
	list := make([]string, len(r.inputs))
	for i, k := range r.inputs {
		list[i] = r.names[k]
	}
	return list
}

// seriesOf returns the series to which a row with these cells belongs.
func (t *tableReader) seriesOf(f *tableFile, r *roles, cells []string) (*rawSeries, error) {
	id := f.id
	if r.id >= 0 {
		if id = cells[r.id]; table.Missing(id) {
			return nil, columnError(r.names[r.id], errors.New("the row has no identifier"))
		}
	}
	s := t.byID[id]
	if s == nil {
		var err error
		if s, err = t.add(f, strings.Clone(id)); err != nil {
			return nil, err
		}
	} else if s.file != f.path {
		return nil, fmt.Errorf("series %q is in %s too", id, s.file)
	}
	return s, t.describe(f, s, r, cells)
}

// addSeries adds the series of a line that is a whole series.
func (t *tableReader) addSeries(f *tableFile, r *roles, cells []string) (*rawSeries, error) {
	id := f.id
	switch {
	case r.id >= 0 && table.Missing(cells[r.id]):
		return nil, columnError(r.names[r.id], errors.New("the series has no identifier"))
	case r.id >= 0:
		id = strings.Clone(cells[r.id])
	case !t.folder:
		id = strconv.Itoa(len(t.series) + 1)
	}
	if t.byID[id] != nil {
		return nil, fmt.Errorf("series %q occurs twice", id)
	}
	s, err := t.add(f, id)
	if err != nil {
		return nil, err
	}
	return s, t.describe(f, s, r, cells)
}

// add begins a series.
func (t *tableReader) add(f *tableFile, id string) (*rawSeries, error) {
	if len(t.series) >= maxSeriesCount {
		return nil, fmt.Errorf("more than %d series", maxSeriesCount)
	}
	switch {
	case !utf8.ValidString(id):
		return nil, fmt.Errorf("series %.80q: the name %w", id, errNotUTF8)
	case !utf8.ValidString(f.label):
		return nil, fmt.Errorf("class %.80q: the name of the folder is not UTF-8 text", f.label)
	}
	s := &rawSeries{file: f.path, id: id, label: f.label, split: f.split}
	t.series = append(t.series, s)
	t.byID[id] = s
	return s, nil
}

// describe sets the split and the target of a series from a row, or compares them with those of the
// rows before it.
func (t *tableReader) describe(f *tableFile, s *rawSeries, r *roles, cells []string) error {
	first := len(s.x) == 0
	if r.split >= 0 {
		split, err := parseSplit(cells[r.split])
		if err == nil && !first && split != s.split {
			err = fmt.Errorf("%s after %s, expected one split per series", split, s.split)
		}
		if err != nil {
			return columnError(r.names[r.split], err)
		}
		s.split = split
	}
	for o, k := range r.targets {
		if t.opt.Mode == model.SeriesRegression {
			v, err := table.ParseNumber(cells[k])
			if err == nil && v != v {
				err = errors.New("the target is missing")
			}
			if err == nil && !first && v != s.target[o] {
				err = fmt.Errorf("%v after %v, expected one number per series", v, s.target[o])
			}
			if err != nil {
				return columnError(r.names[k], err)
			}
			if first {
				s.target = append(s.target, v)
			}
			continue
		}
		switch label := cells[k]; {
		case table.Missing(label):
			return columnError(r.names[k], errors.New("the class is missing"))
		case !utf8.ValidString(label):
			return columnError(r.names[k], fmt.Errorf("class %.80q %w", label, errNotUTF8))
		case first:
			s.label = strings.Clone(label)
		case label != s.label:
			return columnError(r.names[k], fmt.Errorf("%q after %q, expected one class per series", label, s.label))
		}
	}
	return nil
}

// addRow appends a row of a file to its series.
func (t *tableReader) addRow(f *tableFile, line int, r *roles, cells []string) error {
	s, err := t.seriesOf(f, r, cells)
	if err != nil {
		return err
	}
	for _, k := range r.inputs {
		v, err := t.value(cells[k])
		if err != nil {
			return columnError(r.names[k], err)
		}
		s.x = append(s.x, v)
	}
	if r.time >= 0 {
		at, err := parseTime(cells[r.time])
		if err != nil {
			return columnError(r.names[r.time], err)
		}
		s.times, s.lines = append(s.times, at), append(s.lines, int32(min(line, math.MaxInt32)))
	}
	return t.count(len(r.inputs))
}

// count adds n to the number of values that have been read.
func (t *tableReader) count(n int) error {
	if t.values += n; t.values > maxSeriesValues {
		return fmt.Errorf("more than %d values", maxSeriesValues)
	}
	return nil
}

// value parses a value of an input column.
func (t *tableReader) value(text string) (float32, error) {
	v, err := table.ParseNumber(text)
	if err == nil && v != v && t.opt.Missing == model.MissingError {
		err = errors.New("the value is missing; " + missingHint)
	}
	if err != nil && t.opt.Time == "" {
		if _, isDate := parseDate(text); isDate {
			err = fmt.Errorf("%w; the option time names the column with the times of the rows", err)
		}
	}
	return v, err
}

func columnError(name string, err error) error { return fmt.Errorf("column %.80q: %w", name, err) }

func parseSplit(text string) (string, error) {
	switch strings.ToLower(text) {
	case "train", "training":
		return "train", nil
	case "val", "valid", "validation":
		return "val", nil
	case "test":
		return "test", nil
	}
	return "", fmt.Errorf("%.40q: expected train, val or test", text)
}

// records returns the series that were read.
func (t *tableReader) records(ctx context.Context) ([]record, error) {
	records := make([]record, len(t.series))
	for i, s := range t.series {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(s.times) > 0 {
			if err := t.sort(s); err != nil {
				return nil, err
			}
		}
		c := len(t.columns)
		r := record{id: s.id, length: len(s.x) / c, x: make([]float32, len(s.x)), label: s.label, target: s.target, split: s.split}
		for l := range r.length {
			for k := range c {
				r.x[k*r.length+l] = s.x[l*c+k]
			}
		}
		s.x = nil
		records[i] = r
	}
	return records, nil
}
