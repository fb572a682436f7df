package fftkernel

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Conv is a plan for convolving rows with a kernel:
//
//	y[l] = Σ_{j<kernelLen} k0[j]·x[l−j]  (+ Σ_j k1[j]·x[l+1+j] when bidirectional),  0 ≤ l < seqLen,
//
// where x is zero outside the row. Two rows share one complex transform (docs/maths.md §1.5, §9.2).
type Conv struct {
	fft               *FFT
	n                 int
	seqLen, kernelLen int
	bidirectional     bool
	rowHalf           bool // a row fits in the lower half of the transform
	kernelHalf        bool // so does a causal kernel
}

// NewConv plans rows of up to seqLen samples and kernels of kernelLen taps, both at least 1. It
// panics if S4D_LEVEL names a level that is not available.
func NewConv(seqLen, kernelLen int, bidirectional bool) *Conv {
	if seqLen < 1 || kernelLen < 1 {
		panic(fmt.Sprintf("fftkernel: NewConv(%d, %d): lengths must be at least 1", seqLen, kernelLen))
	}
	// Taps past the row's length have no effect. The transform must be long enough that what wraps
	// around meets zeros: k0 reaches taps−1 samples past the row's end, and k1, stored backwards
	// from the transform's end, reaches future samples before the row's start.
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
		kernelHalf: half && !bidirectional, // taps ≤ seqLen and seqLen + taps ≤ n + 1
	}
}

// SpectrumLen returns the number of floats of a kernel's spectrum.
func (c *Conv) SpectrumLen() int { return 2 * c.n }

// ScratchLen returns the number of floats of scratch that Pair and PairGrad need.
func (c *Conv) ScratchLen() int { return 4 * c.n }

func (c *Conv) split(z []float32) (re, im []float32) { return z[:c.n:c.n], z[c.n : 2*c.n : 2*c.n] }

// Spectrum writes the spectrum of the kernel k0 (and of k1, which reads the future, if the plan is
// bidirectional; else nil) to khat, multiplied by 1/n. Kernels shorter than kernelLen are allowed.
func (c *Conv) Spectrum(khat, k0, k1 []float32) {
	c.checkKernel("Spectrum", k0, k1)
	c.checkSpectrum("Spectrum", khat)
	re, im := c.split(khat)
	clear(khat)
	scale := float32(1 / float64(c.n))
	k0 = k0[:min(len(k0), c.seqLen)]
	vek.Scale(re[:len(k0)], scale, k0)
	for j, v := range k1[:min(len(k1), c.seqLen-1)] {
		re[c.n-1-j] = v * scale
	}
	c.forward(re, im, c.kernelHalf)
}

// leak is the largest ratio of the norms of two rows that share a transform. Both rows' rounding
// errors are relative to the louder row, so sharing increases a row's relative error by at most
// this factor.
const leak = 32

// mayShare reports whether two rows may share a transform: both are finite, have similar energy,
// and are far enough from the ends of float32's range that energies can be compared.
func mayShare(a, b []float32) bool {
	const least, most = 0x1p-110, 0x1p120
	x, y := float64(vek.SumSquares(a)), float64(vek.SumSquares(b))
	return min(x, y) >= least && max(x, y) <= most && max(x, y) <= leak*leak*min(x, y)
}

// isZero reports whether a row is all zeros.
func isZero(u []float32) bool {
	for _, v := range u {
		if v != 0 {
			return false
		}
	}
	return true
}

// Pair convolves two rows of up to seqLen samples. y0 and y1 have the lengths of u0 and u1 and may
// be the same memory. For a single row, u1 and y1 are nil.
//
// Rows whose norms differ by more than a factor of 32, or of which one is not finite, are
// transformed separately. A row that is not finite therefore leaves its partner's bits unchanged. A
// finite partner changes a row's result only by rounding errors, whose norm is at most 32 times
// that of the row alone. A row of zeros gives zeros at no cost.
func (c *Conv) Pair(y0, y1, u0, u1, khat, scratch []float32) {
	c.checkRow("Pair", y0, u0)
	c.checkRow("Pair", y1, u1)
	c.checkWork("Pair", khat, scratch)
	if u1 != nil && mayShare(u0, u1) {
		c.pair(y0, y1, u0, u1, khat, scratch)
		return
	}
	c.single(y0, u0, khat, scratch)
	if u1 != nil {
		c.single(y1, u1, khat, scratch)
	}
}

func (c *Conv) single(y, u, khat, scratch []float32) {
	if isZero(u) {
		clear(y)
		return
	}
	c.pair(y, nil, u, nil, khat, scratch)
}

func (c *Conv) pair(y0, y1, u0, u1, khat, scratch []float32) {
	z := scratch[:2*c.n]
	c.load(z, u0, u1)
	c.store(y0, y1, z, c.product(khat, false))
}

func (c *Conv) product(khat []float32, conj bool) product {
	kr, ki := c.split(khat)
	return product{kr, ki, conj}
}

