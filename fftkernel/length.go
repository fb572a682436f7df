package fftkernel

import (
	"math/bits"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// goodLength returns the length of at least n, a whole number of groups of vectors, whose transform
// costs least.
func goodLength(n int) int {
	m := max(vek.FFTGroup, (n+vek.FFTLanes-1)/vek.FFTLanes)
	best := 1 << bits.Len(uint(m-1))
	for _, odd := range []int{3, 5} {
		other := odd * vek.FFTGroup
		for other < m {
			other *= 2
		}
		if transformCost(other) < transformCost(best) {
			best = other
		}
	}
	return best * vek.FFTLanes
}

// transformCost estimates the time of an m-point transform and the stage over the lanes, in units
// of a radix-4 pass over one vector. The weights are measured.
func transformCost(m int) float64 {
	perVector := 2.9 // the stage over the lanes
	for _, radix := range radices(m) {
		perVector += [...]float64{2: 0.5, 3: 1.15, 4: 1, 5: 1.75, 8: 2}[radix]
	}
	return perVector * float64(m)
}
