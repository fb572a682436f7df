package vek

// The pass of radix 2 with q = 1: y_0 = x_0 + x_1, y_1 = x_0 − x_1. It is its own inverse up to the
// factor 2.
func fft2(re, im []float32) {
	for at := 0; at < len(re)/FFTLanes; at += 2 {
		ar, br, ai, bi := vector(re, at), vector(re, at+1), vector(im, at), vector(im, at+1)
		for l := range ar {
			ar[l], br[l] = ar[l]+br[l], ar[l]-br[l]
			ai[l], bi[l] = ai[l]+bi[l], ai[l]-bi[l]
		}
	}
}

// The pass of radix 4 with q = 1: y_k = Σ_m x_m (−i)^{mk}. With the parts exchanged, it is the
// inverse.
func fft4(re, im []float32) {
	for at := 0; at < len(re)/FFTLanes; at += 4 {
		ar, br, cr, dr := quarters(re, at, 1)
		ai, bi, ci, di := quarters(im, at, 1)
		for l := range ar {
			s0r, s0i := ar[l]+cr[l], ai[l]+ci[l]
			s1r, s1i := ar[l]-cr[l], ai[l]-ci[l]
			s2r, s2i := br[l]+dr[l], bi[l]+di[l]
			s3r, s3i := br[l]-dr[l], bi[l]-di[l]
			ar[l], ai[l] = s0r+s2r, s0i+s2i
			br[l], bi[l] = s1r+s3i, s1i-s3r
			cr[l], ci[l] = s0r-s2r, s0i-s2i
			dr[l], di[l] = s1r-s3i, s1i+s3r
		}
	}
}

// fftInverseLanes, then the inverse pass of radix 2 with q = 1
func fftInverseLanes2Generic(re, im, tw []float32) {
	fftInverseLanesGeneric(re, im, tw)
	fft2(re, im)
}

// fftInverseLanes, then the inverse pass of radix 4 with q = 1
func fftInverseLanes4Generic(re, im, tw []float32) {
	fftInverseLanesGeneric(re, im, tw)
	fft4(im, re)
}

// fftInverseLanes2 of X·K, K = kRe + i·kIm
func fftInverseLanesMul2Generic(re, im, kRe, kIm, tw []float32) {
	fftInverseLanesMulGeneric(re, im, kRe, kIm, tw)
	fft2(re, im)
}

// fftInverseLanes4 of X·K, K = kRe + i·kIm
func fftInverseLanesMul4Generic(re, im, kRe, kIm, tw []float32) {
	fftInverseLanesMulGeneric(re, im, kRe, kIm, tw)
	fft4(im, re)
}

// fftInverseLanes2 of X·conj(K), K = kRe + i·kIm
func fftInverseLanesMulConj2Generic(re, im, kRe, kIm, tw []float32) {
	fftInverseLanesMulConjGeneric(re, im, kRe, kIm, tw)
	fft2(re, im)
}

// fftInverseLanes4 of X·conj(K), K = kRe + i·kIm
func fftInverseLanesMulConj4Generic(re, im, kRe, kIm, tw []float32) {
	fftInverseLanesMulConjGeneric(re, im, kRe, kIm, tw)
	fft4(im, re)
}
