package fftkernel

import (
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// noise returns n normal draws.
func noise(n int, stream int) []float32 {
	r := random.New(7, random.Signal, 0, stream)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.Normal(uint64(i)))
	}
	return x
}

// relativeError transforms one random input and returns the relative L2 errors of the forward
// transform against gonum in float64, and of forward and inverse together against the input.
func relativeError(t *testing.T, n, stream int) (forward, round float64) {
	t.Helper()
	f := must.Get(NewFFT(n))(t)
	re, im := noise(n, 2*stream), noise(n, 2*stream+1)
	in := make([]complex128, n)
	for i := range in {
		in[i] = complex(float64(re[i]), float64(im[i]))
	}
	want := fourier.NewCmplxFFT(n).Coefficients(nil, in)
	f.Coefficients(re, im)
	var diff, norm float64
	for i, k := range f.Order() {
		diff += sq(complex(float64(re[i]), float64(im[i])) - want[k])
		norm += sq(want[k])
	}
	forward = math.Sqrt(diff / norm)
	f.Sequence(re, im)
	diff, norm = 0, 0
	for i := range in {
		diff += sq(complex(float64(re[i]), float64(im[i]))/complex(float64(n), 0) - in[i])
		norm += sq(in[i])
	}
	return forward, math.Sqrt(diff / norm)
}

// A caller may write to the slice that Order returns.
func TestFFTOrder(t *testing.T) {
	for _, n := range []int{5, 48, 1024} {
		f := must.Get(NewFFT(n))(t)
		order := f.Order()
		want := slices.Clone(order)
		clear(order)
		if got := f.Order(); !slices.Equal(got, want) {
			t.Errorf("n=%d: the order is %v… after the caller cleared its own", n, got[:5])
		}
		slices.Sort(want)
		for k, got := range want {
			if got != k {
				t.Fatalf("n=%d: not a permutation: %v", n, want)
			}
		}
	}
}

func sq(z complex128) float64 { a := cmplx.Abs(z); return a * a }

func TestFFT(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, odd := range []int{1, 3, 5} {
			for n := odd; n <= 1<<13; n *= 2 {
				forward, round := relativeError(t, n, 0)
				if limit := 2e-7 + 2e-8*math.Log2(float64(n)); !(forward < limit && round < 2*limit) {
					t.Errorf("n=%d: relative error %.3g forward, %.3g there and back; expected below %.3g", n, forward, round, limit)
				}
			}
		}
	})
}

// Plans longer than any cache.
func TestFFTLong(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		if testing.Short() {
			t.Skip("long")
		}
		for _, n := range []int{1 << 20, 5 << 15} {
			if forward, round := relativeError(t, n, 0); !(forward < 2.5e-7 && round < 5e-7) {
				t.Errorf("n=%d: relative error %.3g forward, %.3g there and back", n, forward, round)
			} else {
				t.Logf("n=%d: relative error %.3g forward, %.3g there and back", n, forward, round)
			}
		}
	})
}

// The limit is 1.2 times the error of FFTW in single precision, mean of ten inputs.
func TestFFTAccuracy(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for n, fftw := range map[int]float64{512: 1.04e-7, 2048: 1.21e-7, 32768: 1.41e-7} {
			mean := 0.0
			for i := range 10 {
				forward, _ := relativeError(t, n, i)
				mean += forward / 10
			}
			t.Logf("n=%d: %.3g (%.2f of FFTW's)", n, mean, mean/fftw)
			if mean > 1.2*fftw {
				t.Errorf("n=%d: mean relative error %.3g, expected at most %.3g", n, mean, 1.2*fftw)
			}
		}
	})
}

// Inputs up to the documented limit do not overflow. A factor of 2^k changes no other bit.
func TestFFTLargeInputs(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, n := range []int{16, 48, 80, 128, 256, 640, 4096, 1 << 16} {
			f := must.Get(NewFFT(n))(t)
			scale := float32(math.Ldexp(1, 100-bits.Len(uint(n-1))))
			small := [2][]float32{noise(n, 0), noise(n, 1)}
			var large [2][]float32
			for part, x := range small {
				for i := range x {
					x[i] = max(-1, min(1, x[i]))
				}
				large[part] = make([]float32, n)
				vek.Scale(large[part], scale, x)
			}
			f.Coefficients(small[0], small[1])
			f.Coefficients(large[0], large[1])
			for part, x := range small {
				vek.Scale(x, scale, x)
				if !slices.Equal(large[part], x) {
					t.Errorf("n=%d: inputs up to %g overflow", n, scale)
				}
			}
		}
	})
}

func TestFFTRefusesLengths(t *testing.T) {
	for _, n := range []int{-1, 0, 7, 9, 15, 25, 28} {
		must.Reject(NewFFT(n))(t, fmt.Sprint(n))
	}
}

func TestGoodLength(t *testing.T) {
	for n := 1; n < 5000; n++ {
		m := goodLength(n)
		if _, err := NewFFT(m); err != nil || m < n || m > max(64, 2*n) {
			t.Fatalf("goodLength(%d) = %d: %v", n, m, err)
		}
	}
}

// Concurrent callers get the same plan for a length.
func TestFFTPlansAreShared(t *testing.T) {
	plans := make(chan *FFT)
	for range 4 {
		go func() {
			f, err := NewFFT(96)
			if err != nil {
				t.Error(err)
			}
			plans <- f
		}()
	}
	first := <-plans
	for range 3 {
		must.Equal(t, <-plans, first, "plan for the same length")
	}
}
