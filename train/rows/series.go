// Package rows makes data sets of time series: rows of named columns from tables (CSV and JSON
// Lines), from NumPy arrays and from memory. A network learns a class or numbers per series, or
// forecasts columns.
package rows

import (
	"cmp"
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

// Bounds of series that are read. Values take 4 bytes each.
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

type record struct {
	id     string
	length int
	raw    []float64 // as x: the values as they were read, until seriesData.convert
	x      []float32 // [channels][length], less the offsets of the channels; NaN is a missing value
	label  string
	target []float32
	split  string // "": not yet assigned; a forecast is then split by time
	class  int
}

func (r *record) channel(c int) []float32 { return r.x[c*r.length : (c+1)*r.length] }

// seriesData are series with what is computed from them.
type seriesData struct {
	info    dataset.Info
	opt     Options
	records []record
	columns []string
	inputs  []dataset.Moments // of each channel, over the known values of the training set
	notes   []string
	fill    []float32 // what replaces the missing values of a channel before its first known value
}

// deviationWindow is the time constant in rows of the running deviation of anomaly scores.
const deviationWindow = 256

// newSeriesData returns the data set of records, which it keeps.
func newSeriesData(records []record, columns []string, opt Options) (*dataset.Dataset, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	s := &seriesData{opt: opt, records: records, columns: columns}
	offsets := s.convert()
	longest := 0
	for i := range records {
		longest = max(longest, records[i].length)
	}
	columns = s.columns
	if err := opt.resolve(columns, longest); err != nil {
		return nil, err
	}
	s.opt = opt
	if err := s.check(); err != nil {
		return nil, err
	}
	s.info = dataset.Info{Channels: len(columns), ChannelNames: columns, Regression: opt.Mode != model.SeriesClassification, PerPosition: opt.forecasts()}
	s.info.Series = &model.Series{
		Mode: opt.Mode, Columns: columns, Targets: opt.Targets, Missing: opt.Missing,
		Horizon: opt.Horizon, Season: opt.Season, Offsets: offsets,
	}
	if opt.Mode == model.SeriesAnomaly {
		s.info.Series.Window = deviationWindow
	}
	if opt.Mode == model.SeriesClassification {
		s.info.Series.Targets = nil
		if err := s.classes(); err != nil {
			return nil, err
		}
	} else {
		s.info.Outputs = len(opt.Targets)
	}
	if s.opt.Validation == 0 && !slices.ContainsFunc(s.records, func(r record) bool { return r.split == "val" }) {
		s.opt.Validation = 0.1
	}
	if !opt.forecasts() {
		s.splitByHash()
		if opt.Mode == model.SeriesClassification {
			s.noteClasses()
		}
	}
	if err := s.measure(); err != nil {
		return nil, err
	}
	load := s.wholeDataset
	if opt.forecasts() {
		load = s.forecastDataset
	}
	d, err := load()
	if err == nil {
		d.Notes = s.notes
	}
	return d, err
}

// check returns an error for the first series that does not fit the options.
func (s *seriesData) check() error {
	if len(s.records) == 0 {
		return errors.New("no series")
	}
	if err := cmp.Or(checkNames(s.columns), checkNames(s.opt.Targets)); err != nil {
		return err
	}
	seen := make(map[string]bool, len(s.records))
	for i := range s.records {
		r := &s.records[i]
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
			return fmt.Errorf("series %q: no class; --target names the column of the class; --horizon selects forecasts", r.id)
		}
		seen[r.id] = true
		if err := s.checkValues(r); err != nil {
			return fmt.Errorf("series %q: %w", r.id, err)
		}
	}
	return nil
}

// checkNames returns an error for the first name of an input that a model cannot store, or that
// occurs twice.
func checkNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		switch {
		case name == "":
			return fmt.Errorf("column %d has no name", i+1)
		case !utf8.ValidString(name):
			return fmt.Errorf("column %.80q: the name %w", name, errNotUTF8)
		case seen[name]:
			return fmt.Errorf("column %.80q occurs twice", name)
		}
		seen[name] = true
	}
	return nil
}

var errNotUTF8 = errors.New("is not UTF-8 text")

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

const missingHint = `--missing previous or --missing interpolate replaces such values`

// classes sets the labels: those of the options, or the classes of all series, ordered by byName.
func (s *seriesData) classes() error {
	labels, notNumber := s.opt.Labels, func(label string) bool { _, err := table.ParseFloat(label, 64); return err != nil }
	if all := s.labels(); !slices.ContainsFunc(append(all, labels...), notNumber) {
		s.compareAsNumbers(append(labels, all...))
	}
	if labels == nil {
		labels = s.labels()
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

func (s *seriesData) labels() []string {
	all := make([]string, len(s.records))
	for i := range all {
		all[i] = s.records[i].label
	}
	return all
}

// compareAsNumbers gives classes that are the same number, such as 1 and 1.0, one spelling: the
// first without point and exponent in the list, or otherwise the shortest for the number.
func (s *seriesData) compareAsNumbers(labels []string) {
	spelling := map[float64]string{}
	for _, label := range labels {
		if v, _ := table.ParseFloat(label, 64); spelling[v] == "" && (!strings.ContainsAny(label, ".eE") || slices.Contains(s.opt.Labels, label)) {
			spelling[v] = label
		}
	}
	for i := range s.records {
		v, _ := table.ParseFloat(s.records[i].label, 64)
		s.records[i].label = cmp.Or(spelling[v], strconv.FormatFloat(v+0, 'g', -1, 64)) // −0 + 0 = 0
	}
}

// noteClasses adds a note about the classes that the training set lacks, if there is one.
func (s *seriesData) noteClasses() {
	trained := make([]bool, len(s.info.Labels))
	for _, r := range s.records {
		trained[r.class] = trained[r.class] || r.split == "train"
	}
	noted := map[int]bool{}
	for _, r := range s.records {
		if slices.Contains(trained, true) && !trained[r.class] && !noted[r.class] && s.opt.Labels == nil {
			noted[r.class] = true
			s.notes = append(s.notes, fmt.Sprintf("class %q occurs in the %s set but not in the training set, so the network cannot learn it; --target names the column of the classes", r.label, map[string]string{"val": "validation", "test": "test"}[r.split]))
		}
	}
}

// byName orders numbers by value and before other names, which it orders as strings.
func byName(a, b string) int {
	x, errA := table.ParseFloat(a, 64)
	y, errB := table.ParseFloat(b, 64)
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

// measure computes the moments of the channels over the known values of the training set. If there
// is a training set, a channel without a known value is an error, unless the options have its mean.
func (s *seriesData) measure() error {
	s.inputs = make([]dataset.Moments, len(s.columns))
	s.fill = make([]float32, len(s.columns))
	var known []float32
	for c, name := range s.columns {
		rows, low, high := 0, float32(math.Inf(1)), float32(math.Inf(-1))
		for i := range s.records {
			r := &s.records[i]
			_, to := s.bounds(r, "train")
			rows += to
			known = known[:0]
			for _, v := range r.channel(c)[:to] {
				if v == v {
					known, low, high = append(known, v), min(low, v), max(high, v)
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
		differs := func(v float32) bool { return v == v && v != low }
		if low == high && !given && slices.ContainsFunc(s.records, func(r record) bool { return slices.ContainsFunc(r.channel(c), differs) }) {
			s.notes = append(s.notes, fmt.Sprintf("column %q is constant in the training set but not after it, so the network cannot learn it; --columns lists the inputs", name))
		}
	}
	return nil
}

// nan32 is a missing value.
var nan32 = float32(math.NaN())
