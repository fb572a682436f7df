package fftkernel

import "github.com/s4d-fast/s4d-fast/internal/vek"

// product is a spectrum by which, or by whose conjugate, the input of an inverse transform is
// multiplied. The zero value multiplies by nothing.
type product struct {
	re, im []float32
	how    vek.Factor
}

// first returns the first pass, or nil. A plan with a single block runs it separately if it is a
// half pass.
func (f *FFT) first() *vek.FFTPass {
	switch {
	case len(f.passes) > 0:
		return &f.passes[0]
	case f.roots == nil:
		return &f.blocks[0][0]
	}
	return nil
}

// halves reports whether the first pass can skip an upper half that is zero, and its inverse one
// that is not needed.
func (f *FFT) halves() bool { return f.first() != nil && f.first().Radix()%4 == 0 }

// done returns how many passes of a block are separate.
func (f *FFT) done(half bool) int {
	if half && len(f.passes) == 0 {
		return 1
	}
	return 0
}

// begin runs the passes over more than a block. If x is given, it is the lower half of the data,
// and the upper half is zero. x may be the lower half of re and im.
func (f *FFT) begin(re, im, xRe, xIm []float32) {
	if len(f.passes) > 0 {
		f.forwardPasses(0, re, im, xRe, xIm)
	} else if xRe != nil {
		f.first().ForwardPart(re, im, xRe, xIm, 0, f.first().Q())
	}
}

// end undoes begin. If x is given, only the lower half of the result is computed, into x, and re
// and im are overwritten.
func (f *FFT) end(xRe, xIm, re, im []float32) {
	if len(f.passes) > 0 {
		f.inversePasses(0, xRe, xIm, re, im)
	} else if xRe != nil {
		f.first().InversePart(xRe, xIm, re, im, 0, f.first().Q())
	}
}

// atOnce is the number of butterflies in one call, which does not take long.
const atOnce = 256

// forwardPasses runs the passes from index i on.
func (f *FFT) forwardPasses(i int, re, im, xRe, xIm []float32) {
	if i == len(f.passes) {
		return
	}
	p := &f.passes[i]
	n := p.Radix() * p.Q() * vek.FFTLanes
	for ; len(re) > 0; re, im = re[n:], im[n:] {
		for j := 0; j < p.Q(); j += atOnce {
			p.ForwardPart(re, im, xRe, xIm, j, min(atOnce, p.Q()-j))
		}
		f.forwardPasses(i+1, re[:n], im[:n], nil, nil)
	}
}

// inversePasses undoes forwardPasses.
func (f *FFT) inversePasses(i int, xRe, xIm, re, im []float32) {
	if i == len(f.passes) {
		return
	}
	p := &f.passes[i]
	n := p.Radix() * p.Q() * vek.FFTLanes
	for ; len(re) > 0; re, im = re[n:], im[n:] {
		f.inversePasses(i+1, nil, nil, re[:n], im[:n])
		for j := 0; j < p.Q(); j += atOnce {
			p.InversePart(xRe, xIm, re, im, j, min(atOnce, p.Q()-j))
		}
	}
}

// forwardBlock finishes block b, without the passes that are done.
func (f *FFT) forwardBlock(re, im []float32, b, done int) {
	at, end := b*f.block, (b+1)*f.block
	vek.FFTForward(re[at:end], im[at:end], f.blocks[b][done:], f.last, f.lanes)
}

// inverseBlock undoes forwardBlock, after the product.
func (f *FFT) inverseBlock(re, im []float32, b, done int, k product) {
	at, end := b*f.block, (b+1)*f.block
	if k.re != nil {
		k.re, k.im = k.re[at:end], k.im[at:end]
	}
	vek.FFTInverse(re[at:end], im[at:end], k.re, k.im, k.how, f.blocks[b][done:], f.last, f.lanes)
}
