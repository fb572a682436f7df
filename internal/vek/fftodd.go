package vek

const (
	sin3  = 0.866025403784438646763723170752936183 // sin 2π/3
	cos5a = 0.309016994374947424102293417182819059 // cos 2π/5
	cos5b = -0.80901699437494742410229341718281906 // cos 4π/5
	sin5a = 0.951056516295153572116439333379382143 // sin 2π/5
	sin5b = 0.587785252292473129168705954639072769 // sin 4π/5
)

// y_k = w^{jk} Σ_m x_m w_3^{mk}
func fftForward3(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 3 * q {
		for j := range count {
			w := (*[4]float32)(tw[4*j:])
			i := at + j
			ar, br, cr := vector(re, i), vector(re, i+q), vector(re, i+2*q)
			ai, bi, ci := vector(im, i), vector(im, i+q), vector(im, i+2*q)
			for l := range ar {
				sr, si := br[l]+cr[l], bi[l]+ci[l]
				dr, di := float32(sin3*(br[l]-cr[l])), float32(sin3*(bi[l]-ci[l]))
				mr, mi := ar[l]-float32(0.5*sr), ai[l]-float32(0.5*si)
				ar[l], ai[l] = ar[l]+sr, ai[l]+si
				br[l], bi[l] = rotate(mr+di, mi-dr, w[0], w[1])
				cr[l], ci[l] = rotate(mr-di, mi+dr, w[2], w[3])
			}
		}
	}
}

// y_m = Σ_k conj(w^{jk}) x_k w_3^{−mk}
func fftInverse3(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 3 * q {
		for j := range count {
			w := (*[4]float32)(tw[4*j:])
			i := at + j
			ar, br, cr := vector(re, i), vector(re, i+q), vector(re, i+2*q)
			ai, bi, ci := vector(im, i), vector(im, i+q), vector(im, i+2*q)
			for l := range ar {
				x1r, x1i := rotateBack(br[l], bi[l], w[0], w[1])
				x2r, x2i := rotateBack(cr[l], ci[l], w[2], w[3])
				sr, si := x1r+x2r, x1i+x2i
				dr, di := float32(sin3*(x1r-x2r)), float32(sin3*(x1i-x2i))
				mr, mi := ar[l]-float32(0.5*sr), ai[l]-float32(0.5*si)
				ar[l], ai[l] = ar[l]+sr, ai[l]+si
				br[l], bi[l] = mr-di, mi+dr
				cr[l], ci[l] = mr+di, mi-dr
			}
		}
	}
}

// y_k = w^{jk} Σ_m x_m w_5^{mk}
func fftForward5(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 5 * q {
		for j := range count {
			w := (*[8]float32)(tw[8*j:])
			r0, r1, r2, r3, r4 := fifths(re, at+j, q)
			i0, i1, i2, i3, i4 := fifths(im, at+j, q)
			for l := range r0 {
				ar, ai, br, bi := r1[l]+r4[l], i1[l]+i4[l], r2[l]+r3[l], i2[l]+i3[l]
				cr, ci, dr, di := r1[l]-r4[l], i1[l]-i4[l], r2[l]-r3[l], i2[l]-i3[l]
				mr, mi, nr, ni := cosines5(r0[l], i0[l], ar, ai, br, bi)
				ur, ui, vr, vi := sines5(cr, ci, dr, di)
				r0[l], i0[l] = r0[l]+(ar+br), i0[l]+(ai+bi)
				r1[l], i1[l] = rotate(mr+ui, mi-ur, w[0], w[1])
				r4[l], i4[l] = rotate(mr-ui, mi+ur, w[6], w[7])
				r2[l], i2[l] = rotate(nr+vi, ni-vr, w[2], w[3])
				r3[l], i3[l] = rotate(nr-vi, ni+vr, w[4], w[5])
			}
		}
	}
}

// y_m = Σ_k conj(w^{jk}) x_k w_5^{−mk}
func fftInverse5(re, im, tw []float32, q, count int) {
	for at := 0; at < len(re)/FFTLanes; at += 5 * q {
		for j := range count {
			w := (*[8]float32)(tw[8*j:])
			r0, r1, r2, r3, r4 := fifths(re, at+j, q)
			i0, i1, i2, i3, i4 := fifths(im, at+j, q)
			for l := range r0 {
				x1r, x1i := rotateBack(r1[l], i1[l], w[0], w[1])
				x4r, x4i := rotateBack(r4[l], i4[l], w[6], w[7])
				x2r, x2i := rotateBack(r2[l], i2[l], w[2], w[3])
				x3r, x3i := rotateBack(r3[l], i3[l], w[4], w[5])
				ar, ai, br, bi := x1r+x4r, x1i+x4i, x2r+x3r, x2i+x3i
				cr, ci, dr, di := x1r-x4r, x1i-x4i, x2r-x3r, x2i-x3i
				mr, mi, nr, ni := cosines5(r0[l], i0[l], ar, ai, br, bi)
				ur, ui, vr, vi := sines5(cr, ci, dr, di)
				r0[l], i0[l] = r0[l]+(ar+br), i0[l]+(ai+bi)
				r1[l], i1[l] = mr-ui, mi+ur
				r4[l], i4[l] = mr+ui, mi-ur
				r2[l], i2[l] = nr-vi, ni+vr
				r3[l], i3[l] = nr+vi, ni-vr
			}
		}
	}
}

// fifths returns the five vectors of x of a radix-5 butterfly at vector i.
func fifths(x []float32, i, q int) (a, b, c, d, e *lanes) {
	return vector(x, i), vector(x, i+q), vector(x, i+2*q), vector(x, i+3*q), vector(x, i+4*q)
}

// cosines5 returns x + a·cos 2π/5 + b·cos 4π/5 and x + a·cos 4π/5 + b·cos 2π/5.
func cosines5(xr, xi, ar, ai, br, bi float32) (mr, mi, nr, ni float32) {
	return xr + (float32(cos5a*ar) + float32(cos5b*br)), xi + (float32(cos5a*ai) + float32(cos5b*bi)),
		xr + (float32(cos5b*ar) + float32(cos5a*br)), xi + (float32(cos5b*ai) + float32(cos5a*bi))
}

// sines5 returns c·sin 2π/5 + d·sin 4π/5 and c·sin 4π/5 − d·sin 2π/5.
func sines5(cr, ci, dr, di float32) (ur, ui, vr, vi float32) {
	return float32(sin5a*cr) + float32(sin5b*dr), float32(sin5a*ci) + float32(sin5b*di),
		float32(sin5b*cr) - float32(sin5a*dr), float32(sin5b*ci) - float32(sin5a*di)
}
