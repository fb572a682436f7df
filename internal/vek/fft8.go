package vek

// cos π/4, the constant of the 8-point transform.
const half8 = 0.707106781186547524400844362104849039

// eighths returns the eight vectors of x of a radix-8 butterfly at vector i.
func eighths(x []float32, i, q int) (a, b, c, d, e, f, g, h *lanes) {
	return vector(x, i), vector(x, i+q), vector(x, i+2*q), vector(x, i+3*q),
		vector(x, i+4*q), vector(x, i+5*q), vector(x, i+6*q), vector(x, i+7*q)
}

// y_k = w^{jk} Σ_m x_m w_8^{mk}. The even outputs are a 4-point transform of x_m + x_{m+4}, the odd
// ones one of (x_m − x_{m+4})·w_8^m.
func fftForward8(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 8 * q {
		for j := range count {
			w := (*[14]float32)(tw[14*j:])
			r0, r1, r2, r3, r4, r5, r6, r7 := eighths(re, at+j, q)
			i0, i1, i2, i3, i4, i5, i6, i7 := eighths(im, at+j, q)
			for l := range r0 {
				er, ei := r0[l]-r4[l], i0[l]-i4[l]
				fr, fi := r1[l]-r5[l], i1[l]-i5[l]
				gr, gi := r2[l]-r6[l], i2[l]-i6[l]
				hr, hi := r3[l]-r7[l], i3[l]-i7[l]
				ar, ai := r0[l]+r4[l], i0[l]+i4[l]
				br, bi := r1[l]+r5[l], i1[l]+i5[l]
				cr, ci := r2[l]+r6[l], i2[l]+i6[l]
				dr, di := r3[l]+r7[l], i3[l]+i7[l]

				s0r, s0i, s1r, s1i := ar+cr, ai+ci, ar-cr, ai-ci
				s2r, s2i, s3r, s3i := br+dr, bi+di, br-dr, bi-di
				r0[l], i0[l] = s0r+s2r, s0i+s2i
				r4[l], i4[l] = rotate(s0r-s2r, s0i-s2i, w[6], w[7])
				r2[l], i2[l] = rotate(s1r+s3i, s1i-s3r, w[2], w[3])
				r6[l], i6[l] = rotate(s1r-s3i, s1i+s3r, w[10], w[11])

				// f·w_8 + h·w_8³ = ((f−h) − i(f+h))/√2, and f·w_8³ + h·w_8 = −((f−h) + i(f+h))/√2
				ur, ui, vr, vi := fr-hr, fi-hi, fr+hr, fi+hi
				pr, pi := float32(half8*(ur+vi)), float32(half8*(ui-vr))
				qr, qi := float32(half8*(vi-ur)), float32(half8*(ui+vr))
				s1r, s1i, s3r, s3i = er+gi, ei-gr, er-gi, ei+gr
				r1[l], i1[l] = rotate(s1r+pr, s1i+pi, w[0], w[1])
				r5[l], i5[l] = rotate(s1r-pr, s1i-pi, w[8], w[9])
				r3[l], i3[l] = rotate(s3r+qr, s3i-qi, w[4], w[5])
				r7[l], i7[l] = rotate(s3r-qr, s3i+qi, w[12], w[13])
			}
		}
	}
}

// y_m = Σ_k conj(w^{jk}) x_k w_8^{−mk} = A_m + w_8^{−m}·B_m, where A and B are the 4-point
// transforms of the even and odd inputs.
func fftInverse8(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 8 * q {
		for j := range count {
			w := (*[14]float32)(tw[14*j:])
			r0, r1, r2, r3, r4, r5, r6, r7 := eighths(re, at+j, q)
			i0, i1, i2, i3, i4, i5, i6, i7 := eighths(im, at+j, q)
			for l := range r0 {
				x1r, x1i := rotateBack(r1[l], i1[l], w[0], w[1])
				x5r, x5i := rotateBack(r5[l], i5[l], w[8], w[9])
				x3r, x3i := rotateBack(r3[l], i3[l], w[4], w[5])
				x7r, x7i := rotateBack(r7[l], i7[l], w[12], w[13])
				s0r, s0i, s1r, s1i := x1r+x5r, x1i+x5i, x1r-x5r, x1i-x5i
				s2r, s2i, s3r, s3i := x3r+x7r, x3i+x7i, x3r-x7r, x3i-x7i
				b0r, b0i, b2r, b2i := s0r+s2r, s0i+s2i, s0r-s2r, s0i-s2i
				// (1+i)/√2 · (s1 + i·s3) and (−1+i)/√2 · (s1 − i·s3)
				ur, ui, vr, vi := s1r-s3r, s1i-s3i, s1r+s3r, s1i+s3i
				b1r, b1i := float32(half8*(ur-vi)), float32(half8*(ui+vr))
				b3r, b3i := float32(half8*(ur+vi)), float32(half8*(vr-ui))

				x4r, x4i := rotateBack(r4[l], i4[l], w[6], w[7])
				x2r, x2i := rotateBack(r2[l], i2[l], w[2], w[3])
				x6r, x6i := rotateBack(r6[l], i6[l], w[10], w[11])
				s0r, s0i, s1r, s1i = r0[l]+x4r, i0[l]+x4i, r0[l]-x4r, i0[l]-x4i
				s2r, s2i, s3r, s3i = x2r+x6r, x2i+x6i, x2r-x6r, x2i-x6i
				ar, ai := s0r+s2r, s0i+s2i
				r0[l], i0[l], r4[l], i4[l] = ar+b0r, ai+b0i, ar-b0r, ai-b0i
				ar, ai = s0r-s2r, s0i-s2i
				r2[l], i2[l], r6[l], i6[l] = ar-b2i, ai+b2r, ar+b2i, ai-b2r
				ar, ai = s1r-s3i, s1i+s3r
				r1[l], i1[l], r5[l], i5[l] = ar+b1r, ai+b1i, ar-b1r, ai-b1i
				ar, ai = s1r+s3i, s1i-s3r
				r3[l], i3[l], r7[l], i7[l] = ar-b3r, ai+b3i, ar+b3r, ai-b3i
			}
		}
	}
}
