// Package rows makes data sets of time series: rows of named columns from tables (CSV and JSON
// Lines), from NumPy arrays and from memory. A network learns a class or numbers per series, or
// forecasts columns.
package rows

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Series is one series in memory.
type Series struct {
	ID     string      // unique; "": the series' index, from 1
	Values [][]float32 // [channels][length]; NaN is a missing value
	Label  string      // class, for a classification
	Target []float32   // one number per target, for a regression
	Split  string      // train, val or test; "": Options decides
}

// Bounds of series in memory. Values take 4 bytes each.
const (
	maxSeriesValues  = 1 << 28
	maxSeriesCount   = 1 << 22
	maxSeriesColumns = 1 << 16
)

// FromSeries returns the data set of series in memory, whose values it copies. columns are the
// names of the channels. If a series does not fit the options, the error names it by its ID.
func FromSeries(list []Series, columns []string, opt Options) (*dataset.Dataset, error) {
	records := make([]record, len(list))
	for i, s := range list {
		r := &records[i]
		*r = record{id: s.ID, label: s.Label, target: slices.Clone(s.Target), split: s.Split}
		if r.id == "" {
			r.id = strconv.Itoa(i + 1)
		}
		if len(s.Values) != len(columns) || len(columns) == 0 {
			return nil, fmt.Errorf("rows: series %q: %d channels, expected %d", r.id, len(s.Values), len(columns))
		}
		r.length = len(s.Values[0])
		for c, x := range s.Values {
			if len(x) != r.length {
				return nil, fmt.Errorf("rows: series %q: column %q has %d values, expected %d as %q", r.id, columns[c], len(x), r.length, columns[0])
			}
			r.x = append(r.x, x...)
		}
	}
	d, err := newSeriesData(records, columns, opt)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	return d, nil
}

// record is a series of a data set.
type record struct {
	id     string
	length int
	x      []float32 // [channels][length]; NaN is a missing value
	label  string
	target []float32
	split  string // "": not yet assigned; a forecast is then split by time
	class  int
}

// channel returns the values of a channel.
func (r *record) channel(c int) []float32 { return r.x[c*r.length : (c+1)*r.length] }

// seriesData are series with what is computed from them.
type seriesData struct {
	info    dataset.Info
	opt     Options
	records []record
	columns []string
	inputs  []dataset.Moments // of each channel, over the known values of the training set
	fill    []float32         // what replaces the missing values of a channel before its first known value
}

// newSeriesData returns the data set of records, which it keeps.
func newSeriesData(records []record, columns []string, opt Options) (*dataset.Dataset, error) {
	longest := 0
	for i := range records {
		longest = max(longest, records[i].length)
	}
	if err := cmp.Or(opt.check(), opt.resolve(columns, longest)); err != nil {
		return nil, err
	}
	s := &seriesData{opt: opt, records: records, columns: columns}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.info = dataset.Info{Channels: len(columns), ChannelNames: columns, Regression: opt.Mode != model.SeriesClassification, PerPosition: opt.forecasts()}
	s.info.Series = &model.Series{
		Mode: opt.Mode, Columns: columns, Targets: opt.Targets, Missing: opt.Missing,
		Horizon: opt.Horizon, Season: opt.Season, Window: opt.DeviationWindow,
	}
	if opt.Mode == model.SeriesClassification {
		s.info.Series.Targets = nil
		if err := s.classes(); err != nil {
			return nil, err
		}
	} else {
		s.info.Outputs = len(opt.Targets)
	}
	s.defaultFractions()
	if !opt.forecasts() {
		s.splitByHash()
	}
	if err := s.measure(); err != nil {
		return nil, err
	}
	if opt.forecasts() {
		return s.forecasts()
	}
	return s.whole()
}

