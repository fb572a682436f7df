package bench

import (
	"math"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// fmaRounds is the number of rounds of vek.FMAPeak in one call.
const fmaRounds = 1 << 14

// fma measures the peak of all other operations, and is measured with each of them. Its flops
// depend on the level.
var fma = workload{
	op: "peak", units: 1,
	start: perThread(func() func() {
		return func() { vek.FMAPeak(fmaRounds) }
	}),
}

// copying copies n floats, which shows the bandwidth of memory. Go's copy is the same at every
// level.
func copying(n int) workload {
	return workload{
		op: "copy", Sizes: Sizes{N: n}, units: float64(n), bytes: 8 * float64(n),
		start: perThread(func() func() {
			dst, src := ramp(n, 0, 1), ramp(n, 1, 0)
			return func() { copy(dst, src) }
		}),
	}
}

// cexpOf is exp(re + i·im) for magnitudes and phases of poles.
func cexpOf(n int) workload {
	const flops = 55 // products and sums of reduction and polynomials, per element
	return workload{
		op: "cexp", Sizes: Sizes{N: n}, units: float64(n), flops: flops * float64(n),
		start: perThread(func() func() {
			re, im := ramp(n, -8, 0.2), ramp(n, -100, 100)
			dRe, dIm := make([]float32, n), make([]float32, n)
			return func() { vek.CExp(dRe, dIm, re, im) }
		}),
	}
}

// fftOf transforms in place, forward. A transform multiplies the norm of the data by √n, so the
// data are reset after some transforms, in less than a hundredth of the time.
func fftOf(n int) workload {
	const transforms = 8
	return workload{
		op: "fft", Sizes: Sizes{N: n}, units: transforms, flops: transforms * transformFlops(n),
		start: perThread(func() func() {
			plan := valid(fftkernel.NewFFT(n))
			zRe, zIm := Noise(n, 1), Noise(n, 2)
			re, im := make([]float32, n), make([]float32, n)
			return func() {
				copy(re, zRe)
				copy(im, zIm)
				for range transforms {
					plan.Coefficients(re, im)
				}
			}
		}),
	}
}

// convOf convolves two rows of n samples with a kernel of n taps whose spectrum is given.
func convOf(n int) workload {
	const rows = 2
	return workload{
		op: "conv", Sizes: Sizes{L: n}, units: rows,
		flops: 2*transformFlops(2*n) + 6*2*float64(n), // two transforms, one product
		start: perThread(func() func() {
			conv := fftkernel.NewConv(n, n, false)
			scratch, khat := make([]float32, conv.ScratchLen()), make([]float32, conv.SpectrumLen())
			conv.Spectrum(khat, Noise(n, 1), nil)
			u0, u1, y0, y1 := Noise(n, 2), Noise(n, 3), make([]float32, n), make([]float32, n)
			return func() { conv.Convolve(fftkernel.Rows{y0, y1}, fftkernel.Rows{u0, u1}, khat, scratch) }
		}),
	}
}

// vandermondeOf computes the kernels of an S4D-Lin layer.
func vandermondeOf(h, modes, length int) workload {
	return workload{
		op: "vandermonde", Sizes: Sizes{H: h, M: modes, L: length}, units: 1,
		flops: 4 * float64(modes) * float64(length) * float64(h), // a matrix product each
		start: perThread(func() func() {
			p := valid(ssm.New(ssm.Config{DModel: h, DState: 2 * modes, Init: ssm.Lin, Disc: ssm.ZOH, AReal: 0.5, DtMin: 0.001, DtMax: 0.1}, 1, 0))
			d := p.Discretize(ssm.ZOH, 1)
			plan := fftkernel.NewVandermonde(modes, length)
			k, scratch := make([]float32, h*length), make([]float32, plan.ScratchLen())
			return func() {
				for c := range h {
					plan.Kernel(k[c*length:(c+1)*length], d.LogLambda[c*modes:(c+1)*modes], d.W[c*modes:(c+1)*modes], scratch)
				}
			}
		}),
	}
}

// cauchyOf computes the kernels of an S4-LegS layer. Their sums are in float64.
func cauchyOf(h, modes, length int) workload {
	return workload{
		op: "cauchy", Sizes: Sizes{H: h, M: modes, L: length}, units: 1,
		flops: float64(h) * cauchyFlops(cauchySums, modes, length),
		start: perThread(func() func() {
			p := valid(ssm.New(ssm.Config{
				Layer: ssm.LayerS4, DModel: h, DState: 2 * modes, Init: ssm.LegS, Disc: ssm.Bilinear, DtMin: 0.001, DtMax: 0.1, LKernel: length,
			}, 1, 0))
			systems := make([]fftkernel.RankOne, h)
			for c := range systems {
				lo, hi := c*modes, (c+1)*modes
				s := fftkernel.RankOne{Lambda: make([]complex128, modes), P: p.P[lo:hi], B: p.B[lo:hi], C: p.C[lo:hi]}
				s.Step = p.Poles(s.Lambda, c, 1)
				systems[c] = s
			}
			plan := fftkernel.NewCauchy(modes, length)
			k, scratch := make([]float32, h*length), make([]float32, plan.ScratchLen())
			return func() {
				for c := range systems {
					plan.Kernel(k[c*length:(c+1)*length], &systems[c], scratch)
				}
			}
		}),
	}
}

// scanOf measures the scan that replaces the products B̄·x of a block by the states. A block has as
// many samples as package convmode processes at a time; it fits in the L2 cache. With |λ̄| = ½ each
// scan multiplies the largest value by at most 2.5. The data are therefore reset after 64 scans,
// which takes little time.
func scanOf(modes, length int) workload {
	const scans = 64
	return workload{
		op: "scan", Sizes: Sizes{M: modes, L: length}, units: scans * float64(length),
		flops: scans * float64(length) * scanFlops * float64(modes),
		start: perThread(func() func() {
			products, rows := Noise(length*2*modes, 1), vek.MatrixOf(vek.Aligned(length*2*modes), length, 2*modes)
			state, lambda := make([]float32, 2*modes), make([]float32, 2*modes)
			for n := range modes {
				sin, cos := math.Sincos(math.Pi * float64(n) / float64(modes))
				lambda[n], lambda[modes+n] = float32(cos/2), float32(sin/2)
			}
			return func() {
				copy(rows.Data, products)
				clear(state)
				for range scans {
					vek.Scan(rows, state, lambda, 0, modes, vek.FirstToLast)
				}
			}
		}),
	}
}

// gemmOf is c = a·b, a m×k and b k×n. As in a network, the rows of c are not a power of two apart,
// which would put them in one set of the L1 cache.
func gemmOf(m, n, k int) workload {
	return workload{
		op: "gemm", Sizes: Sizes{Rows: m, N: n, K: k}, units: 1, flops: 2 * float64(m) * float64(n) * float64(k),
		start: perThread(func() func() {
			a, b := vek.MatrixOf(Noise(m*k, 1), m, k), vek.MatrixOf(Noise(k*n, 2), k, n)
			c := vek.MatrixOf(make([]float32, m*(n+16)), m, n+16).Columns(0, n)
			scratch := make([]float32, vek.GemmScratch(m, n, k))
			return func() { vek.Gemm(c, a, b, vek.Plain, scratch) }
		}),
	}
}

// stepOf streams blocks of s.length samples through one layer of SSMs only. The encoder, which
// feeds the same signal to each, and the decoder of the last position take a few percent of the
// time.
func stepOf(s shape) workload {
	s.layers = 1
	return workload{
		op: s.op("step"), Sizes: Sizes{H: s.h, M: s.modes, L: s.length}, units: float64(s.length),
		flops: float64(s.length) * s.stepFlops(),
		start: perThread(func() func() {
			c := s.config()
			c.Norm, c.Activation, c.Mixing, c.Residual, c.Pool = model.NormNone, model.ActivationNone, model.MixingNone, false, model.PoolLast
			m := valid(model.New(c, 1))
			stream := valid(recurrent.NewStream(m))
			x := Noise(s.length, 1)
			return func() { stream.Process(x, s.length) }
		}),
	}
}

// stepFlops counts the operations of a sample: per channel D·x and, per mode, six multiply-adds, of
// S4 twelve (docs/maths.md §17.3). S5 and the LRU have two products, with B and C, and four
// multiply-adds per mode.
func (s shape) stepFlops() float64 {
	h, m := float64(s.h), float64(s.modes)
	switch c := s.config().SSM; {
	case c.MIMO():
		return 8*m*h + scanFlops*m + 2*h
	case c.Layer == ssm.LayerS4:
		return h * (24*m + 2)
	}
	return h * (12*m + 2)
}

// ramp returns n equidistant numbers from lo, with exclusive end hi.
func ramp(n int, lo, hi float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = lo + (hi-lo)*float32(i)/float32(n)
	}
	return x
}
