package report

import (
	"math"
	"time"
)

// Times is a histogram of durations, for quantiles within 4.5 % in constant memory: the borders of
// its bins are a factor of 2^(1/16) apart.
type Times struct {
	bins  [640]int64 // from 1 ns to 2^40 ns, 18 minutes
	count int64
	max   float64 // seconds
	total time.Duration
}

const binsPerOctave = 16

// Add counts a duration.
func (t *Times) Add(d time.Duration) {
	i := int(binsPerOctave * math.Log2(float64(max(d, 1))))
	t.bins[min(i, len(t.bins)-1)]++
	t.count++
	t.max = max(t.max, d.Seconds())
	t.total += d
}

// Total returns the sum.
func (t *Times) Total() time.Duration { return t.total }

// quantile returns the upper border of the bin that holds the q-quantile, in seconds, and at most
// the maximum.
func (t *Times) quantile(q float64) float64 {
	left := int64(math.Ceil(q * float64(t.count)))
	for i, n := range t.bins {
		if left -= n; left <= 0 && t.count > 0 {
			return min(t.max, 1e-9*math.Exp2(float64(i+1)/binsPerOctave))
		}
	}
	return 0
}

// Quantiles are those of the time from the arrival of an input to its line, in seconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Quantiles returns the quantiles.
func (t *Times) Quantiles() Quantiles {
	return Quantiles{P50: t.quantile(0.5), P99: t.quantile(0.99), Max: t.max}
}
