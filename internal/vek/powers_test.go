package vek_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// poles draws n numbers in the unit disc, one of them on its edge.
func poles(r *rand.Rand, n int) (re, im []float64) {
	for i := range n {
		lam := cmplx.Exp(complex(-math.Pow(10, -4+5*r.Float64()), 7*r.NormFloat64()))
		if i == 0 {
			lam = cmplx.Exp(1i)
		}
		re, im = append(re, real(lam)), append(im, imag(lam))
	}
	return re, im
}

// checkPower compares an element with first·λ^k: one rounding, the products' roundings in float64, and 0 for powers
// below 2⁻⁵⁰ of the first.
func checkPower(t *testing.T, what string, re, im float32, first, lam complex128, k int) {
	t.Helper()
	want := first
	if k > 0 {
		want *= cmplx.Exp(complex(float64(k), 0) * cmplx.Log(lam))
	}
	size := cmplx.Abs(first)
	bound := 1.001*vektest.Epsilon*cmplx.Abs(want) + size*(float64(k)*1e-15+0x1p-50)
	if e := cmplx.Abs(complex(float64(re), float64(im)) - want); !(e <= math.Sqrt2*bound) {
		t.Fatalf("%s: power %d of %v: got %v + %vi, want %v", what, k, lam, re, im, want)
	}
	for _, v := range []float32{re, im} {
		if v != 0 && math.Abs(float64(v)) < 0x1p-126 {
			t.Fatalf("%s: power %d of %v: part %v is a denormal number", what, k, lam, v)
		}
	}
}

func checkPowers(t *testing.T, c *vektest.Call, r *rand.Rand, n, powers, gap int) {
	t.Helper()
	lamRe, lamIm := poles(r, n)
	w, log := make([]complex128, n), make([]complex128, n)
	for i := range w {
		w[i], log[i] = complex(100*r.NormFloat64(), r.NormFloat64()), cmplx.Log(complex(lamRe[i], lamIm[i]))
	}
	c.Again()
	rows := c.OutMatrix(2*n, powers, powers+gap)
	c.Do(func() { vek.PowerRows(rows, w, log, 1, false) })
	for i := range n {
		for k := range powers {
			checkPower(t, "PowerRows", rows.Row(i)[k], rows.Row(n + i)[k], w[i], complex(lamRe[i], lamIm[i]), k)
		}
	}

	wRe, wIm := make([]float64, n), make([]float64, n)
	c.Again()
	re, im := c.InMatrix(matrix(r, powers, n), n+gap), c.InMatrix(matrix(r, powers, n), n+gap)
	c.Do(func() { vek.PowerSums(wRe, wIm, re, im, lamRe, lamIm) })
	for i := range n {
		want, size := 0i, 0.0
		for k := range powers {
			term := cmplx.Pow(complex(lamRe[i], lamIm[i]), complex(float64(k), 0)) *
				complex(float64(re.Row(k)[i]), float64(im.Row(k)[i]))
			want += term
			size += cmplx.Abs(term)
		}
		if e := cmplx.Abs(complex(wRe[i], wIm[i]) - want); !(e <= float64(powers+8)*4e-16*size) {
			t.Fatalf("PowerSums: sum %d of %d: got %v + %vi, want %v", i, powers, wRe[i], wIm[i], want)
		}
	}
}

func FuzzPowers(f *testing.F) {
	f.Add(uint64(1), uint8(1), uint8(1), uint8(0))
	for i := range uint8(68) { // sizes around the four chains, all places
		f.Add(uint64(i), i%19, i%11, i)
	}
	f.Add(uint64(2), uint8(33), uint8(130), uint8(5))
	f.Fuzz(func(t *testing.T, seed uint64, n, powers, place uint8) {
		vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
			c := vektest.NewCall(t)
			c.Begin(vektest.Placements()[place%17])
			checkPowers(t, c, generator(seed), int(n%70), int(powers), int(place%4))
		})
	})
}
