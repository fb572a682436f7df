package rows

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/table"
)

// column summarises the known values of a channel in all series.
type column struct {
	n                    int
	low, high, mean, std float64
	increasing           bool // evenly in every series
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
	for name := range s.opt.Offsets {
		given = given && slices.Contains(s.columns, name)
	}
	var keep []int
	var names []string
	for c, name := range s.columns {
		offset, wanted := s.opt.Offsets[name]
		optional := s.opt.selectable && s.opt.Offsets == nil && !slices.Contains(s.opt.Targets, name)
		switch k := columns[c]; {
		case given && !wanted:
			continue
		case optional && known && k.n == 0:
			note := fmt.Sprintf("column %q has no number", name)
			if err := s.opt.withoutNumber[name]; err != nil {
				note = err.Error()
			}
			s.notes = append(s.notes, note+"; the column is left out, and --columns lists the inputs")
			continue
		case optional && varies && k.constant():
			s.notes = append(s.notes, fmt.Sprintf("column %q is %v in every row and is left out; --columns lists the inputs", name, k.mean))
			continue
		case s.opt.Offsets == nil:
			s.note(c, k)
			if k.std <= offsetColumn*math.Abs(k.mean) {
				offset = k.mean
			}
		}
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

// summarise summarises a channel.
func (s *seriesData) summarise(c int) column {
	k := column{low: math.Inf(1), high: math.Inf(-1), increasing: s.opt.selectable}
	for i := range s.records {
		r := &s.records[i]
		k.increasing = k.increasing && counts(r.raw[c*r.length:(c+1)*r.length])
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

// counts reports whether values increase by equal steps, but for a tenth of them, as a count of
// rows or a time does.
func counts(x []float64) bool {
	equal := 0
	for i := 1; i < len(x); i++ {
		if !(x[i] > x[i-1]) {
			return false
		}
		if step := x[1] - x[0]; math.Abs(x[i]-x[i-1]-step) <= 1e-6*step+1e-12*math.Abs(x[i]) {
			equal++
		}
	}
	return len(x) >= 8 && float64(equal) >= 0.9*float64(len(x)-1)
}

// sentinels are values that programs write where there is no measurement.
var sentinels = []float64{99, 200, 99.9, 99.99, 999, 999.9, 999.99, 6999, 7777, 8888, 9999, 9999.9, 9999.99, 99999, 999999, 32767, 32768, 65535, math.MaxInt32, 1 << 31, math.MaxUint32, 1e20}

// note adds notes about a column that may be no measurement, or in which a value may stand for a
// missing one: a usual one far from the others, or a lowest or highest one that occurs again very
// far from them.
func (s *seriesData) note(c int, k column) {
	name := s.columns[c]
	if k.increasing && k.n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("column %q counts rows or time, and is an input; --time %[1]s sorts the rows by it instead, and --columns lists the inputs", name))
	}
	usual := func(v float64) bool { return slices.Contains(sentinels, math.Abs(v)) || math.Abs(v) >= 1e30 }
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
		if high > low && (usual(e) && distance > high-low || again) {
			s.notes = append(s.notes, fmt.Sprintf("column %q: %d values are %v, and the others %v to %v; --missing-values=%[3]v says that they are missing", name, count, e, low, high))
		}
	}

}
