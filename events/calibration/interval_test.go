package calibration_test

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

func near(got, want, tolerance float64) bool {
	return got == want || math.Abs(got-want) <= tolerance
}

// The bounds are the shares p from which what was counted differs by 1.96 standard deviations of p.
func TestWilsonBounds(t *testing.T) {
	for _, n := range []int{0, 1, 7, 482} {
		for k := range n + 1 {
			low, high := calibration.Wilson(k, n)
			for i, p := range []float64{low, high} {
				if k == 0 && i == 0 || k == n && i == 1 {
					must.Equal(t, p, float64(i), "bound of %d of %d", k, n)
					continue
				}
				off := math.Abs(float64(k)/float64(n)-p) / math.Sqrt(p*(1-p)/float64(n))
				if !near(off, 1.959964, 1e-6) {
					t.Errorf("%d of %d: bound %v is %v standard deviations away", k, n, p, off)
				}
			}
		}
	}
}

// The bounds are those at which what was counted, or what is further away, has the probability
// 2.5 %. Without events the interval begins at 0.
func TestPoissonTails(t *testing.T) {
	cumulative := func(k int, mean float64) (p float64) { // of at most k events
		term := math.Exp(-mean)
		for i := 0; i <= k; i++ {
			p += term
			term *= mean / float64(i+1)
		}
		return p
	}
	for k := range 200 {
		const hours = 2.5
		low, high := calibration.Poisson(k, hours)
		low, high = low*hours, high*hours
		if p := cumulative(k, high); !near(p, 0.025, 1e-6) {
			t.Errorf("at most %d events at mean %v: probability %v, expected 0.025", k, high, p)
		}
		if p := 1 - cumulative(k-1, low); k > 0 && !near(p, 0.025, 1e-6) {
			t.Errorf("at least %d events at mean %v: probability %v, expected 0.025", k, low, p)
		}
	}
	for hours, want := range map[float64]float64{1: -math.Log(0.025), 0: math.Inf(1)} {
		if low, high := calibration.Poisson(0, hours); low != 0 || !near(high, want, 1e-9) {
			t.Errorf("no event in %v h: %v … %v, expected 0 … %v", hours, low, high, want)
		}
	}
}
