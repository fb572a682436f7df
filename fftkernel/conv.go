package fftkernel

import (
	"fmt"
	"slices"

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

// ScratchLen returns the number of floats of scratch that Convolve and ConvolveGrad need.
func (c *Conv) ScratchLen() int { return 4 * c.n }

func (c *Conv) split(z []float32) (re, im []float32) { return z[:c.n:c.n], z[c.n : 2*c.n : 2*c.n] }

func (c *Conv) product(khat []float32, how vek.Factor) product {
	re, im := c.split(khat)
	return product{re, im, how}
}

// begin and end are those of the transform, in place. half says that only the lower half of the
// input, or of the output, is used.
func (c *Conv) begin(re, im []float32, half bool) {
	if half {
		c.fft.begin(re, im, re[:c.n/2], im[:c.n/2])
	} else {
		c.fft.begin(re, im, nil, nil)
	}
}

func (c *Conv) end(re, im []float32, half bool) {
	if half {
		c.fft.end(re[:c.n/2], im[:c.n/2], re, im)
	} else {
		c.fft.end(nil, nil, re, im)
	}
}

// Spectrum writes the spectrum of the kernel k0 (and of k1, which reads the future, if the plan is
// bidirectional; else nil) to khat, multiplied by 1/n. Kernels shorter than kernelLen are allowed.
func (c *Conv) Spectrum(khat, k0, k1 []float32) {
	c.checkKernel("Spectrum", k0, k1)
	checkLength("Spectrum", "the spectrum", len(khat), c.SpectrumLen())
	re, im := c.split(khat)
	end := c.n
	if c.kernelHalf {
		end /= 2
	}
	scale := float32(1 / float64(c.n))
	k0 = k0[:min(len(k0), c.seqLen)]
	vek.Scale(re[:len(k0)], scale, k0)
	clear(re[len(k0):end])
	clear(im[:end])
	for j, v := range k1[:min(len(k1), c.seqLen-1)] {
		re[c.n-1-j] = v * scale
	}
	c.begin(re, im, c.kernelHalf)
	for b := range c.fft.blocks {
		c.fft.forwardBlock(re, im, b, c.fft.done(c.kernelHalf))
	}
}

// leak is the largest ratio of the norms of two rows that share a transform. Both rows' rounding
// errors are relative to the louder row, so sharing increases a row's relative error by at most
// this factor.
const leak = 32

// mayShare reports whether two rows may share a transform: both are finite, have similar energy,
// and are far enough from the ends of float32's range that energies can be compared.
func mayShare(a, b []float32) bool {
	const least, most = 0x1p-110, 0x1p120
	x, y := float64(vek.Dot(a, a)), float64(vek.Dot(b, b))
	return min(x, y) >= least && max(x, y) <= most && max(x, y) <= leak*leak*min(x, y)
}

// isZero reports whether a row is all zeros.
func isZero(u []float32) bool {
	return !slices.ContainsFunc(u, func(v float32) bool { return v != 0 })
}

// Rows are two rows that share a transform. The second one is nil if there is only one row.
type Rows [2][]float32

// Convolve convolves rows u of up to seqLen samples. The rows of y have the lengths of those of u
// and may be the same memory.
//
// Rows whose norms differ by more than a factor of 32, or of which one is not finite, are
// transformed separately. A row that is not finite therefore leaves its partner's bits unchanged. A
// finite partner changes a row's result only by rounding errors, whose norm is at most 32 times
// that of the row alone. A row of zeros gives zeros at no cost.
func (c *Conv) Convolve(y, u Rows, khat, scratch []float32) {
	for i := range u {
		c.checkRow("Convolve", y[i], u[i])
	}
	c.checkWork("Convolve", khat, scratch)
	if u[1] != nil && mayShare(u[0], u[1]) {
		c.convolve(y, u, khat, scratch)
		return
	}
	for i, row := range u {
		switch {
		case row == nil:
		case isZero(row):
			clear(y[i])
		default:
			c.convolve(Rows{y[i]}, Rows{row}, khat, scratch)
		}
	}
}

func (c *Conv) convolve(y, u Rows, khat, scratch []float32) {
	re, im := c.split(scratch)
	k, done := c.product(khat, vek.AsIs), c.fft.done(c.rowHalf)
	c.load(re, im, u)
	for b := range c.fft.blocks {
		c.fft.forwardBlock(re, im, b, done)
		c.fft.inverseBlock(re, im, b, done, k)
	}
	c.store(y, re, im)
}

// ConvolveGrad is the backward pass of Convolve, from dy = ∂loss/∂y of the same rows. It writes du
// = ∂loss/∂u (du may be dy; a nil row is skipped) and adds to the spectrum acc, from which
// KernelGrad computes ∂loss/∂k. What Convolve says about unequal rows holds for dy and du.
func (c *Conv) ConvolveGrad(du, dy, u Rows, acc, khat, scratch []float32) {
	for i := range u {
		c.checkRow("ConvolveGrad", dy[i], u[i])
		if du[i] != nil {
			c.checkRow("ConvolveGrad", du[i], u[i])
		}
	}
	c.checkWork("ConvolveGrad", khat, scratch)
	c.checkWork("ConvolveGrad", acc, scratch)
	if u[1] != nil && mayShare(dy[0], dy[1]) {
		c.convolveGrad(du, dy, u, acc, khat, scratch)
		return
	}
	for i, row := range u {
		switch {
		case row == nil:
		case isZero(dy[i]):
			clear(du[i])
		default:
			c.convolveGrad(Rows{du[i]}, Rows{dy[i]}, Rows{row}, acc, khat, scratch)
		}
	}
}

func (c *Conv) convolveGrad(du, dy, u Rows, acc, khat, scratch []float32) {
	dr, di := c.split(scratch)
	zr, zi := c.split(scratch[2*c.n:])
	ar, ai := c.split(acc)
	k, done := c.product(khat, vek.Conjugated), c.fft.done(c.rowHalf)
	wanted := du[0] != nil || du[1] != nil
	c.load(dr, di, dy)
	c.load(zr, zi, u)
	for b := range c.fft.blocks {
		c.fft.forwardBlock(dr, di, b, done)
		c.fft.forwardBlock(zr, zi, b, done)
		// conj(Û)·D̂ = (conj Û_0 − i·conj Û_1)(D̂_0 + i·D̂_1): the real part of its inverse transform
		// has the sum of both rows' products.
		at, end := b*c.fft.block, (b+1)*c.fft.block
		vek.CMulConjAdd(ar[at:end], ai[at:end], zr[at:end], zi[at:end], dr[at:end], di[at:end])
		if wanted {
			c.fft.inverseBlock(dr, di, b, done, k)
		}
	}
	if wanted {
		c.store(du, dr, di)
	}
}

// KernelGrad writes ∂loss/∂k0 (and ∂loss/∂k1) from the spectrum acc that ConvolveGrad filled. It
// overwrites acc.
func (c *Conv) KernelGrad(dk0, dk1, acc []float32) {
	c.checkKernel("KernelGrad", dk0, dk1)
	checkLength("KernelGrad", "the spectrum", len(acc), c.SpectrumLen())
	re, im := c.split(acc)
	for b := range c.fft.blocks {
		c.fft.inverseBlock(re, im, b, c.fft.done(c.kernelHalf), product{})
	}
	c.end(re, im, c.kernelHalf)
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

// load begins the transform of two rows, as real and imaginary part. Rows that fill the lower half
// are not copied.
func (c *Conv) load(re, im []float32, u Rows) {
	if c.fills(u) {
		c.fft.begin(re, im, u[0], u[1])
		return
	}
	end := c.n
	if c.rowHalf {
		end /= 2
	}
	clear(re[copy(re, u[0]):end])
	clear(im[copy(im, u[1]):end])
	c.begin(re, im, c.rowHalf)
}

// store ends the inverse transform and copies the rows out.
func (c *Conv) store(y Rows, re, im []float32) {
	if c.fills(y) {
		c.fft.end(y[0], y[1], re, im)
		return
	}
	c.end(re, im, c.rowHalf)
	copy(y[0], re)
	copy(y[1], im)
}

// fills reports whether both rows fill the lower half of a transform whose upper half is zero.
func (c *Conv) fills(rows Rows) bool {
	return c.rowHalf && 2*len(rows[0]) == c.n && len(rows[1]) == len(rows[0])
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

func (c *Conv) checkWork(name string, spectrum, scratch []float32) {
	checkLength(name, "the spectrum", len(spectrum), c.SpectrumLen())
	checkScratch(name, len(scratch), c.ScratchLen())
}
