package vek_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// An exhaustive search over 0.001 ≤ |x| < 13 found that the largest error of vectors of float32 is
// 4.14 ulp, at −geluWorst.
const (
	geluULP   = 4.2
	geluWorst = 3.0124362
)

// The bounds are those of the doc comments, which allow for vectors of float32. Plain Go stays
// below 1 ulp. A floor allows 0 in place of numbers below 2⁻¹²⁶ and, for GELU, of results for x ≤
// −13.
var (
	gelu = pointwise{
		Ins: 1, Alias: [][]int{{0}}, ULP: geluULP, Floor: 1e-37,
		Run:   func(out, in [][]float32) { vek.GELU(out[0], in[0]) },
		Truth: func(out, in []float64) { out[0] = gelu64(in[0]) },
	}
	geluSlope = pointwise{
		Outs: 2, Ins: 1, ULP: geluULP, Floor: 1e-32, Draw: broad,
		Alias: [][]int{{0, -1}, {-1, 0}},
		Run:   func(out, in [][]float32) { vek.GELUSlope(out[0], out[1], in[0]) },
		Truth: func(out, in []float64) { out[0], out[1] = gelu64(in[0]), phi(in[0])+density(in[0]) },
		Scale: func(size, in []float64) { size[0], size[1] = math.Abs(gelu64(in[0])), abs(phi(in[0]), density(in[0])) },
	}
	glu = pointwise{
		Ins: 2, Alias: [][]int{{0}, {1}}, ULP: 4, Floor: 1e-34, Draw: broad,
		Run:   func(out, in [][]float32) { vek.GLU(out[0], in[0], in[1]) },
		Truth: func(out, in []float64) { out[0] = in[0] * logistic(in[1]) },
	}
	gluGrad = pointwise{
		Outs: 2, Ins: 3, ULP: 6, Floor: 1e-32, Draw: broad,
		Alias: [][]int{{0, 1}, {0, -1}, {-1, 1}, {2, -1}, {-1, 2}},
		Run:   func(out, in [][]float32) { vek.GLUGrad(out[0], out[1], in[0], in[1], in[2]) },
		Truth: func(out, in []float64) {
			a, b, dy := in[0], in[1], in[2]
			out[0] = dy * logistic(b)
			out[1] = dy * a * logistic(b) * logistic(-b)
		},
	}
)

func TestGELU(t *testing.T)    { gelu.Test(t) }
func TestGLU(t *testing.T)     { glu.Test(t) }
func TestGLUGrad(t *testing.T) { gluGrad.Test(t) }

