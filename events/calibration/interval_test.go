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

// The examples of R. G. Newcombe, "Two-sided confidence intervals for the single proportion"
// (1998), method 3.
func TestWilson(t *testing.T) {
	for _, v := range []struct {
		k, n      int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {29, 29, 0.8830, 1}, {0, 0, 0, 1},
	} {
		low, high := calibration.Wilson(v.k, v.n)
		if !near(low, v.low, 5e-5) || !near(high, v.high, 5e-5) {
			t.Errorf("%d of %d: %.5f … %.5f, expected %.4f … %.4f", v.k, v.n, low, high, v.low, v.high)
		}
	}
}

// The bounds are the shares p from which what was counted differs by 1.96 standard deviations of p.
func TestWilsonBounds(t *testing.T) {
	for _, n := range []int{1, 7, 482} {
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

// Published values of the exact interval. Without events it is 0 … −ln 0.025.
func TestPoisson(t *testing.T) {
	for _, v := range []struct {
		k         int
		low, high float64
	}{
		{0, 0, 3.688879}, {1, 0.02531781, 5.571643}, {3, 0.6186721, 8.767273}, {10, 4.795389, 18.39036}, {100, 81.36399, 121.6272},
	} {
		for _, hours := range []float64{1, 2.5} {
			low, high := calibration.Poisson(v.k, hours)
			if !near(low*hours, v.low, 1e-4*v.low) || !near(high*hours, v.high, 1e-4*v.high) {
				t.Errorf("%d in %v h: %.7g … %.7g, expected %.7g … %.7g", v.k, hours, low*hours, high*hours, v.low, v.high)
			}
		}
	}
	if low, high := calibration.Poisson(0, 0); low != 0 || !math.IsInf(high, 1) {
		t.Errorf("without time: %v … %v", low, high)
	}
}

// The bounds are those at which what was counted, or what is further away, has the probability
// 2.5 %.
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
		low, high := calibration.Poisson(k, 1)
		if p := cumulative(k, high); !near(p, 0.025, 1e-6) {
			t.Errorf("at most %d events at mean %v: probability %v, expected 0.025", k, high, p)
		}
		if p := 1 - cumulative(k-1, low); k > 0 && !near(p, 0.025, 1e-6) {
			t.Errorf("at least %d events at mean %v: probability %v, expected 0.025", k, low, p)
		}
	}
}
