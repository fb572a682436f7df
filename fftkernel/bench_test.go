package fftkernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

func BenchmarkFFT(b *testing.B) {
	for _, n := range []int{512, 2048, 8192, 32768, 1536, 2560} {
		f := must.Get(NewFFT(n))(b)
		re, im := noise(n, 0), noise(n, 1)
		unit := float32(1 / math.Sqrt(float64(n)))
		vektest.BenchEachLevel(b, fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				f.Coefficients(re, im)
				vek.Scale(re, unit, re) // keeps the values in range; a few percent of the time
				vek.Scale(im, unit, im)
			}
			b.ReportMetric(5*float64(n)*math.Log2(float64(n))/float64(b.Elapsed().Nanoseconds())*float64(b.N), "GFLOP/s")
		})
	}
}

func BenchmarkConv(b *testing.B) {
	for _, n := range []int{256, 1024, 2048, 4096, 16384} {
		conv := NewConv(n, n, false)
		scratch, khat := make([]float32, conv.ScratchLen()), make([]float32, conv.SpectrumLen())
		conv.Spectrum(khat, noise(n, 1), nil)
		u0, u1 := noise(n, 2), noise(n, 3)
		y0, y1 := make([]float32, n), make([]float32, n)
		perRow := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/row") }
		vektest.BenchEachLevel(b, fmt.Sprintf("L=%d", n), func(b *testing.B) {
			for b.Loop() {
				conv.Convolve(Rows{y0, y1}, Rows{u0, u1}, khat, scratch)
			}
			perRow(b)
		})
		acc := make([]float32, conv.SpectrumLen())
		vektest.BenchEachLevel(b, fmt.Sprintf("grad/L=%d", n), func(b *testing.B) {
			for b.Loop() {
				conv.ConvolveGrad(Rows{y0, y1}, Rows{u0, u1}, Rows{u1, u0}, acc, khat, scratch)
			}
			perRow(b)
		})
	}
}

func BenchmarkVandermonde(b *testing.B) {
	const modes = 32
	for _, length := range []int{1024, 16384} {
		logLambda, w := randomPoles(modes, 0.01, 1)
		v := NewVandermonde(modes, length)
		k, scratch := make([]float32, length), make([]float32, v.ScratchLen())
		g, m := make([]complex128, modes), make([]complex128, modes)
		vektest.BenchEachLevel(b, fmt.Sprintf("kernel/M=%d/L=%d", modes, length), func(b *testing.B) {
			for b.Loop() {
				v.Kernel(k, logLambda, w, scratch)
			}
			b.ReportMetric(4*modes*float64(length)/float64(b.Elapsed().Nanoseconds())*float64(b.N), "GFLOP/s")
		})
		vektest.BenchEachLevel(b, fmt.Sprintf("grad/M=%d/L=%d", modes, length), func(b *testing.B) {
			for b.Loop() {
				v.Grad(g, m, k, logLambda, scratch)
			}
		})
	}
}
