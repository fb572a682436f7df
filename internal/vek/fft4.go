package vek

// y_k = w^{jk} Σ_m x_m (−i)^{mk}
func fftForward4(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 4 * q {
		for j := range count {
			w := (*[6]float32)(tw[6*j:])
			w1r, w1i, w2r, w2i, w3r, w3i := w[0], w[1], w[2], w[3], w[4], w[5]
			ar, br, cr, dr := quarters(re, at+j, q)
			ai, bi, ci, di := quarters(im, at+j, q)
			for l := range ar {
				s0r, s0i := ar[l]+cr[l], ai[l]+ci[l]
				s1r, s1i := ar[l]-cr[l], ai[l]-ci[l]
				s2r, s2i := br[l]+dr[l], bi[l]+di[l]
				s3r, s3i := br[l]-dr[l], bi[l]-di[l]
				ar[l], ai[l] = s0r+s2r, s0i+s2i
				br[l], bi[l] = rotate(s1r+s3i, s1i-s3r, w1r, w1i)
				cr[l], ci[l] = rotate(s0r-s2r, s0i-s2i, w2r, w2i)
				dr[l], di[l] = rotate(s1r-s3i, s1i+s3r, w3r, w3i)
			}
		}
	}
}

// quarters returns the four vectors of x of a radix-4 butterfly at vector i.
func quarters(x []float32, i, q int) (a, b, c, d *lanes) {
	return vector(x, i), vector(x, i+q), vector(x, i+2*q), vector(x, i+3*q)
}

// y_m = Σ_k conj(w^{jk}) x_k i^{mk}
func fftInverse4(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 4 * q {
		for j := range count {
			w := (*[6]float32)(tw[6*j:])
			w1r, w1i, w2r, w2i, w3r, w3i := w[0], w[1], w[2], w[3], w[4], w[5]
			ar, br, cr, dr := quarters(re, at+j, q)
			ai, bi, ci, di := quarters(im, at+j, q)
			for l := range ar {
				x2r, x2i := rotateBack(cr[l], ci[l], w2r, w2i)
				s0r, s0i := ar[l]+x2r, ai[l]+x2i
				s1r, s1i := ar[l]-x2r, ai[l]-x2i
				x1r, x1i := rotateBack(br[l], bi[l], w1r, w1i)
				x3r, x3i := rotateBack(dr[l], di[l], w3r, w3i)
				s2r, s2i := x1r+x3r, x1i+x3i
				s3r, s3i := x1r-x3r, x1i-x3i
				ar[l], ai[l] = s0r+s2r, s0i+s2i
				br[l], bi[l] = s1r-s3i, s1i+s3r
				cr[l], ci[l] = s0r-s2r, s0i-s2i
				dr[l], di[l] = s1r+s3i, s1i-s3r
			}
		}
	}
}

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

// The twiddles of a pass of radix 4 with q = 1.
var ones4 = []float32{1, 0, 1, 0, 1, 0}
