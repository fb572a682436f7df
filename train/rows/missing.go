package rows

import "math"

// interpolate replaces the missing values (NaN) of a channel by linear interpolation between their
// known neighbours. At an end it repeats the nearest known value. If every value is missing, it
// sets them to 0.
func interpolate(x []float32) {
	last := -1 // index of the last known value
	for i, v := range x {
		if math.IsNaN(float64(v)) {
			continue
		}
		from := v
		if last >= 0 {
			from = x[last]
		}
		for k := last + 1; k < i; k++ {
			share := float64(k-last) / float64(i-last)
			x[k] = float32(float64(from)*(1-share) + float64(v)*share)
		}
		last = i
	}
	fillPrevious(x[max(last, 0):], 0)
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