// PairGrad is the backward pass of Pair, from dy = ∂loss/∂y of the same rows. It writes du =
// ∂loss/∂u (du may be dy; a nil du is skipped) and adds to the spectrum acc, from which KernelGrad
// computes ∂loss/∂k. What Pair says about unequal rows holds for dy and du.
func (c *Conv) PairGrad(du0, du1, acc, dy0, dy1, u0, u1, khat, scratch []float32) {
	c.checkRow("PairGrad", dy0, u0)
	c.checkRow("PairGrad", dy1, u1)
	if du0 != nil {
		c.checkRow("PairGrad", du0, u0)
	}
	if du1 != nil {
		c.checkRow("PairGrad", du1, u1)
	}
	c.checkWork("PairGrad", khat, scratch)
	c.checkWork("PairGrad", acc, scratch)
	if u1 != nil && mayShare(dy0, dy1) {
		c.pairGrad(du0, du1, acc, dy0, dy1, u0, u1, khat, scratch)
		return
	}
	c.singleGrad(du0, acc, dy0, u0, khat, scratch)
	if u1 != nil {
		c.singleGrad(du1, acc, dy1, u1, khat, scratch)
	}
}

func (c *Conv) singleGrad(du, acc, dy, u, khat, scratch []float32) {
	if isZero(dy) {
		clear(du)
		return
	}
	c.pairGrad(du, nil, acc, dy, nil, u, nil, khat, scratch)
}

func (c *Conv) pairGrad(du0, du1, acc, dy0, dy1, u0, u1, khat, scratch []float32) {
	d, z := scratch[:2*c.n], scratch[2*c.n:4*c.n]
	c.load(d, dy0, dy1)
	c.load(z, u0, u1)
	dr, di := c.split(d)
	zr, zi := c.split(z)
	ar, ai := c.split(acc)
	// conj(Û)·D̂ = (conj Û_0 − i·conj Û_1)(D̂_0 + i·D̂_1): the real part of its inverse transform has
	// the sum of both rows' products.
	vek.CMulConjAdd(ar, ai, zr, zi, dr, di)
	if du0 == nil && du1 == nil {
		return
	}
	c.store(du0, du1, d, c.product(khat, true))
}

// KernelGrad writes ∂loss/∂k0 (and ∂loss/∂k1) from the spectrum acc that PairGrad filled. It
// overwrites acc.
func (c *Conv) KernelGrad(dk0, dk1, acc []float32) {
	c.checkKernel("KernelGrad", dk0, dk1)
	c.checkSpectrum("KernelGrad", acc)
	re, im := c.split(acc)
	c.inverse(re, im, c.kernelHalf, product{})
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

// forward transforms in place. half means that the upper half is zero.
func (c *Conv) forward(re, im []float32, half bool) {
	if half {
		c.fft.forward(re, im, re[:c.n/2], im[:c.n/2])
		return
	}
	c.fft.forward(re, im, nil, nil)
}

// inverse transforms back in place. half means that only the lower half is needed.
func (c *Conv) inverse(re, im []float32, half bool, k product) {
	if half {
		c.fft.inverse(re[:c.n/2], im[:c.n/2], re, im, k)
		return
	}
	c.fft.inverse(nil, nil, re, im, k)
}

// load transforms two rows, as real and imaginary part. Rows that fill the lower half are not
// copied.
func (c *Conv) load(z, u0, u1 []float32) {
	re, im := c.split(z)
	if c.rowHalf && 2*len(u0) == c.n && len(u1) == len(u0) {
		c.fft.forward(re, im, u0, u1)
		return
	}
	end := c.n
	if c.rowHalf {
		end /= 2
	}
	clear(re[copy(re, u0):end])
	clear(im[copy(im, u1):end])
	c.forward(re, im, c.rowHalf)
}

// store transforms back, after the product, and copies the rows out.
func (c *Conv) store(y0, y1, z []float32, k product) {
	re, im := c.split(z)
	if c.rowHalf && 2*len(y0) == c.n && len(y1) == len(y0) {
		c.fft.inverse(y0, y1, re, im, k)
		return
	}
	c.inverse(re, im, c.rowHalf, k)
	copy(y0, re)
	copy(y1, im)
}

// checkRow panics unless y and u have the same length, at most the plan's. Both may be nil.
func (c *Conv) checkRow(name string, y, u []float32) {
	if len(u) > c.seqLen || len(y) != len(u) {
		panic(fmt.Sprintf("fftkernel: %s: rows of %d and %d samples in a plan of %d", name, len(y), len(u), c.seqLen))
	}
}

func (c *Conv) checkKernel(name string, k0, k1 []float32) {
	if len(k0) > c.kernelLen || len(k1) > c.kernelLen || (k1 != nil) != c.bidirectional {
		panic(fmt.Sprintf("fftkernel: %s: kernels of %d and %d taps in a plan of %d, bidirectional %t",
			name, len(k0), len(k1), c.kernelLen, c.bidirectional))
	}
}

func (c *Conv) checkSpectrum(name string, spectrum []float32) {
	if len(spectrum) != c.SpectrumLen() {
		panic(fmt.Sprintf("fftkernel: %s: a spectrum of %d floats, expected %d", name, len(spectrum), c.SpectrumLen()))
	}
}

func (c *Conv) checkWork(name string, spectrum, scratch []float32) {
	c.checkSpectrum(name, spectrum)
	checkScratch(name, len(scratch), c.ScratchLen())
}
