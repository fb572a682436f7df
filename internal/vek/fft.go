package vek

// FFTLanes is the number of interleaved transforms that the passes compute in parallel.
//
// The data of a transform of length n = 16·m are m vectors of 16 lanes: element 16j+r is lane r of
// vector j. The passes transform each lane over j, with the same twiddles for all lanes. A last
// stage multiplies by w_n^{rk} and transforms over the lanes (docs/maths.md §9.1):
//
//	X[k + m·p] = Σ_r w_16^{rp} · w_n^{rk} · Σ_j w_m^{jk} x[16j+r],   w_N = exp(−2πi/N).
//
// Forward passes decimate in frequency. Inverse passes decimate in time and undo them from the
// last to the first, so nothing is reordered. An inverse returns n times the input. All passes
// work in place on split data.
const FFTLanes = 16

// lanes is one vector.
type lanes = [FFTLanes]float32

// vector returns vector i of x.
func vector(x []float32, i int) *lanes { return (*lanes)(x[i*FFTLanes:]) }

// ForwardPart runs count butterflies of a block, from number from on. If xRe is not nil, the pass
// has radix 4 or 8, and the upper half of the block is zero. Then x is the lower half; it may be
// the lower half of re and im.
func (p *FFTPass) ForwardPart(re, im, xRe, xIm []float32, from, count int) {
	tw, at, end, half := p.part(from, count)
	re, im = re[at:end], im[at:end]
	if xRe != nil {
		fftForwardHalf(re, im, xRe[at:half], xIm[at:half], tw, p.radix, p.q, count)
		return
	}
	part := [1]FFTPass{{p.radix, p.q, count, tw, p.turn}}
	fftForward(re, im, part[:], 0, nil)
}

// InversePart undoes ForwardPart. If xRe is not nil, it writes only the lower half of the result,
// to x, and overwrites re and im.
func (p *FFTPass) InversePart(xRe, xIm, re, im []float32, from, count int) {
	tw, at, end, half := p.part(from, count)
	re, im = re[at:end], im[at:end]
	if xRe != nil {
		fftInverseHalf(xRe[at:half], xIm[at:half], re, im, tw, p.radix, p.q, count)
		return
	}
	part := [1]FFTPass{{p.radix, p.q, count, tw, p.turn}}
	fftInverse(re, im, nil, nil, 0, part[:], 0, nil)
}

// part returns the twiddles of count butterflies, from number from on. The data of the butterflies
// are [at:end] of a block, and [at:half] of its lower half.
func (p *FFTPass) part(from, count int) (tw []float32, at, end, half int) {
	require("FFTPass", from >= 0 && count >= 0 && from+count <= p.count && p.radix*count*FFTLanes <= longestRun)
	at, end = from*FFTLanes, (from+count)*FFTLanes
	return p.tw[2*(p.radix-1)*from:], at, end + (p.radix-1)*p.q*FFTLanes, end + (p.radix/2-1)*p.q*FFTLanes
}

// y_k = w^{jk} Σ_m x_m w_r^{mk} for m < r/2: the pass of a radix r of which x is the lower half
func fftForwardHalfGeneric(re, im, xRe, xIm, tw []float32, radix, q, count int) {
	copyHalf(re, im, xRe, xIm, radix, q, count)
	for k := radix / 2; k < radix; k++ {
		at := k * q * FFTLanes
		clear(re[at : at+count*FFTLanes])
		clear(im[at : at+count*FFTLanes])
	}
	fftForwardGeneric(re, im, []FFTPass{{radix: radix, q: q, count: count, tw: tw}}, 0, nil)
}

// x_m = Σ_k conj(w^{jk}) y_k w_r^{−mk} for m < r/2
func fftInverseHalfGeneric(xRe, xIm, re, im, tw []float32, radix, q, count int) {
	fftInverseGeneric(re, im, nil, nil, 0, []FFTPass{{radix: radix, q: q, count: count, tw: tw}}, 0, nil)
	copyHalf(xRe, xIm, re, im, radix, q, count)
}

// copyHalf copies the lower half of the vectors of butterflies.
func copyHalf(yRe, yIm, xRe, xIm []float32, radix, q, count int) {
	for k := range radix / 2 {
		at := k * q * FFTLanes
		copy(yRe[at:at+count*FFTLanes], xRe[at:])
		copy(yIm[at:at+count*FFTLanes], xIm[at:])
	}
}

// rotate returns x·w.
func rotate(xr, xi, wr, wi float32) (float32, float32) {
	return float32(xr*wr) - float32(xi*wi), float32(xr*wi) + float32(xi*wr)
}

// rotateBack returns x·conj(w).
func rotateBack(xr, xi, wr, wi float32) (float32, float32) {
	return float32(xr*wr) + float32(xi*wi), float32(xi*wr) - float32(xr*wi)
}
