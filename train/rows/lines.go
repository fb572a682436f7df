package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
)

type rawSeries struct {
	record
	file  string
	rows  []float64 // [length][columns]
	times []float64
	lines []int32 // of the rows, if there are times
	local bool    // the times are dates without an offset from UTC
}

// at names a row in an error: its file, its line and, if the file has several, its series.
func (s *rawSeries) at(k int) string {
	text := fmt.Sprintf("%s:%d", s.file, s.lines[k])
	if s.id != "" {
		text += fmt.Sprintf(": series %q", s.id)
	}
	return text
}

// roles are a file with the indices of its columns by their use. −1: the file lacks the column.
type roles struct {
	*table.Reader
	id, split int
	time      []int // those of table.Reader.TimeColumns
	targets   []int // the class or the numbers of a series; none for a forecast
	inputs    []int
}

// rowReader returns the function that adds the current row of a file.
func (t *tableReader) rowReader(f *tableFile, in *table.Reader) (func() error, error) {
	if in.Format() == table.CSV && t.layout() == LayoutWide {
		return t.wideReader(f, in)
	}
	wanted := t.opt.Columns
	if len(wanted) == 0 {
		wanted = t.columns // of the first file
	}
	r, err := t.roles(in, wanted)
	if err != nil {
		return nil, err
	}
	add := t.addRow
	if slices.ContainsFunc(r.inputs, in.IsArray) {
		add = t.addObject
	}
	var names []string
	for _, k := range r.inputs {
		names = append(names, in.Columns()[k])
	}
	return func() error { return add(f, r) }, t.setColumns(names)
}

// roles finds the columns of a file that the options name, and the inputs. If no inputs are wanted,
// they are the other columns. In a file of objects with arrays, values that are no arrays describe
// the series.
func (t *tableReader) roles(in *table.Reader, wanted []string) (*roles, error) {
	var errs []error
	taken := map[int]bool{}
	find := func(name string) int {
		i, err := in.Find(name)
		if err != nil && name == t.opt.Time && name != "" {
			err = fmt.Errorf("%w; if every line is a whole series, pass --layout %s without --time", err, LayoutWide)
		}
		errs = append(errs, err)
		taken[i] = true
		return i
	}
	optional := func(name string) int {
		if name == "" {
			return -1
		}
		return find(name)
	}
	r := &roles{Reader: in, id: optional(t.opt.ID), split: optional(t.opt.Split)}
	for _, name := range in.TimeColumns(t.opt.Time) {
		r.time = append(r.time, find(name))
	}
	if !t.opt.forecasts() {
		for _, name := range t.opt.Targets {
			r.targets = append(r.targets, find(name))
		}
	}
	for _, name := range wanted {
		r.inputs = append(r.inputs, find(name))
	}
	if wanted == nil && in.Index && !taken[0] {
		taken[0] = true
		t.addNote("", "the first column has no name and is left out, as the index of rows; --id %q or --time %[1]q uses it", in.Columns()[0])
	}
	for i := range in.Columns() {
		if wanted == nil && !taken[i] {
			r.inputs = append(r.inputs, i)
		}
	}
	if wanted == nil && slices.ContainsFunc(r.inputs, in.IsArray) {
		var others []string
		r.inputs = slices.DeleteFunc(r.inputs, func(i int) bool {
			if !in.IsArray(i) {
				others = append(others, in.Columns()[i])
			}
			return !in.IsArray(i)
		})
		if others != nil {
			t.addNote("", "keys %s hold no series and are not read; --target, --id and --split name such keys", suggest.List(others))
		}
	}
	switch err := cmp.Or(errs...); {
	case err != nil:
		return nil, err
	case len(r.inputs) == 0:
		return nil, fmt.Errorf("no input column; the columns are %s", suggest.List(in.Columns()))
	}
	return r, nil
}

