package vek_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// checkCExp compares with exp(x)·z, |z| = 1. The error is below 2 ulp of the larger component; a
// modulus below 2⁻¹²⁶ is 0.
func checkCExp(t *testing.T, re, im, x float32, z complex128) {
	t.Helper()
	size := math.Exp(float64(x))
	want := complex(size*real(z), size*imag(z))
	scale := max(math.Abs(real(want)), math.Abs(imag(want)))
	if re == 0 && im == 0 && size < 0x1.0001p-126 {
		return
	}
	if float64(x) > 88.7228 { // infinite or nearly so
		return
	}
	for part, got := range map[float32]float64{re: real(want), im: imag(want)} {
		if e := ulps(part, got, scale); !(e <= 2) {
			t.Fatalf("exp(%v)·%v = %v + %vi, expected %v: off by %.3g ulp", x, z, re, im, want, e)
		}
	}
}

func TestCExp(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		r := generator(1)
		for _, n := range sizes() {
			x, angle := make([]float32, n), make([]float32, n)
			for i := range n {
				x[i] = float32(180*r.Float64() - 92)
				angle[i] = float32(math.Ldexp(2e4*(r.Float64()-0.5), -r.IntN(20)))
			}
			c.Again()
			dRe, dIm, re, im := c.Out(n), c.Out(n), c.In(x), c.In(angle)
			if !c.Do(func() { vek.CExp(dRe, dIm, re, im) }) {
				return
			}
			for i := range n {
				checkCExp(t, dRe[i], dIm[i], x[i], cmplx.Rect(1, float64(angle[i])))
			}
			want := append([]float32(nil), dIm...)
			c.Again()
			re, im = c.InOut(x), c.InOut(angle)
			if !c.Do(func() { vek.CExp(re, im, re, im) }) {
				return
			}
			sameBits(t, "in place", im, want)
		}
	})
}

// Angles around every multiple of an eighth of a turn, where the quarter changes or a part is 0.
func TestCExpQuarters(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		const n = 13000
		angle := make([]float32, n)
		for i := range n {
			angle[i] = float32(float64(i-n/2) * math.Pi / 4)
		}
		zero, re, im := make([]float32, n), make([]float32, n), make([]float32, n)
		vek.CExp(re, im, zero, angle)
		for i := range n {
			checkCExp(t, re[i], im[i], 0, cmplx.Rect(1, float64(angle[i])))
		}
	})
}

// At the ends of the range the modulus is 0 or infinite. NaN in either part gives NaN. Large angles
// stay on the circle.
func TestCExpEnds(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		x := []float32{-inf, -104, -87.4, 89, inf, nan, 0, 0, 0, 0}
		angle := []float32{1, 2, 3, 1, 2, 3, nan, inf, 1e20, -3e38}
		re, im := make([]float32, len(x)), make([]float32, len(x))
		vek.CExp(re, im, x, angle)
		for i := range x {
			switch {
			case i < 3 && (re[i] != 0 || im[i] != 0), i >= 3 && i < 5 && !math.IsInf(float64(re[i]), 0),
				i >= 5 && i < 8 && re[i] == re[i], i >= 8 && !(math.Hypot(float64(re[i]), float64(im[i])) < 1.5):
				t.Errorf("CExp of %v, %v: %v + %vi", x[i], angle[i], re[i], im[i])
			}
		}
	})
}

func BenchmarkCExp(b *testing.B) {
	re, im := normals(generator(1), benchLen), normals(generator(2), benchLen)
	dRe, dIm := make([]float32, benchLen), make([]float32, benchLen)
	for i := range im {
		im[i] *= 100
	}
	benchElements(b, fmt.Sprintf("n=%d", benchLen), benchLen, func() { vek.CExp(dRe, dIm, re, im) })
}
