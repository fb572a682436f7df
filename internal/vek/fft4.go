package vek

// quarters returns the four quarters of a block, each of length q.
func quarters(x []float32, q int) (a, b, c, d []float32) {
	return x[:q:q], x[q : 2*q : 2*q], x[2*q : 3*q : 3*q], x[3*q : 4*q : 4*q]
}

// y_k = w^{jk} Σ_m x_m (−i)^{mk}
func fftForward4Generic(re, im, tw []float32, q int) {
	w1r, w1i := twiddleRow(tw, 1, q)
	w2r, w2i := twiddleRow(tw, 2, q)
	w3r, w3i := twiddleRow(tw, 3, q)
	for at := 0; at < len(re); at += 4 * q {
		ar, br, cr, dr := quarters(re[at:], q)
		ai, bi, ci, di := quarters(im[at:], q)
		for j := range q {
			s0r, s0i := ar[j]+cr[j], ai[j]+ci[j]
			s1r, s1i := ar[j]-cr[j], ai[j]-ci[j]
			s2r, s2i := br[j]+dr[j], bi[j]+di[j]
			s3r, s3i := br[j]-dr[j], bi[j]-di[j]
			ar[j], ai[j] = s0r+s2r, s0i+s2i
			yr, yi := s1r+s3i, s1i-s3r
			br[j], bi[j] = float32(yr*w1r[j])-float32(yi*w1i[j]), float32(yr*w1i[j])+float32(yi*w1r[j])
			yr, yi = s0r-s2r, s0i-s2i
			cr[j], ci[j] = float32(yr*w2r[j])-float32(yi*w2i[j]), float32(yr*w2i[j])+float32(yi*w2r[j])
			yr, yi = s1r-s3i, s1i+s3r
			dr[j], di[j] = float32(yr*w3r[j])-float32(yi*w3i[j]), float32(yr*w3i[j])+float32(yi*w3r[j])
		}
	}
}

// The same with x_2 = x_3 = 0.
func fftForward4HalfGeneric(re, im, tw []float32, q int) {
	if q == 1 {
		re[2], re[3], im[2], im[3] = 0, 0, 0, 0
		fftForward4LastGeneric(re, im)
		return
	}
	w1r, w1i := twiddleRow(tw, 1, q)
	w2r, w2i := twiddleRow(tw, 2, q)
	w3r, w3i := twiddleRow(tw, 3, q)
	ar, br, cr, dr := quarters(re, q)
	ai, bi, ci, di := quarters(im, q)
	for j := range q {
		xr, xi, zr, zi := ar[j], ai[j], br[j], bi[j]
		ar[j], ai[j] = xr+zr, xi+zi
		yr, yi := xr+zi, xi-zr
		br[j], bi[j] = float32(yr*w1r[j])-float32(yi*w1i[j]), float32(yr*w1i[j])+float32(yi*w1r[j])
		yr, yi = xr-zr, xi-zi
		cr[j], ci[j] = float32(yr*w2r[j])-float32(yi*w2i[j]), float32(yr*w2i[j])+float32(yi*w2r[j])
		yr, yi = xr-zi, xi+zr
		dr[j], di[j] = float32(yr*w3r[j])-float32(yi*w3i[j]), float32(yr*w3i[j])+float32(yi*w3r[j])
	}
}

// The pass with q = 1: no twiddles.
func fftForward4LastGeneric(re, im []float32) {
	for len(re) >= 4 && len(im) >= 4 {
		s0r, s0i := re[0]+re[2], im[0]+im[2]
		s1r, s1i := re[0]-re[2], im[0]-im[2]
		s2r, s2i := re[1]+re[3], im[1]+im[3]
		s3r, s3i := re[1]-re[3], im[1]-im[3]
		re[0], im[0] = s0r+s2r, s0i+s2i
		re[1], im[1] = s1r+s3i, s1i-s3r
		re[2], im[2] = s0r-s2r, s0i-s2i
		re[3], im[3] = s1r-s3i, s1i+s3r
		re, im = re[4:], im[4:]
	}
}

