package rows

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/table"
)

// column summarises the known values of a channel in all series.
type column struct {
	n          int
	mean, std  float64
	low, high  extreme
	increasing bool // evenly in every series
}

// extreme is the smallest or the largest value of a column, and the one next to it.
type extreme struct {
	value, next float64
	count       int
}

// add includes a value whose order has the sign of -1 for the smallest and of 1 for the largest.
func (e *extreme) add(v, sign float64) {
	switch {
	case e.count == 0:
		e.value, e.next, e.count = v, v, 1
	case v == e.value:
		e.count++
	case v*sign > e.value*sign:
		e.value, e.next, e.count = v, e.value, 1
	case e.next == e.value || v*sign > e.next*sign:
		e.next = v
	}
}

// Bounds of the range and of the deviation of a column, relative to its mean.
const (
	constantColumn = 1e-15 // float64 has 53 bits, so a smaller one is rounding
	offsetColumn   = 1e-4  // float32 has 24 bits, so a smaller one loses more than a thousandth of itself
)

// convert converts the values to float32. If float32 would lose the deviation of a column next to
// its mean, it subtracts the mean first; these offsets are nil if there are none. Columns of a long
// table whose values are equal are left out, unless an option names them.
func (s *seriesData) convert() (offsets []float64) {
	if len(s.records) == 0 || s.records[0].raw == nil {
		return nil
	}
	s.removeMissing()
	var keep []int
	columns := make([]column, len(s.columns))
	given, varying, some := s.opt.Offsets != nil, false, false
	for name := range s.opt.Offsets {
		given = given && slices.Contains(s.columns, name)
	}
	for c := range s.columns {
		columns[c] = s.summarise(c)
		some = some || columns[c].n > 0
		varying = varying || columns[c].n > 0 && !columns[c].constant()
	}
	for c, name := range s.columns {
		_, wanted := s.opt.Offsets[name]
		switch {
		case given && !wanted:
			continue
		case s.opt.selectable && s.opt.Offsets == nil && some && columns[c].n == 0 && !slices.Contains(s.opt.Targets, name):
			note := fmt.Sprintf("column %q has no number", name)
			if err := s.opt.withoutNumber[name]; err != nil {
				note = err.Error()
			}
			s.notes = append(s.notes, note+"; the column is left out, and --columns lists the inputs")
			continue
		case s.opt.selectable && s.opt.Offsets == nil && varying && columns[c].constant() && !slices.Contains(s.opt.Targets, name):
			s.notes = append(s.notes, fmt.Sprintf("column %q is %v in every row and is left out; --columns lists the inputs", name, columns[c].mean))
			continue
		case s.opt.Offsets == nil:
			s.note(name, columns[c])
		}
		keep = append(keep, c)
		offset := s.opt.Offsets[name]
		if s.opt.Offsets == nil && columns[c].std <= offsetColumn*math.Abs(columns[c].mean) {
			offset = columns[c].mean
		}
		offsets = append(offsets, offset)
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
	names := make([]string, len(keep))
	for k, c := range keep {
		names[k] = s.columns[c]
	}
	s.columns = names
	if !slices.ContainsFunc(offsets, func(v float64) bool { return v != 0 }) {
		return nil
	}
	return offsets
}

func (c column) constant() bool {
	return c.n > 0 && c.high.value-c.low.value <= constantColumn*math.Abs(c.mean)
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

// summarise summarises a channel.
func (s *seriesData) summarise(c int) column {
	k := column{increasing: true}
	for i := range s.records {
		r := &s.records[i]
		x := r.raw[c*r.length : (c+1)*r.length]
		k.increasing = k.increasing && counts(x)
		for _, v := range x {
			if v != v || math.IsInf(v, 0) {
				continue
			}
			k.n++
			k.low.add(v, -1)
			k.high.add(v, 1)
		}
	}
	var sum, squares float64 // of the differences to one of the values, which are exact if they are small
	for i := range s.records {
		r := &s.records[i]
		for _, v := range r.raw[c*r.length : (c+1)*r.length] {
			if v == v && !math.IsInf(v, 0) {
				sum += v - k.low.value
				squares += (v - k.low.value) * (v - k.low.value)
			}
		}
	}
	sum /= float64(max(k.n, 1))
	k.mean, k.std = k.low.value+sum, math.Sqrt(max(squares/float64(max(k.n, 1))-sum*sum, 0))
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

// note adds notes about a column that may be no measurement, or that has values that may be none.
func (s *seriesData) note(name string, c column) {
	if c.increasing && c.n > 0 && s.opt.selectable {
		s.notes = append(s.notes, fmt.Sprintf("column %q counts rows or time, and is an input; --time %[1]s sorts the rows by it instead, and --columns lists the inputs", name))
	}
	for _, e := range []struct {
		extreme
		from, to float64 // of the other values
	}{{c.low, c.low.next, c.high.value}, {c.high, c.low.value, c.high.next}} {
		distance, others := math.Abs(e.value-e.next), e.to-e.from
		if c.low.value == c.high.value || others <= 0 || !(e.sentinel() && distance > others || e.count > 1 && distance > 3*others && math.Abs(e.value) > 3*math.Max(math.Abs(e.from), math.Abs(e.to))) {
			continue
		}
		s.notes = append(s.notes, fmt.Sprintf("column %q: %d values are %v, and the others %v to %v; --missing-values=%[3]v says that they are missing", name, e.count, e.value, e.from, e.to))
	}
}

// sentinel reports whether the value is one that programs write where there is no measurement.
func (e extreme) sentinel() bool {
	switch v := math.Abs(e.value); v {
	case 99, 200, 99.9, 999, 999.9, 9999, 9999.9, 99999, 999999, 32767, 32768, 65535, math.MaxInt32, 1 << 31, math.MaxUint32, 1e20, 1e30:
		return true
	default:
		return v >= 1e30
	}
}
