package fftkernel

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Any plan and any pair of rows against the definition, to the bound that Convolve states.
func FuzzConv(f *testing.F) {
	f.Add(uint16(1), uint16(1), false, uint8(0), uint8(0))
	f.Add(uint16(100), uint16(300), true, uint8(10), uint8(3))
	f.Add(uint16(255), uint16(255), false, uint8(120), uint8(0)) // 256 of both
	f.Add(uint16(257), uint16(31), true, uint8(200), uint8(100))
	f.Fuzz(func(t *testing.T, seqLen, taps uint16, bidirectional bool, gain, missing uint8) {
		c := convCase{int(seqLen)%600 + 1, int(taps)%900 + 1, bidirectional}
		conv := NewConv(c.seqLen, c.kernelLen, c.bidirectional)
		scratch, khat := dirty(conv.ScratchLen()), dirty(conv.SpectrumLen())
		k0, k1 := c.kernels()
		conv.Spectrum(khat, k0, k1)
		scale := float32(math.Exp(float64(gain)/4 - 32))
		u := [2][]float32{noise(c.seqLen, int(gain)), scaled(scale, noise(c.seqLen-int(missing)%c.seqLen, int(missing)+300))}
		y := [2][]float32{dirty(len(u[0])), dirty(len(u[1]))}
		conv.Convolve(Rows{y[0], y[1]}, Rows{u[0], u[1]}, khat, scratch)
		for i := range y {
			if e := convError(y[i], u[i], k0, k1); !(e < leak*convTolerance) {
				t.Errorf("%v, a partner %g times as loud and %d shorter: row %d: error %.3g", c, scale, missing, i, e)
			}
		}
	})
}

// convError returns the L2 error of y over ‖u‖·‖k‖, the scale of its rounding errors.
func convError(y, u, k0, k1 []float32) float64 {
	return distance(y, directConv(u, k0, k1)) / math.Sqrt(sumSquares(u)*(sumSquares(k0)+sumSquares(k1)))
}

// The kernel and the sums of its gradient against the definition.
func FuzzVandermonde(f *testing.F) {
	f.Add(uint8(1), uint16(1), 0.0, 0.0)
	f.Add(uint8(17), uint16(1000), 1e-3, 3.0)
	f.Add(uint8(40), uint16(777), 1300.0, -1e6)
	f.Fuzz(func(t *testing.T, modes uint8, length uint16, decay, angle float64) {
		if !(math.Abs(decay) < 1e300 && math.Abs(angle) < 1e9) {
			t.Skip("no pole")
		}
		m, n := int(modes)%50+1, int(length)%2000+1
		logLambda, w := randomPoles(m, 0.1, n)
		logLambda[m/2] = complex(-math.Abs(decay), angle)
		v := NewVandermonde(m, n)
		scratch, k := dirty(v.ScratchLen()), dirty(n)
		v.Kernel(k, logLambda, w, scratch)
		total := 0.0
		for _, c := range w {
			total += 2 * cmplx.Abs(c)
		}
		for l, want := range truth(logLambda, w, n) {
			// angle·l is rounded to float64 on both sides
			if tolerance := total * (1e-6 + 0x1p-50*math.Abs(angle)*float64(l+1)); !(math.Abs(float64(k[l])-want) < tolerance) {
				t.Fatalf("M=%d L=%d λ=exp(%v): k[%d] = %v, expected %v ± %.3g", m, n, logLambda[m/2], l, k[l], want, tolerance)
			}
		}
		g, sums := make([]complex128, m), make([]complex128, m)
		v.Grad(g, sums, k, logLambda, scratch)
		for i := range g {
			if cmplx.IsNaN(g[i]) || cmplx.IsNaN(sums[i]) {
				t.Fatalf("M=%d L=%d λ=exp(%v): sums %v, %v", m, n, logLambda[i], g[i], sums[i])
			}
		}
	})
}

// Forward and back is n times the identity, for every length and any finite values.
func FuzzFFT(f *testing.F) {
	f.Add(uint8(1), uint8(0), float32(1))
	f.Add(uint8(3), uint8(7), float32(1e30))
	f.Add(uint8(5), uint8(2), float32(1e-30))
	f.Fuzz(func(t *testing.T, odd, k uint8, scale float32) {
		n := []int{1, 3, 5}[odd%3] << (k % 11)
		if s := math.Abs(float64(scale)); !(s > 1e-30 && s < 1e30) {
			t.Skip("out of range")
		}
		plan := must.Get(NewFFT(n))(t)
		re, im := scaled(scale, noise(n, int(k))), scaled(scale, noise(n, int(k)+100))
		wantRe, wantIm := widen(re), widen(im)
		plan.Coefficients(re, im)
		plan.Sequence(re, im)
		if e := max(l2(scaled(1/float32(n), re), wantRe), l2(scaled(1/float32(n), im), wantIm)); !(e < 4e-6) {
			t.Errorf("n=%d: relative error %.3g", n, e)
		}
	})
}