// setColumns sets the input columns for the first file. For the others, it returns an error if they
// differ.
func (t *tableReader) setColumns(names []string) error {
	if t.columns == nil {
		if err := checkNames(names); err != nil {
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

// seriesOf returns the series to which the current row belongs, or which it is, if it is whole.
func (t *tableReader) seriesOf(f *tableFile, r *roles, whole bool) (*rawSeries, error) {
	id := f.id
	switch {
	case r.id >= 0 && r.Missing(r.id):
		return nil, r.ColumnError(r.id, errors.New("the series has no identifier"))
	case r.id >= 0:
		id = strings.Clone(r.Text(r.id))
	case whole && !t.folder:
		id = strconv.Itoa(len(t.series) + 1)
	}
	s := t.byID[id]
	switch {
	case s != nil && whole:
		return nil, fmt.Errorf("series %q occurs twice", id)
	case s != nil && s.file != f.path:
		return nil, fmt.Errorf("series %q is in %s too", id, s.file)
	case s == nil && len(t.series) >= maxSeriesCount:
		return nil, fmt.Errorf("more than %d series", maxSeriesCount)
	case s == nil:
		s = &rawSeries{record: record{id: id, label: f.label, split: f.split}, file: f.path}
		t.series, t.byID[id] = append(t.series, s), s
	}
	return s, t.describe(s, r)
}

// describe sets the split and the target of a series from the current row, or compares them with
// those of the rows before it.
func (t *tableReader) describe(s *rawSeries, r *roles) error {
	first := len(s.rows) == 0
	differs := func(k int, now, before any, what string) error {
		return r.ColumnError(k, fmt.Errorf("%v after %v, expected one %s per series", now, before, what))
	}
	if r.split >= 0 {
		split := splitOf(r.Text(r.split))
		switch {
		case split == "":
			return r.ColumnError(r.split, fmt.Errorf("%.40q: expected train, val or test", r.Text(r.split)))
		case !first && split != s.split:
			return differs(r.split, split, s.split, "split")
		}
		s.split = split
	}
	for o, k := range r.targets {
		if t.opt.Mode == model.SeriesRegression {
			v, err := r.Number(k)
			switch {
			case err == nil && v != v:
				return r.ColumnError(k, errors.New("the target is missing"))
			case err != nil:
				return err
			case first:
				s.target = append(s.target, float32(v))
			case float32(v) != s.target[o]:
				return differs(k, v, s.target[o], "number")
			}
			continue
		}
		switch label := r.Text(k); {
		case r.Missing(k):
			return r.ColumnError(k, fmt.Errorf("the class is missing: %q is not a name of one", label))
		case first:
			s.label = strings.Clone(label)
		case label != s.label:
			return differs(k, strconv.Quote(label), strconv.Quote(s.label), "class")
		}
	}
	return nil
}

// addRow appends the current row to its series.
func (t *tableReader) addRow(f *tableFile, r *roles) error {
	if r.IsBlank() && r.Format() == table.CSV { // as spreadsheets append
		t.blank++
		return nil
	}
	s, err := t.seriesOf(f, r, false)
	if err != nil {
		return err
	}
	for ; t.blank > 0 && r.time == nil && r.id < 0; t.blank-- {
		if t.opt.Missing == model.MissingError {
			return fmt.Errorf("a line without values is before this one; %s", missingHint)
		}
		s.rows = append(s.rows, slices.Repeat([]float64{math.NaN()}, len(r.inputs))...)
	}
	for _, k := range r.inputs {
		v, err := t.value(r, k)
		if err != nil {
			return err
		}
		s.rows = append(s.rows, v)
	}
	if r.time != nil {
		at, err := t.parseTime(s, r.Time(r.time))
		if err != nil {
			return r.ColumnError(r.time[0], err)
		}
		s.times, s.lines = append(s.times, at), append(s.lines, int32(r.Line()))
	}
	return t.count(len(r.inputs))
}

var errNoValues = errors.New("the series has no values")

// addObject adds an object of JSON Lines that is a series.
func (t *tableReader) addObject(f *tableFile, r *roles) error {
	s, err := t.seriesOf(f, r, true)
	if err != nil {
		return err
	}
	lists := make([][]float64, len(r.inputs))
	for c, k := range r.inputs {
		if lists[c], err = r.Numbers(k); err != nil {
			return err
		}
		if n := len(lists[c]); n != len(lists[0]) {
			return r.ColumnError(k, fmt.Errorf("%d values, expected %d as in %q", n, len(lists[0]), r.Columns()[r.inputs[0]]))
		}
	}
	for l := range lists[0] {
		for c, k := range r.inputs {
			v := lists[c][l]
			if v != v && t.opt.Missing == model.MissingError {
				return r.ColumnError(k, fmt.Errorf("value %d is missing; %s", l+1, missingHint))
			}
			s.rows = append(s.rows, v)
		}
	}
	if len(s.rows) == 0 {
		return errNoValues
	}
	return t.count(len(s.rows))
}

// count adds n to the number of values that have been read.
func (t *tableReader) count(n int) error {
	if t.values += n; t.values > maxSeriesValues {
		return fmt.Errorf("more than %d values", maxSeriesValues)
	}
	return nil
}

func (t *tableReader) value(r *roles, k int) (float64, error) {
	v, err := r.Number(k)
	if err == nil && v != v && t.opt.Missing == model.MissingError {
		err = r.ColumnError(k, fmt.Errorf("the value %.40q is missing; "+missingHint, r.Text(k)))
	}
	name := r.Columns()[k]
	if err != nil && t.opt.Time == "" && t.withoutNumber[name] == nil {
		if _, _, isDate := new(dates).parse(r.Text(k)); isDate {
			err = fmt.Errorf("%s; --time names the column with the times of the rows", withoutHint(err))
		}
	}
	switch {
	case err == nil && v == v && !strings.ContainsAny(r.Text(k), "0123456789"): // true, off
		t.word[name] = cmp.Or(t.word[name], strings.Clone(r.Text(k)))
	case err == nil && v == v:
		t.hasNumber[name] = true
	case err != nil && !t.hasNumber[name] && t.selectable() && !slices.Contains(t.opt.Targets, name):
		if t.withoutNumber[name] == nil {
			t.withoutNumber[name] = r.Wrap(err)
		}
		return math.NaN(), nil
	}
	return v, err
}

// withoutHint returns the text of an error about a cell without what it says of missing values.
func withoutHint(err error) string {
	text, _, _ := strings.Cut(err.Error(), "; "+table.MissingValuesFlag)
	return text
}

// selectable reports whether the inputs are all columns that no option names, so that those without
// numbers may be left out.
func (t *tableReader) selectable() bool { return t.layout() != LayoutWide && len(t.opt.Columns) == 0 }

// records returns the series that were read.
func (t *tableReader) records(ctx context.Context) ([]record, error) {
	if err := t.settleDates(); err != nil {
		return nil, err
	}
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
		s.length, s.raw = len(s.rows)/len(t.columns), byChannel(s.rows, len(t.columns))
		records[i], s.rows = s.record, nil
	}
	return records, nil
}

// isData reports whether the first line, which has a number, can only be data: its numbers are not
// all whole and do not increase, or an option has the number of a column that is not also a name.
func (t *tableReader) isData(r *table.Reader) bool {
	given := slices.DeleteFunc(slices.Concat(t.opt.Targets, t.opt.Columns, []string{t.opt.ID, t.opt.Time, t.opt.Split}), func(name string) bool { return name == "" })
	last, numbers, whole, increasing := math.Inf(-1), true, true, true
	for i := range r.Columns() {
		v, err := strconv.ParseFloat(r.Text(i), 64)
		numbers = numbers && err == nil && v-v == 0
		whole, increasing, last = whole && v == math.Trunc(v), increasing && v > last, v
		if slices.Contains(given, r.Text(i)) {
			return false
		}
	}
	return len(given) > 0 || numbers && !whole && !increasing
}
