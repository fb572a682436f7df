package main

import (
	"math"
	"time"
)

// blockTimes counts durations in bins whose borders are 2^(1/16) apart: quantiles within 4.5 %, in constant memory.
type blockTimes struct {
	bins  [640]int64 // from 1 ns to 2^40 ns, 18 minutes
	count int64
	max   float64 // seconds
}

const binsPerOctave = 16

func (b *blockTimes) add(d time.Duration) {
	i := int(binsPerOctave * math.Log2(float64(max(d, 1))))
	b.bins[min(i, len(b.bins)-1)]++
	b.count++
	b.max = max(b.max, d.Seconds())
}

// quantile returns the upper border of the bin in which it lies, in seconds, and at most the maximum.
func (b *blockTimes) quantile(q float64) float64 {
	left := int64(math.Ceil(q * float64(b.count)))
	for i, n := range b.bins {
		if left -= n; left <= 0 && b.count > 0 {
			return min(b.max, 1e-9*math.Exp2(float64(i+1)/binsPerOctave))
		}
	}
	return 0
}
