package vek

// FFTLanes is the number of interleaved transforms that the passes compute in parallel.
//
// The data of a transform of length n = 16·m are m vectors of 16 lanes: element 16j+r is lane r of
// vector j. The passes transform each lane over j, with the same twiddles for all lanes. A last
// stage multiplies by w_n^{rk} and transforms over the lanes (docs/maths.md §9.1):
//
//	X[k + m·p] = Σ_r w_16^{rp} · w_n^{rk} · Σ_j w_m^{jk} x[16j+r],   w_N = exp(−2πi/N).
//
// Forward passes decimate in frequency. Inverse passes decimate in time and undo them from the last
// to the first, so nothing is reordered. An inverse returns n times the input. All passes work in
// place on split data.
const FFTLanes = 16

// lanes is one vector.
type lanes = [FFTLanes]float32

// vector returns vector i of x.
func vector(x []float32, i int) *lanes { return (*lanes)(x[i*FFTLanes:]) }

// FFTInverse runs the pass that undoes FFTForward's (up to the factor radix): it multiplies by the
// conjugate twiddles and transforms with the opposite sign.
func FFTInverse(radix int, re, im, tw []float32, q int) {
	checkFFT("FFTInverse", radix, re, im, tw, q)
	if len(re) <= longestRun {
		fftInverse(radix, re, im, tw, q, 0, q)
		return
	}
	for len(re) > 0 {
		run, count := fftRun(radix, len(re), q)
		for from := 0; from < q; from += count {
			fftInverse(radix, re[:run], im[:run], tw, q, from, min(count, q-from))
		}
		re, im = re[run:], im[run:]
	}
}

func fftInverse(radix int, re, im, tw []float32, q, from, count int) {
	switch radix {
	case 3:
		fftInverse3(re, im, tw, q, from, count)
	case 4:
		fftInverse4(re, im, tw, q, from, count)
	case 5:
		fftInverse5(re, im, tw, q, from, count)
	case 8:
		fftInverse8(re, im, tw, q, from, count)
	}
}

// fftRun cuts a pass over n floats. A call processes whole blocks of run floats, or count of one
// block's q butterflies.
func fftRun(radix, n, q int) (run, count int) {
	block := radix * q * FFTLanes
	if block > longestRun {
		return block, max(1, longestRun/FFTLanes/radix)
	}
	return min(n, longestRun/block*block), q
}

// FFTForwardHalf is FFTForward of radix 4 or 8 over a single block whose lower half is x and whose
// upper half is zero. x may be the lower half of re and im.
func FFTForwardHalf(radix int, re, im, xRe, xIm, tw []float32, q int) {
	checkFFTHalf("FFTForwardHalf", radix, re, im, xRe, xIm, tw, q)
	_, count := fftRun(radix, len(re), q)
	for from := 0; from < q; from += count {
		if count := min(count, q-from); radix == 4 {
			fftForward4Half(re, im, xRe, xIm, tw, q, from, count)
		} else {
			fftForward8Half(re, im, xRe, xIm, tw, q, from, count)
		}
	}
}

// FFTInverseHalf is FFTInverse of radix 4 or 8 over a single block. It writes only the lower half
// of the result, to y. y may be the lower half of re and im, which are overwritten.
func FFTInverseHalf(radix int, yRe, yIm, re, im, tw []float32, q int) {
	checkFFTHalf("FFTInverseHalf", radix, re, im, yRe, yIm, tw, q)
	_, count := fftRun(radix, len(re), q)
	for from := 0; from < q; from += count {
		if count := min(count, q-from); radix == 4 {
			fftInverse4Half(yRe, yIm, re, im, tw, q, from, count)
		} else {
			fftInverse8Half(yRe, yIm, re, im, tw, q, from, count)
		}
	}
}

func checkFFT(name string, radix int, re, im, tw []float32, q int) {
	switch {
	case radix < 3 || radix > 8 || radix == 6 || radix == 7:
		panic("vek: " + name + ": radix must be 3, 4, 5 or 8")
	case q < 1:
		panic("vek: " + name + ": q must be at least 1")
	case len(re) != len(im) || len(re) != radix*q*FFTLanes && len(re)%(radix*q*FFTLanes) != 0:
		panic("vek: " + name + ": data is not a whole number of blocks")
	case len(tw) < 2*(radix-1)*q:
		panic("vek: " + name + ": twiddles too short")
	}
}

func checkFFTHalf(name string, radix int, re, im, xRe, xIm, tw []float32, q int) {
	checkFFT(name, radix, re, im, tw, q)
	if radix != 4 && radix != 8 || len(re) != radix*q*FFTLanes || len(xRe) != len(re)/2 || len(xIm) != len(re)/2 {
		panic("vek: " + name + ": expected a single block of radix 4 or 8, and half of it")
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
