package fftkernel

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Conv is a plan for convolving rows with a kernel:
//
//	y[l] = Σ_{j<kernelLen} k0[j]·x[l−j]  (+ Σ_j k1[j]·x[l+1+j] when bidirectional),  0 ≤ l < seqLen,
//
// where x is zero outside the row. Two rows ride in one complex transform.
type Conv struct {
	fft               *FFT
	n                 int
	seqLen, kernelLen int
	bidirectional     bool
	rowHalf           bool // a row fits the lower half of the transform
	kernelHalf        bool // so does a causal kernel
}

// NewConv plans rows of up to seqLen samples and kernels of kernelLen taps, both at least 1.
func NewConv(seqLen, kernelLen int, bidirectional bool) *Conv {
	if seqLen < 1 || kernelLen < 1 {
		panic(fmt.Sprintf("fftkernel: NewConv(%d, %d): lengths must be at least 1", seqLen, kernelLen))
	}
	// Taps past the row reach nothing. What wraps around must meet zeros: k0 reaches taps−1 samples past the
	// row's end, k1 stands backwards from the transform's end and reaches future samples before its begin.
	taps := min(kernelLen, seqLen)
	n := seqLen + taps - 1
	if bidirectional {
		n = seqLen + min(kernelLen, seqLen-1)
	}
	n = goodLength(n)
	fft, err := NewFFT(n)
	if err != nil {
		panic(err)
	}
	half := fft.halves()
	return &Conv{
		fft: fft, n: n, seqLen: seqLen, kernelLen: kernelLen, bidirectional: bidirectional,
		rowHalf:    half && 2*seqLen <= n,
		kernelHalf: half && 2*taps <= n && !bidirectional,
	}
}

// SpectrumLen returns the floats in a kernel's spectrum.
func (c *Conv) SpectrumLen() int { return 2 * c.n }

// ScratchLen returns the floats of scratch that every method needs.
func (c *Conv) ScratchLen() int { return 4 * c.n }

func (c *Conv) split(z []float32) (re, im []float32) { return z[:c.n:c.n], z[c.n : 2*c.n : 2*c.n] }

// Spectrum transforms the kernel k0 (and k1, the future's, when bidirectional; else nil) to khat, with 1/n
// folded in. Kernels shorter than kernelLen are allowed.
func (c *Conv) Spectrum(khat, k0, k1, scratch []float32) {
	if len(khat) != c.SpectrumLen() || len(k0) > c.kernelLen || len(k1) > c.kernelLen || (k1 != nil) != c.bidirectional {
		panic("fftkernel: Spectrum: lengths do not match the plan")
	}
	re, im := c.split(khat)
	clear(khat)
	scale := float32(1 / float64(c.n))
	k0 = k0[:min(len(k0), c.seqLen)]
	vek.Scale(re[:len(k0)], scale, k0)
	for j, v := range k1[:min(len(k1), c.seqLen-1)] {
		re[c.n-1-j] = v * scale
	}
	c.fft.forward(re, im, c.kernelHalf)
}

// leak is the greatest ratio of the norms of two rows that share a transform. Each row's rounding error is
// relative to the louder one, so the quieter row's relative error stays below about leak times a single row's.
const leak = 32

// together reports whether two rows may share a transform: both finite, and of like energy.
func together(a, b []float32) bool {
	x, y := float64(vek.SumSquares(a)), float64(vek.SumSquares(b))
	return x <= y*leak*leak && y <= x*leak*leak && !math.IsInf(x+y, 0)
}

// Pair convolves two rows of up to seqLen samples; y has the length of its row and may be it. A nil u1 (and
// y1) leaves a single row. Rows of very unequal energy, or where one is not finite, are transformed singly.
func (c *Conv) Pair(y0, y1, u0, u1, khat, scratch []float32) {
	c.checkRow("Pair", y0, u0)
	c.checkRow("Pair", y1, u1)
	if u1 != nil && !together(u0, u1) {
		c.pair(y0, nil, u0, nil, khat, scratch)
		c.pair(y1, nil, u1, nil, khat, scratch)
		return
	}
	c.pair(y0, y1, u0, u1, khat, scratch)
}

func (c *Conv) pair(y0, y1, u0, u1, khat, scratch []float32) {
	z := scratch[:2*c.n]
	c.load(z, u0, u1)
	re, im := c.split(z)
	kr, ki := c.split(khat)
	vek.CMul(re, im, re, im, kr, ki)
	c.store(y0, y1, z)
}

// PairGrad is Pair's transpose. du = ∂loss/∂u is written (du may be dy; nil du0 skips it), and the spectrum
// acc gains what KernelGrad turns into ∂loss/∂k.
func (c *Conv) PairGrad(du0, du1, acc, dy0, dy1, u0, u1, khat, scratch []float32) {
	c.checkRow("PairGrad", dy0, u0)
	c.checkRow("PairGrad", dy1, u1)
	if u1 != nil && !together(dy0, dy1) {
		c.pairGrad(du0, nil, acc, dy0, nil, u0, nil, khat, scratch)
		c.pairGrad(du1, nil, acc, dy1, nil, u1, nil, khat, scratch)
		return
	}
	c.pairGrad(du0, du1, acc, dy0, dy1, u0, u1, khat, scratch)
}

func (c *Conv) pairGrad(du0, du1, acc, dy0, dy1, u0, u1, khat, scratch []float32) {
	d, z := scratch[:2*c.n], scratch[2*c.n:4*c.n]
	c.load(d, dy0, dy1)
	c.load(z, u0, u1)
	dr, di := c.split(d)
	zr, zi := c.split(z)
	ar, ai := c.split(acc)
	vek.CMulConjAdd(ar, ai, zr, zi, dr, di)
	if du0 == nil {
		return
	}
	kr, ki := c.split(khat)
	vek.CMulConj(dr, di, dr, di, kr, ki)
	c.store(du0, du1, d)
}

// KernelGrad writes ∂loss/∂k0 (and ∂loss/∂k1) from the spectrum that PairGrad filled; acc is overwritten.
func (c *Conv) KernelGrad(dk0, dk1, acc, scratch []float32) {
	if len(dk0) > c.kernelLen || len(dk1) > c.kernelLen || (dk1 != nil) != c.bidirectional {
		panic("fftkernel: KernelGrad: lengths do not match the plan")
	}
	re, im := c.split(acc)
	c.fft.inverse(re, im, c.kernelHalf)
	scale := float32(1 / float64(c.n))
	k := min(len(dk0), c.seqLen)
	vek.Scale(dk0[:k], scale, re[:k])
	clear(dk0[k:])
	for j := range dk1 {
		dk1[j] = 0
		if j < c.seqLen-1 {
			dk1[j] = re[c.n-1-j] * scale
		}
	}
}

// load transforms two rows, one in the real and one in the imaginary part.
func (c *Conv) load(z, u0, u1 []float32) {
	re, im := c.split(z)
	end := c.n
	if c.rowHalf {
		end /= 2
	}
	clear(re[copy(re, u0):end])
	clear(im[copy(im, u1):end])
	c.fft.forward(re, im, c.rowHalf)
}

// store transforms back and cuts the rows out.
func (c *Conv) store(y0, y1, z []float32) {
	re, im := c.split(z)
	c.fft.inverse(re, im, c.rowHalf)
	copy(y0, re)
	copy(y1, im)
}

func (c *Conv) checkRow(name string, y, u []float32) {
	if len(u) > c.seqLen || y != nil && len(y) != len(u) {
		panic(fmt.Sprintf("fftkernel: %s: rows of %d and %d samples in a plan of %d", name, len(y), len(u), c.seqLen))
	}
}
