package vek

// FFT passes work in place on split complex data, one stage of a mixed-radix transform over every block of
// radix·q elements. Forward passes decimate in frequency: an r-point transform over the elements q apart,
// then a product with the twiddles w^{jk}, w = exp(−2πi/(r·q)). Inverse passes decimate in time and undo
// them: the product with the conjugate twiddles first. Run in opposite order they need no reordering; a full
// inverse returns n times the input.
//
// tw holds (radix−1) rows of q complex twiddles, row k−1 for output k: all real parts of a row, then all
// imaginary ones. Where q = 1 they are all 1 and tw is not read.

// FFTForward runs one forward pass of radix 2, 3, 4 or 5.
func FFTForward(radix int, re, im, tw []float32, q int) {
	checkFFT("FFTForward", radix, re, im, tw, q)
	switch radix {
	case 2:
		fftForward2Generic(re, im, tw, q)
	case 3:
		fftForward3Generic(re, im, tw, q)
	case 4:
		if q == 1 {
			fftForward4LastGeneric(re, im)
			return
		}
		fftForward4Generic(re, im, tw, q)
	case 5:
		fftForward5Generic(re, im, tw, q)
	}
}

// FFTInverse runs one inverse pass of radix 2, 3, 4 or 5.
func FFTInverse(radix int, re, im, tw []float32, q int) {
	checkFFT("FFTInverse", radix, re, im, tw, q)
	switch radix {
	case 2:
		fftInverse2Generic(re, im, tw, q)
	case 3:
		fftInverse3Generic(re, im, tw, q)
	case 4:
		if q == 1 {
			fftInverse4FirstGeneric(re, im)
			return
		}
		fftInverse4Generic(re, im, tw, q)
	case 5:
		fftInverse5Generic(re, im, tw, q)
	}
}

// FFTForwardHalf is FFTForward of radix 2 or 4 over one block whose upper half is zero (and is not read).
func FFTForwardHalf(radix int, re, im, tw []float32, q int) {
	checkFFT("FFTForwardHalf", radix, re, im, tw, q)
	if len(re) != radix*q || radix%2 != 0 {
		panic("vek: FFTForwardHalf: want one block of radix 2 or 4")
	}
	if radix == 2 {
		fftForward2HalfGeneric(re, im, tw, q)
		return
	}
	fftForward4HalfGeneric(re, im, tw, q)
}

// FFTInverseHalf is FFTInverse of radix 2 or 4 over one block; only the lower half of the result is written.
func FFTInverseHalf(radix int, re, im, tw []float32, q int) {
	checkFFT("FFTInverseHalf", radix, re, im, tw, q)
	if len(re) != radix*q || radix%2 != 0 {
		panic("vek: FFTInverseHalf: want one block of radix 2 or 4")
	}
	if radix == 2 {
		fftInverse2HalfGeneric(re, im, tw, q)
		return
	}
	fftInverse4HalfGeneric(re, im, tw, q)
}

func checkFFT(name string, radix int, re, im, tw []float32, q int) {
	switch {
	case radix < 2 || radix > 5:
		panic("vek: " + name + ": radix must be 2, 3, 4 or 5")
	case q < 1 || len(re) != len(im) || len(re)%(radix*q) != 0:
		panic("vek: " + name + ": data is no whole number of blocks")
	case q > 1 && len(tw) < 2*(radix-1)*q:
		panic("vek: " + name + ": twiddles too short")
	}
}

// twiddleRow returns row k (from 1) of a pass's twiddles.
func twiddleRow(tw []float32, k, q int) (re, im []float32) {
	row := tw[2*(k-1)*q : 2*k*q]
	return row[:q:q], row[q:]
}
