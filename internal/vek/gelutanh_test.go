package vek_test

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

var (
	geluTanh = pointwise{
		Ins: 1, Alias: [][]int{{0}}, ULP: 2.5, Floor: 1e-37, Draw: broad,
		Run:   func(out, in [][]float32) { vek.GELUTanh(out[0], in[0]) },
		Truth: func(out, in []float64) { out[0], _ = geluTanh64(in[0]) },
	}
	geluTanhSlope = pointwise{
		Outs: 2, Ins: 1, ULP: 5.5, Floor: 1e-35, Draw: broad, Alias: [][]int{{0, -1}, {-1, 0}},
		Run:   func(out, in [][]float32) { vek.GELUTanhSlope(out[0], out[1], in[0]) },
		Truth: func(out, in []float64) { out[0], out[1] = geluTanh64(in[0]) },
		Scale: func(size, in []float64) { size[0], size[1] = geluTanhSizes(in[0]) },
	}
)

func TestGELUTanh(t *testing.T)      { geluTanh.Test(t) }
func TestGELUTanhSlope(t *testing.T) { geluTanhSlope.Test(t) }

// gate64 returns σ(w), σ(−w) and x·w′ for w = √(8/π)·(x + 0.044715x³).
func gate64(x float64) (s, rest, slope float64) {
	c := math.Sqrt(8 / math.Pi)
	w := c * (x + 0.044715*x*x*x)
	return logistic(w), logistic(-w), x * c * (1 + 3*0.044715*x*x)
}

// geluTanh64 returns x·σ(w) and its derivative.
func geluTanh64(x float64) (y, slope float64) {
	switch {
	case x < -40:
		return 0, 0
	case x > 40:
		return x, 1
	}
	s, rest, w := gate64(x)
	return x * s, s * (1 + w*rest)
}

// geluTanhSizes returns the magnitude of x·σ(w) and the sum of those of its derivative's terms.
func geluTanhSizes(x float64) (y, slope float64) {
	y, slope = geluTanh64(x)
	if x > -40 && x < 40 {
		s, rest, w := gate64(x)
		slope = s * (1 + math.Abs(w*rest))
	}
	return math.Abs(y), slope
}

// The formula is that of the definition with tanh, to the accuracy that 1 + tanh leaves.
func TestGELUTanhDefinition(t *testing.T) {
	for x := -6.0; x < 6; x += 0.01 {
		want := x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		if got, _ := geluTanh64(x); math.Abs(got-want) > 1e-14 {
			t.Fatalf("x = %v: %v, expected %v", x, got, want)
		}
	}
}

// GELUTanhSlope has the bits of GELUTanh, and the right limits.
func TestGELUTanhLimits(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		inf := float32(math.Inf(1))
		x := []float32{-inf, -1e30, -11, -10.06, 0, 10, 11, 1e30, inf}
		y, again, slope := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		vek.GELUTanh(y, x)
		vek.GELUTanhSlope(again, slope, x)
		sameBits(t, "y", again, y)
		for i, v := range x {
			want := max(v, 0)
			wantSlope := float32(0)
			switch {
			case v > 0:
				wantSlope = 1
			case v == 0:
				wantSlope = 0.5
			}
			if math.Abs(float64(slope[i]-wantSlope)) > 1e-30 || y[i] != want && !(math.Abs(float64(y[i])) < 1e-37) {
				t.Errorf("x = %v: %v with slope %v, expected %v and %v", v, y[i], slope[i], want, wantSlope)
			}
		}
		nan := []float32{float32(math.NaN())}
		vek.GELUTanhSlope(nan, slope[:1], nan)
		if nan[0] == nan[0] || slope[0] == slope[0] {
			t.Errorf("of NaN: %v with slope %v", nan[0], slope[0])
		}
	})
}