// check returns an error for the first series that does not fit the options.
func (s *seriesData) check() error {
	if len(s.records) == 0 {
		return errors.New("no series")
	}
	if err := cmp.Or(checkNames(s.columns), checkNames(s.opt.Targets)); err != nil {
		return err
	}
	total, seen := 0, make(map[string]bool, len(s.records))
	for i := range s.records {
		r := &s.records[i]
		total += len(r.x)
		switch {
		case !utf8.ValidString(r.id):
			return fmt.Errorf("series %.80q: the name %w", r.id, errNotUTF8)
		case !utf8.ValidString(r.label):
			return fmt.Errorf("series %.80q: class %.80q %w", r.id, r.label, errNotUTF8)
		case seen[r.id]:
			return fmt.Errorf("series %q occurs twice", r.id)
		case r.length == 0:
			return fmt.Errorf("series %q: no rows", r.id)
		case !slices.Contains([]string{"", "train", "val", "test"}, r.split):
			return fmt.Errorf("series %q: split %q: expected train, val or test", r.id, r.split)
		case s.opt.Mode == model.SeriesRegression && len(r.target) != len(s.opt.Targets):
			return fmt.Errorf("series %q: %d targets, expected %d", r.id, len(r.target), len(s.opt.Targets))
		case s.opt.Mode == model.SeriesClassification && r.label == "":
			return fmt.Errorf("series %q: no class; set the option targets to the column of the class, or the option horizon for forecasts", r.id)
		case total > maxSeriesValues:
			return fmt.Errorf("series %q: more than %d values", r.id, maxSeriesValues)
		}
		seen[r.id] = true
		if err := s.checkValues(r); err != nil {
			return fmt.Errorf("series %q: %w", r.id, err)
		}
	}
	return nil
}

func (s *seriesData) checkValues(r *record) error {
	for c, name := range s.columns {
		known := 0
		for i, v := range r.channel(c) {
			switch x := float64(v); {
			case math.IsInf(x, 0):
				return fmt.Errorf("row %d: column %q is %v, expected a finite number", i+1, name, v)
			case !math.IsNaN(x):
				known++
			case s.opt.Missing == model.MissingError:
				return fmt.Errorf("row %d: column %q: the value is missing; %s", i+1, name, missingHint)
			}
		}
		if known == 0 && s.opt.Missing != model.MissingPrevious {
			return fmt.Errorf("column %q has no value", name)
		}
	}
	for o, v := range r.target {
		if x := float64(v); math.IsInf(x, 0) || math.IsNaN(x) {
			return fmt.Errorf("target %q is %v, expected a finite number", s.opt.Targets[o], v)
		}
	}
	return nil
}

const missingHint = `the option missing says what replaces such values: "previous" or "interpolate"`

// classes sets the labels: those of the options, or the classes of all series, ordered by byName.
func (s *seriesData) classes() error {
	labels := s.opt.Labels
	if labels == nil {
		for i := range s.records {
			labels = append(labels, s.records[i].label)
		}
		slices.SortFunc(labels, byName)
		if labels = slices.Compact(labels); len(labels) < 2 {
			return fmt.Errorf("every series has the class %q, expected at least two classes", labels[0])
		}
	}
	index := make(map[string]int, len(labels))
	for i, label := range labels {
		index[label] = i
	}
	for i := range s.records {
		r, known := &s.records[i], false
		if r.class, known = index[r.label]; !known {
			return fmt.Errorf("series %q: class %q, expected one of %s", r.id, r.label, suggest.List(labels))
		}
	}
	s.info.Labels, s.info.Outputs = labels, len(labels)
	return nil
}

// byName orders whole numbers by value and before other names, which it orders as strings.
func byName(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// defaultFractions sets the default of the validation set, if the data does not have one.
func (s *seriesData) defaultFractions() {
	validated := slices.ContainsFunc(s.records, func(r record) bool { return r.split == "val" })
	if s.opt.Validation == 0 && !validated {
		s.opt.Validation = 0.1
	}
}

// splitByHash assigns the series that have no split. Of each class, the series whose IDs have the
// lowest hashes are for validation, and the next ones for testing. Each class, or the whole of a
// regression, has at least one series for validation if another one remains for training.
func (s *seriesData) splitByHash() {
	groups := make([][]*record, max(len(s.info.Labels), 1))
	for i := range s.records {
		if r := &s.records[i]; r.split == "" {
			groups[r.class] = append(groups[r.class], r)
		}
	}
	for _, g := range groups {
		order := map[*record]uint64{}
		for _, r := range g {
			sum := sha256.Sum256([]byte(r.id))
			order[r] = binary.BigEndian.Uint64(sum[:])
		}
		slices.SortFunc(g, func(a, b *record) int { return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(a.id, b.id)) })
		n := float64(len(g))
		validated, tested := int(math.Round(n*s.opt.Validation)), int(math.Round(n*s.opt.Test))
		if validated == 0 && s.opt.Validation > 0 && len(g)-tested > 1 {
			validated = 1
		}
		for i, r := range g {
			switch {
			case i < validated:
				r.split = "val"
			case i < validated+tested:
				r.split = "test"
			default:
				r.split = "train"
			}
		}
	}
}