// broad draws numbers of magnitudes from 1e-4 to about 100.
func broad(r *rand.Rand, _ int) float32 {
	return float32(r.NormFloat64() * math.Pow(10, -4+5.5*r.Float64()))
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// phi is the standard normal distribution function, density x times its derivative.
func phi(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

func density(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return x * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
}

func gelu64(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return x * phi(x)
}

// sweep returns arguments of both signs in all binades, more between 2⁻⁸ and 2⁸, and the special
// values.
func sweep() []float32 {
	var x []float32
	r := generator(7)
	both := func(v float32) { x = append(x, v, -v) }
	for e := -149; e <= 127; e++ {
		n := 4
		if e >= -8 && e <= 8 {
			n = 2000
		}
		for range n {
			both(float32(math.Ldexp(1+r.Float64(), e)))
		}
		both(float32(math.Ldexp(1, e)))
	}
	for _, v := range []float64{0, math.Inf(1), math.MaxFloat32, 87.3365, 87.33654, 88.72283, 103.98, 13, 14.5, 0.75179, geluWorst, 10, 10.06, 4.9973745, 8.221322} {
		both(float32(v))
		both(math.Nextafter32(float32(v), 0))
		both(math.Nextafter32(float32(v), 1e30))
	}
	return append(x, float32(math.NaN()))
}

// Denormal results would slow down the matrix products that read them.
func TestGELUGivesNoDenormals(t *testing.T) {
	var x []float32
	for v := float32(-13.3); v < -13; v = math.Nextafter32(v, 0) {
		x = append(x, v)
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		y, slope, both := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		vek.GELU(y, x)
		vek.GELUSlope(both, slope, x)
		for i, v := range x {
			for _, r := range []float32{y[i], slope[i], both[i]} {
				if r != 0 && math.Abs(float64(r)) < 0x1p-126 {
					t.Fatalf("GELU or its slope at %v is %v", v, r)
				}
			}
		}
	})
}

func TestFunctionsOnTheWholeLine(t *testing.T) {
	x := sweep()
	ones := make([]float32, len(x))
	for i := range ones {
		ones[i] = 1
	}
	tests := []struct {
		name       string
		f          func(dst, x []float32)
		want, size func(x float64) float64
		ulp, floor float64
	}{
		{"GLU", func(dst, x []float32) { vek.GLU(dst, ones, x) }, logistic, logistic, 4, 0x1p-126},
		{"GELU", vek.GELU, gelu64, gelu64, geluULP, 1e-37},
		{"GELUSlope", func(dst, x []float32) { vek.GELUSlope(make([]float32, len(x)), dst, x) },
			func(x float64) float64 { return phi(x) + density(x) },
			func(x float64) float64 { return abs(phi(x), density(x)) }, 4, 2e-36},
		{"GELUTanh", vek.GELUTanh, func(x float64) float64 { y, _ := geluTanh64(x); return y },
			func(x float64) float64 { y, _ := geluTanhSizes(x); return y }, 2.5, 1e-37},
		{"GELUTanhSlope", func(dst, x []float32) { vek.GELUTanhSlope(make([]float32, len(x)), dst, x) },
			func(x float64) float64 { _, s := geluTanh64(x); return s },
			func(x float64) float64 { _, s := geluTanhSizes(x); return s }, 5.5, 1e-35},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
				got := make([]float32, len(x))
				test.f(got, x)
				for i, v := range x {
					want := test.want(float64(v))
					if e := ulps(got[i], want, test.size(float64(v))); !(e <= test.ulp) && !(math.Abs(float64(got[i])-want) <= test.floor) {
						t.Fatalf("x = %v: got %v, expected %v: %.3g ulp, expected ≤ %g", v, got[i], want, e, test.ulp)
					}
				}
			})
		})
	}
}

// The slopes are the derivatives of the functions, by central differences in float64.
func TestSlopesAgainstDifferences(t *testing.T) {
	const h = 1e-5
	slope := func(f func(float64) float64, x float64) float64 { return (f(x+h) - f(x-h)) / (2 * h) }
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for x := float32(-9); x < 9; x += 0.37 {
			y, got, da, db := []float32{0}, []float32{0}, []float32{0}, []float32{0}
			vek.GELUSlope(y, got, []float32{x})
			vek.GLUGrad(da, db, []float32{1.5}, []float32{x}, []float32{2})
			for name, pair := range map[string][2]float64{
				"GELUSlope":  {float64(got[0]), slope(gelu64, float64(x))},
				"GLUGrad da": {float64(da[0]), 2 * slope(func(a float64) float64 { return a * logistic(float64(x)) }, 1.5)},
				"GLUGrad db": {float64(db[0]), 2 * slope(func(b float64) float64 { return 1.5 * logistic(b) }, float64(x))},
			} {
				if math.Abs(pair[0]-pair[1]) > 1e-6 {
					t.Errorf("%s at %v: got %v, expected %v", name, x, pair[0], pair[1])
				}
			}
		}
	})
}

// GELUSlope has the bits of GELU.
func TestGELUSlope(t *testing.T) {
	geluSlope.Test(t)
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		x := sweep()
		want, y, slope := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		vek.GELU(want, x)
		vek.GELUSlope(y, slope, x)
		sameBits(t, "y", y, want)
	})
}
