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

// fftRun cuts a pass over n floats. A call processes whole blocks of run floats, or count of one
// block's q butterflies.
func fftRun(radix, n, q int) (run, count int) {
	block := radix * q * FFTLanes
	if block > longestRun {
		return block, max(1, longestRun/FFTLanes/radix)
	}
	return min(n, longestRun/block*block), q
}

// FFTForwardHalf runs a forward pass of radix 4 or 8 over a single block whose lower half is x and
// whose upper half is zero. x may be the lower half of re and im.
func FFTForwardHalf(p FFTPass, re, im, xRe, xIm []float32) {
	checkFFTHalf("FFTForwardHalf", p, re, im, xRe, xIm)
	_, count := fftRun(p.radix, len(re), p.q)
	for from := 0; from < p.q; from += count {
		if count := min(count, p.q-from); p.radix == 4 {
			fftForward4Half(re, im, xRe, xIm, p.tw, p.q, from, count)
		} else {
			fftForward8Half(re, im, xRe, xIm, p.tw, p.q, from, count)
		}
	}
}

// FFTInverseHalf undoes a pass of radix 4 or 8 over a single block. It writes only the lower half
// of the result, to y. y may be the lower half of re and im, which are overwritten.
func FFTInverseHalf(p FFTPass, yRe, yIm, re, im []float32) {
	checkFFTHalf("FFTInverseHalf", p, re, im, yRe, yIm)
	_, count := fftRun(p.radix, len(re), p.q)
	for from := 0; from < p.q; from += count {
		if count := min(count, p.q-from); p.radix == 4 {
			fftInverse4Half(yRe, yIm, re, im, p.tw, p.q, from, count)
		} else {
			fftInverse8Half(yRe, yIm, re, im, p.tw, p.q, from, count)
		}
	}
}

func checkFFTHalf(name string, p FFTPass, re, im, xRe, xIm []float32) {
	n := p.radix * p.q * FFTLanes
	require(name, (p.radix == 4 || p.radix == 8) && len(re) == n && len(im) == n && len(xRe) == n/2 && len(xIm) == n/2)
}

// y_k = w^{jk} (x_0 + (−i)^k x_1), j from from on: fftForward4 with x_2 = x_3 = 0
func fftForward4HalfGeneric(re, im, xRe, xIm, tw []float32, q, from, count int) {
	setHalf(re, im, xRe, xIm, 4, q, from, count)
	fftForward4(re[from*FFTLanes:], im[from*FFTLanes:], tw[6*from:], q, count)
}

// y_k = w^{jk} Σ_{m<4} x_m w_8^{mk}: fftForward8 with x_4 … x_7 = 0
func fftForward8HalfGeneric(re, im, xRe, xIm, tw []float32, q, from, count int) {
	setHalf(re, im, xRe, xIm, 8, q, from, count)
	fftForward8(re[from*FFTLanes:], im[from*FFTLanes:], tw[14*from:], q, count)
}

// y_m = Σ_k conj(w^{jk}) x_k i^{mk} for m < 2: fftInverse4 of which y is the lower half
func fftInverse4HalfGeneric(yRe, yIm, re, im, tw []float32, q, from, count int) {
	fftInverse4(re[from*FFTLanes:], im[from*FFTLanes:], tw[6*from:], q, count)
	copyHalf(yRe, yIm, re, im, 4, q, from, count)
}

// y_m = Σ_k conj(w^{jk}) x_k w_8^{−mk} for m < 4: fftInverse8 of which y is the lower half
func fftInverse8HalfGeneric(yRe, yIm, re, im, tw []float32, q, from, count int) {
	fftInverse8(re[from*FFTLanes:], im[from*FFTLanes:], tw[14*from:], q, count)
	copyHalf(yRe, yIm, re, im, 8, q, from, count)
}

// setHalf sets the inputs of butterflies: the lower half is x, the upper half is zero.
func setHalf(re, im, xRe, xIm []float32, radix, q, from, count int) {
	copyHalf(re, im, xRe, xIm, radix, q, from, count)
	for k := radix / 2; k < radix; k++ {
		at := (k*q + from) * FFTLanes
		clear(re[at : at+count*FFTLanes])
		clear(im[at : at+count*FFTLanes])
	}
}

// copyHalf copies the lower half of the vectors of butterflies.
func copyHalf(yRe, yIm, xRe, xIm []float32, radix, q, from, count int) {
	for k := range radix / 2 {
		at := (k*q + from) * FFTLanes
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
