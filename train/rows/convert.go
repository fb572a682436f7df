package rows

import (
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/table"
)

// column summarises the known values of a channel in all series.
type column struct {
	n                    int
	low, high, mean, std float64
	counts               bool // evenly in every series
}

// Bounds of the range and of the deviation of a column, relative to its mean.
const (
	constantColumn = 1e-15 // float64 has 53 bits, so a smaller one is rounding
	offsetColumn   = 1e-4  // float32 has 24 bits, so a smaller one loses more than a thousandth of itself
)

func (c column) constant() bool {
	return c.n > 0 && c.high-c.low <= constantColumn*math.Abs(c.mean)
}

// convert converts the values to float32. If float32 would lose the deviation of a column next to
// its mean, it subtracts the mean first; these offsets are nil if there are none. Columns of a long
// table whose values are equal are left out, unless an option names them.
func (s *seriesData) convert() (offsets []float64) {
	if len(s.records) == 0 || s.records[0].raw == nil {
		return nil
	}
	s.removeMissing()
	columns := make([]column, len(s.columns))
	known, varies := false, false
	for c := range columns {
		columns[c] = s.summarise(c)
		known = known || columns[c].n > 0
		varies = varies || columns[c].n > 0 && !columns[c].constant()
	}
	given := s.opt.Offsets != nil
	if !given {
		s.noteIdentifier()
	}
	for name := range s.opt.Offsets {
		given = given && slices.Contains(s.columns, name)
	}
	var keep []int
	var names []string
	for c, name := range s.columns {
		offset, wanted := s.opt.Offsets[name]
		optional := s.opt.selectable && s.opt.Offsets == nil && !slices.Contains(s.opt.Targets, name)
		k := columns[c]
		switch {
		case given && !wanted:
			continue
		case optional && known && (k.n == 0 || s.opt.withoutNumber[name] != nil):
			note := fmt.Sprintf("column %q has no number", name)
			if err := s.opt.withoutNumber[name]; err != nil {
				note = withoutHint(err)
			}
			s.notes = append(s.notes, note+"; the column is left out, and --columns lists the inputs")
			continue
		case optional && varies && k.constant():
			s.notes = append(s.notes, fmt.Sprintf("column %q is %v in every row and is left out; --columns lists the inputs", name, k.mean))
			continue
		case s.opt.Offsets == nil:
			if varies && k.constant() {
				s.notes = append(s.notes, fmt.Sprintf("channel %q is %v everywhere, so the network learns nothing from it; --columns lists the channels of a table", name, k.mean))
			}
			if k.counts && k.n > 0 {
				s.notes = append(s.notes, fmt.Sprintf("column %q counts rows or time, and is an input; --time %[1]s sorts the rows by it instead, and --columns lists the inputs", name))
			}
			if k.std <= offsetColumn*math.Abs(k.mean) {
				offset = k.mean
			}
		}
		s.noteSentinels(c, k)
		keep, names, offsets = append(keep, c), append(names, name), append(offsets, offset)
	}
	for i := range s.records {
		r := &s.records[i]
		r.x = make([]float32, 0, len(keep)*r.length)
		for k, c := range keep {
			for _, v := range r.raw[c*r.length : (c+1)*r.length] {
				r.x = append(r.x, float32(v-offsets[k]))
			}
		}
		r.raw = nil
	}
	s.columns = names
	if !slices.ContainsFunc(offsets, func(v float64) bool { return v != 0 }) {
		return nil
	}
	return offsets
}

// removeMissing replaces the numbers that are missing values by NaN.
func (s *seriesData) removeMissing() {
	for _, text := range s.opt.MissingValues {
		number, err := table.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		for i := range s.records {
			for k, v := range s.records[i].raw {
				if v == number || v == float64(float32(number)) {
					s.records[i].raw[k] = math.NaN()
				}
			}
		}
	}
}

// known yields the known values of a channel in all series.
func (s *seriesData) known(c int) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for i := range s.records {
			r := &s.records[i]
			for _, v := range r.raw[c*r.length : (c+1)*r.length] {
				if v-v == 0 && !yield(v) {
					return
				}
			}
		}
	}
}