// y_m = Σ_k conj(w^{jk}) x_k i^{mk}
func fftInverse4Generic(re, im, tw []float32, q int) {
	w1r, w1i := twiddleRow(tw, 1, q)
	w2r, w2i := twiddleRow(tw, 2, q)
	w3r, w3i := twiddleRow(tw, 3, q)
	for at := 0; at < len(re); at += 4 * q {
		ar, br, cr, dr := quarters(re[at:], q)
		ai, bi, ci, di := quarters(im[at:], q)
		for j := range q {
			x1r, x1i := float32(br[j]*w1r[j])+float32(bi[j]*w1i[j]), float32(bi[j]*w1r[j])-float32(br[j]*w1i[j])
			x2r, x2i := float32(cr[j]*w2r[j])+float32(ci[j]*w2i[j]), float32(ci[j]*w2r[j])-float32(cr[j]*w2i[j])
			x3r, x3i := float32(dr[j]*w3r[j])+float32(di[j]*w3i[j]), float32(di[j]*w3r[j])-float32(dr[j]*w3i[j])
			s0r, s0i := ar[j]+x2r, ai[j]+x2i
			s1r, s1i := ar[j]-x2r, ai[j]-x2i
			s2r, s2i := x1r+x3r, x1i+x3i
			s3r, s3i := x1r-x3r, x1i-x3i
			ar[j], ai[j] = s0r+s2r, s0i+s2i
			br[j], bi[j] = s1r-s3i, s1i+s3r
			cr[j], ci[j] = s0r-s2r, s0i-s2i
			dr[j], di[j] = s1r+s3i, s1i-s3r
		}
	}
}

// The same, writing only y_0 and y_1.
func fftInverse4HalfGeneric(re, im, tw []float32, q int) {
	if q == 1 {
		fftInverse4FirstGeneric(re, im)
		return
	}
	w1r, w1i := twiddleRow(tw, 1, q)
	w2r, w2i := twiddleRow(tw, 2, q)
	w3r, w3i := twiddleRow(tw, 3, q)
	ar, br, cr, dr := quarters(re, q)
	ai, bi, ci, di := quarters(im, q)
	for j := range q {
		x1r, x1i := float32(br[j]*w1r[j])+float32(bi[j]*w1i[j]), float32(bi[j]*w1r[j])-float32(br[j]*w1i[j])
		x2r, x2i := float32(cr[j]*w2r[j])+float32(ci[j]*w2i[j]), float32(ci[j]*w2r[j])-float32(cr[j]*w2i[j])
		x3r, x3i := float32(dr[j]*w3r[j])+float32(di[j]*w3i[j]), float32(di[j]*w3r[j])-float32(dr[j]*w3i[j])
		s1r, s1i := ar[j]-x2r, ai[j]-x2i
		s3r, s3i := x1r-x3r, x1i-x3i
		ar[j], ai[j] = (ar[j]+x2r)+(x1r+x3r), (ai[j]+x2i)+(x1i+x3i)
		br[j], bi[j] = s1r-s3i, s1i+s3r
	}
}

// The inverse pass with q = 1: no twiddles.
func fftInverse4FirstGeneric(re, im []float32) {
	for len(re) >= 4 && len(im) >= 4 {
		s0r, s0i := re[0]+re[2], im[0]+im[2]
		s1r, s1i := re[0]-re[2], im[0]-im[2]
		s2r, s2i := re[1]+re[3], im[1]+im[3]
		s3r, s3i := re[1]-re[3], im[1]-im[3]
		re[0], im[0] = s0r+s2r, s0i+s2i
		re[1], im[1] = s1r-s3i, s1i+s3r
		re[2], im[2] = s0r-s2r, s0i-s2i
		re[3], im[3] = s1r+s3i, s1i-s3r
		re, im = re[4:], im[4:]
	}
}