// bounds returns the rows of a series that belong to a split. If a series has no split of its own,
// its first rows are for training and its last rows for testing.
func (s *seriesData) bounds(r *record, split string) (from, to int) {
	if r.split != "" {
		if r.split == split {
			return 0, r.length
		}
		return 0, 0
	}
	n := float64(r.length)
	tested := r.length - int(math.Round(n*s.opt.Test))
	trained := tested - int(math.Round(n*s.opt.Validation))
	switch split {
	case "train":
		return 0, max(trained, 0)
	case "val":
		return max(trained, 0), tested
	}
	return tested, r.length
}

// measure computes the moments of the channels over the known values of the training set. If there
// is a training set, a channel without a known value is an error, unless the options have its mean.
func (s *seriesData) measure() error {
	s.inputs = make([]dataset.Moments, len(s.columns))
	s.fill = make([]float32, len(s.columns))
	var known []float32
	for c, name := range s.columns {
		rows := 0
		for i := range s.records {
			r := &s.records[i]
			_, to := s.bounds(r, "train")
			rows += to
			known = known[:0]
			for _, v := range r.channel(c)[:to] {
				if v == v {
					known = append(known, v)
				}
			}
			s.inputs[c].Add(known)
		}
		mean, given := s.opt.Means[name]
		if rows > 0 && s.inputs[c].Count() == 0 && !given {
			return fmt.Errorf("column %q has no value in the training set", name)
		}
		if s.fill[c] = mean; !given {
			s.fill[c], _ = s.inputs[c].MeanStd()
		}
	}
	return nil
}

// whole returns the data set of a classification or a regression.
func (s *seriesData) whole() (*dataset.Dataset, error) {
	d := &dataset.Dataset{Info: s.info}
	for i := range s.records {
		r := &s.records[i]
		d.MaxLen = max(d.MaxLen, r.length)
		for c := range s.columns {
			x := r.channel(c)
			if s.opt.Missing == model.MissingInterpolate {
				Interpolate(x)
			} else {
				fillPrevious(x, s.fill[c])
			}
		}
	}
	for _, p := range []struct {
		name string
		dst  *dataset.Set
	}{{"train", &d.Train}, {"val", &d.Val}, {"test", &d.Test}} {
		set := &wholeSet{seriesData: s}
		for i := range s.records {
			if s.records[i].split == p.name {
				set.members = append(set.members, i)
			}
		}
		if len(set.members) > 0 {
			*p.dst = set
		}
	}
	s.moments(d)
	trained, ok := d.Train.(*wholeSet)
	if !ok || !s.info.Regression {
		return d, nil
	}
	for o := range s.opt.Targets {
		var m dataset.Moments
		for _, i := range trained.members {
			m.Add(s.records[i].target[o : o+1])
		}
		mean, std := m.MeanStd()
		d.TargetMean, d.TargetStd = append(d.TargetMean, mean), append(d.TargetStd, std)
	}
	return d, nil
}

// moments sets the mean and the standard deviation of the channels, if there is a training set.
func (s *seriesData) moments(d *dataset.Dataset) {
	if d.Train == nil {
		return
	}
	for c := range s.inputs {
		mean, std := s.inputs[c].MeanStd()
		d.Mean, d.Std = append(d.Mean, mean), append(d.Std, std)
	}
}

// fillPrevious replaces missing values by the value before them, or by first.
func fillPrevious(x []float32, first float32) {
	for i, v := range x {
		if v != v {
			x[i] = first
		}
		first = x[i]
	}
}

// wholeSet is a split of series with one target each.
type wholeSet struct {
	*seriesData
	members []int
}

func (s *wholeSet) Len() int { return len(s.members) }

func (s *wholeSet) Length(i int) int { return s.records[s.members[i]].length }

func (s *wholeSet) Example(dst *dataset.Example, i, _ int) error {
	r := &s.records[s.members[i]]
	*dst = dataset.Example{X: append(dst.X[:0], r.x...), Tokens: dst.Tokens[:0], Len: r.length, Label: -1, Target: dst.Target[:0], Path: r.id}
	if s.info.Regression {
		dst.Target = append(dst.Target, r.target...)
	} else {
		dst.Label = r.class
	}
	return nil
}

// Identity identifies a series by its ID, its values and its target.
func (s *wholeSet) Identity(i int) dataset.Identity {
	r := &s.records[s.members[i]]
	id := dataset.Identity{Label: r.class, Samples: []any{[]byte(r.id), r.x}}
	if s.info.Regression {
		id = dataset.Identity{Label: -1, Samples: append(id.Samples, r.target)}
	}
	return id
}

// nan32 is a missing value.
var nan32 = float32(math.NaN())
