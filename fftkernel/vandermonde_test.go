package fftkernel

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// truth is the definition in complex128, each power from an angle reduced in float64.
func truth(logLambda, w []complex128, length int) []float64 {
	k := make([]float64, length)
	for n, l := range logLambda {
		for i := range k {
			k[i] += 2 * real(w[n]*cmplx.Exp(complex(float64(i), 0)*l))
		}
	}
	return k
}

// randomPoles draws modes angles over [0, π) with decay ξ/2 and complex normal weights.
func randomPoles(modes int, xi float64, stream int) (logLambda, w []complex128) {
	r := random.New(3, random.Poles, 0, stream)
	for n := range modes {
		i := uint64(4 * n)
		logLambda = append(logLambda, complex(-xi/2, math.Pi*r.Float64(i)))
		w = append(w, complex(r.Normal(i+1), r.Normal(i+2)))
	}
	return logLambda, w
}

// maxError returns the largest error relative to the largest value of want, which may be longer
// than got.
func maxError(got []float32, want []float64) float64 {
	worst, largest := 0.0, 0.0
	for i, v := range want {
		if i < len(got) {
			worst = max(worst, math.Abs(float64(got[i])-v))
		}
		largest = max(largest, math.Abs(v))
	}
	return worst / largest
}

func TestKernelAccuracy(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		lengths := []int{1, 2, 3, 17, 1000, 1024, 4096}
		if !testing.Short() {
			lengths = append(lengths, 1<<14, 1<<17, 1<<20)
		}
		for _, length := range lengths {
			for _, xi := range []float64{0, 1e-4, 1e-2, 0.1, 2} {
				modes := 32
				if length > 1<<16 {
					modes = 4
				}
				logLambda, w := randomPoles(modes, xi, 1)
				v := NewVandermonde(modes, length)
				k := dirty(length)
				v.Kernel(k, logLambda, w, dirty(v.ScratchLen()))
				e := maxError(k, truth(logLambda, w, max(length, 1024)))
				if length >= 1024 {
					t.Logf("L=%d ξ=%g: %.3g", length, xi, e)
				}
				if !(e <= 1e-6) {
					t.Errorf("L=%d ξ=%g: max error %.3g of the maximum, expected at most 1e-6", length, xi, e)
				}
			}
		}
	})
}

// Poles that decay at once give exact zeros, not denormals or NaNs.
func TestKernelUnderflow(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		v := NewVandermonde(2, 300)
		k := dirty(300)
		logLambda := []complex128{complex(-1300, 1), complex(math.Inf(-1), 0)}
		v.Kernel(k, logLambda, []complex128{1, 1}, dirty(v.ScratchLen()))
		for l, got := range k {
			if want := map[bool]float32{true: 4}[l == 0]; got != want {
				t.Fatalf("k[%d] = %v, expected %v", l, got, want)
			}
		}
		var g, m [2]complex128
		v.Grad(g[:], m[:], noise(300, 5), logLambda, dirty(v.ScratchLen()))
		if want := complex(float64(noise(300, 5)[0]), 0); g != [2]complex128{want, want} || m != [2]complex128{} {
			t.Errorf("gradients %v and %v, expected %v and 0", g, m, want)
		}
	})
}

func TestKernelGrad(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, length := range []int{1, 2, 5, 100, 1024, 5000} {
			for _, xi := range []float64{0, 1e-3, 0.5} {
				modes := 41 // more than the sums take at once
				if length > 1024 {
					modes = 6
				}
				logLambda, _ := randomPoles(modes, xi, 2)
				dk := noise(length, 5)
				v := NewVandermonde(modes, length)
				g, m := make([]complex128, modes), make([]complex128, modes)
				v.Grad(g, m, dk, logLambda, dirty(v.ScratchLen()))
				for n, l := range logLambda {
					var wantG, wantM complex128
					var termsG, termsM float64
					for i, d := range dk {
						p := complex(float64(d), 0) * cmplx.Exp(complex(float64(i), 0)*l)
						wantG += p
						wantM += complex(float64(i), 0) * p
						termsG += cmplx.Abs(p) * cmplx.Abs(p)
						termsM += cmplx.Abs(p) * cmplx.Abs(p) * float64(i) * float64(i)
					}
					if e := cmplx.Abs(g[n]-wantG) / math.Sqrt(termsG); !(e < 1e-6) {
						t.Errorf("L=%d ξ=%g mode %d: G off by %.3g", length, xi, n, e)
					}
					if e := cmplx.Abs(m[n]-wantM) / (math.Sqrt(termsM) + 1e-30); !(e < 1e-6) {
						t.Errorf("L=%d ξ=%g mode %d: M off by %.3g", length, xi, n, e)
					}
				}
			}
		}
	})
}
