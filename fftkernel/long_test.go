package fftkernel

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every tap of a long kernel agrees with powers in complex128. The error is relative to the size of
// the tap's own terms, so that small taps at the end of a decaying kernel count too. A tap is a
// sum of 2M products of two factors that are rounded once, so its error is at most (2M + 2)·2⁻²⁴
// of Σ 2|w λ^l|.
func TestMillionsOfTaps(t *testing.T) {
	const modes = 4
	length := must.Cases(1<<16, 1<<24)
	for _, xi := range []float64{0, 2e-6} {
		logLambda, w := randomPoles(modes, xi, 1)
		v := NewVandermonde(modes, length)
		k, scratch := dirty(length), dirty(v.ScratchLen())
		v.Kernel(k, logLambda, w, scratch)
		worst := 0.0
		for l, got := range k {
			want, size := 0.0, 0.0
			for n, p := range logLambda {
				term := 2 * w[n] * cmplx.Exp(complex(float64(l), 0)*p)
				want, size = want+real(term), size+cmplx.Abs(term)
			}
			worst = max(worst, math.Abs(float64(got)-want)/size)
		}
		const bound = (2*modes + 2) * 0x1p-24
		t.Logf("%d taps, ξ=%g: error %.2g, bound %.2g", length, xi, worst, bound)
		if !(worst <= bound) {
			t.Errorf("%d taps, ξ=%g: error %.2g of the terms, expected at most %.2g", length, xi, worst, bound)
		}

		dk := noise(length, 5)
		g, m := make([]complex128, modes), make([]complex128, modes)
		v.Grad(g, m, dk, logLambda, scratch)
		for n, p := range logLambda {
			var wantG, wantM complex128
			var termsG, termsM float64
			for l, d := range dk {
				at := float64(l)
				term := complex(float64(d), 0) * cmplx.Exp(complex(at, 0)*p)
				wantG, wantM = wantG+term, wantM+complex(at, 0)*term
				termsG, termsM = termsG+sq(term), termsM+at*at*sq(term)
			}
			for name, e := range map[string]float64{
				"G": cmplx.Abs(g[n]-wantG) / math.Sqrt(termsG), "M": cmplx.Abs(m[n]-wantM) / math.Sqrt(termsM),
			} {
				if !(e < 1e-6) { // as in TestKernelGrad
					t.Errorf("%d taps, ξ=%g, mode %d: %s is off by %.2g", length, xi, n, name, e)
				}
			}
		}
	}
}

// A long transform agrees with known ones: of an impulse, exp(−2πi·jk/n), and of a cosine, n/2 at
// its two frequencies and 0 elsewhere. An output passes at most ⌈log₂n / 2⌉ + 1 stages of radix 4
// or more. Each multiplies it by a rounded twiddle and rounds the product, which adds an error of
// at most (1 + √5)·2⁻²⁴, and adds up 4 numbers, at most 2 roundings in each part. The bound is the
// sum over all stages, relative to the largest output.
func TestMillionsOfPoints(t *testing.T) {
	for _, n := range []int{must.Cases(1<<16, 1<<25), must.Cases(3<<15, 3<<23)} {
		f := must.Get(NewFFT(n))(t)
		order := f.Order()
		stages := math.Ceil(math.Log2(float64(n))/2) + 1
		bound := stages * (1 + math.Sqrt(5) + 2*math.Sqrt2) * 0x1p-24
		re, im := make([]float32, n), make([]float32, n)
		check := func(what string, size float64, want func(k int) complex128) {
			t.Helper()
			worst, diff, norm := 0.0, 0.0, 0.0
			for i, k := range order {
				e := sq(complex(float64(re[i]), float64(im[i])) - want(k))
				worst, diff, norm = max(worst, e), diff+e, norm+sq(want(k))
			}
			worst = math.Sqrt(worst) / size
			t.Logf("%d points, %s: error %.2g, bound %.2g; relative L2 error %.2g", n, what, worst, bound, math.Sqrt(diff/norm))
			if !(worst <= bound) {
				t.Errorf("%d points, %s: error %.2g, expected at most %.2g", n, what, worst, bound)
			}
		}
		turn := func(j, k int) complex128 { // exp(−2πi·jk/n)
			sin, cos := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
			return complex(cos, -sin)
		}
		for _, j := range []int{1, n/2 + 12345, n - 1} {
			clear(re)
			clear(im)
			re[j] = 1
			f.Coefficients(re, im)
			check("impulse", 1, func(k int) complex128 { return turn(j, k) })
			f.Sequence(re, im)
			off := 0.0
			for i := range re {
				want := 0.0
				if i == j {
					want = 1
				}
				off = max(off, cmplx.Abs(complex(float64(re[i])/float64(n)-want, float64(im[i])/float64(n))))
			}
			if !(off <= 2*bound) {
				t.Errorf("%d points: an impulse is off by %.2g after the inverse transform, expected at most %.2g", n, off, 2*bound)
			}
		}
		for _, tone := range []int{1, n/3 + 1} {
			clear(im)
			for j := range re {
				re[j] = float32(real(turn(j, tone)))
			}
			f.Coefficients(re, im)
			check("cosine", float64(n)/2, func(k int) complex128 {
				if k == tone || k == n-tone {
					return complex(float64(n)/2, 0)
				}
				return 0
			})
		}
	}
}