func (s *seriesData) summarise(c int) column {
	k := column{low: math.Inf(1), high: math.Inf(-1), counts: s.opt.selectable}
	for i := range s.records {
		r := &s.records[i]
		k.counts = k.counts && counts(r.raw[c*r.length:(c+1)*r.length])
	}
	for v := range s.known(c) {
		k.n++
		k.low, k.high = min(k.low, v), max(k.high, v)
	}
	if k.n == 0 {
		return column{}
	}
	var sum, squares float64 // of the differences to one of the values, which are exact if they are small
	for v := range s.known(c) {
		sum += v - k.low
		squares += (v - k.low) * (v - k.low)
	}
	n := float64(k.n)
	k.mean, k.std = k.low+sum/n, math.Sqrt(max(squares/n-sum/n*(sum/n), 0))
	return k
}

// counts reports whether values rise or fall by nearly equal steps, but for a tenth of them, as a
// count of rows or a time does. Digits such as 20240131 are dates.
func counts(x []float64) bool {
	days := make([]float64, 0, len(x))
	for _, v := range x {
		at, err := time.Parse("20060102", strconv.FormatFloat(v, 'f', -1, 64))
		if err != nil || at.Year() < 1900 || at.Year() > 2100 {
			days = x
			break
		}
		days = append(days, float64(at.Unix()/86400))
	}
	if len(days) < 8 {
		return false
	}
	steps := make([]float64, len(days)-1)
	for i := range steps {
		steps[i] = days[i+1] - days[i]
	}
	sorted := slices.Sorted(slices.Values(steps))
	usual, equal := sorted[len(steps)/2], 0
	for _, step := range steps {
		if !(step*usual >= 0) { // NaN, too
			return false
		}
		if math.Abs(step-usual) <= 0.05*math.Abs(usual) {
			equal++
		}
	}
	return usual != 0 && float64(equal) >= 0.9*float64(len(steps))
}

// idName matches the name of a column that identifies series.
var idName = regexp.MustCompile(`(?i)(^|[_ .:-])id$|[a-z]I[dD]$`)

// noteIdentifier adds a note if a table of one series has a column whose equal values follow each
// other, and either its name or another column, which counts anew from each of its values, says
// that it identifies series.
func (s *seriesData) noteIdentifier() {
	if len(s.records) != 1 || !s.opt.selectable {
		return
	}
	r := &s.records[0]
	for c, name := range s.columns {
		x := r.raw[c*r.length : (c+1)*r.length]
		values := slices.Compact(slices.Clone(x))
		if len(values) < 2 || 2*len(values) > r.length || len(slices.Compact(slices.Sorted(slices.Values(values)))) < len(values) ||
			slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) }) {
			continue
		}
		restarts := false
		for d := range s.columns {
			y, same := r.raw[d*r.length:(d+1)*r.length], true
			for i := 1; i < r.length && same; i++ {
				same = (x[i] == x[i-1]) == (y[i] > y[i-1])
			}
			restarts = restarts || same
		}
		if restarts || idName.MatchString(name) {
			s.notes = append(s.notes, fmt.Sprintf("column %q repeats its values, as the identifier of several series does, and is an input of one series; --id %[1]s makes it the identifier", name))
		}
	}
}

// noteSentinels adds notes about values of a column that may stand for missing ones: a usual one
// far from the others, or a lowest or highest one that occurs again very far from them.
func (s *seriesData) noteSentinels(c int, k column) {
	name := s.columns[c]
	usual := table.IsSentinel
	found := []float64{k.low, k.high}
	for v := range s.known(c) {
		if usual(v) && !slices.Contains(found, v) && len(found) < 100 {
			found = append(found, v)
		}
	}
	for _, e := range found {
		count, low, high := 0, math.Inf(1), math.Inf(-1) // of the values that are not usual, either
		for v := range s.known(c) {
			if v == e {
				count++
			} else if !usual(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		size, distance := math.Abs(e), min(math.Abs(e-low), math.Abs(e-high))
		again := count > 1 && distance > 3*(high-low) && size > 3*max(math.Abs(low), math.Abs(high))
		if high > low && (usual(e) && distance > high-low || again) && !slices.Contains(s.opt.MissingValues, "none") {
			s.notes = append(s.notes, fmt.Sprintf("column %q: %d values are %v, and the others %v to %v; --missing-values=%[3]v says that they are missing, =none that none are", name, count, e, low, high))
		}
	}
}
