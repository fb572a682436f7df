package vek

// cos π/8 and sin π/8, the constants of the 16-point transform in addition to half8.
const (
	cos16 = 0.923879532511286756128183189396788287
	sin16 = 0.382683432365089771728459984030398866
)

// w_16^{kl} for k = 1 … 3, l = 1 … 3, as (re, im) pairs.
var lanes16 = [3][6]float32{
	{cos16, -sin16, half8, -half8, sin16, -cos16},
	{half8, -half8, 0, -1, -half8, -half8},
	{sin16, -cos16, -half8, -half8, -cos16, sin16},
}

// FFTGroup is the number of vectors in a group of the stage over the lanes.
const FFTGroup = 4

// FFTForwardLanes is the last stage of a forward transform. If radix is 2 or 4, it begins with the
// pass of this radix and q = 1; else radix is 1. It multiplies by tw (FFTLaneTwiddles) and computes
// a 16-point transform over the lanes of every vector. Output k + 4h (k, h < 4) of vector g of a
// group of t ≤ 4 vectors becomes element (h·t + g)·4 + k of the group.
func FFTForwardLanes(radix int, re, im, tw []float32) {
	checkFFTLanes("FFTForwardLanes", radix, re, im, tw)
	for len(re) > 0 {
		n := min(len(re), longestRun)
		switch radix {
		case 1:
			fftForwardLanes(re[:n], im[:n], tw[:2*n])
		case 2:
			fftForwardLanes2(re[:n], im[:n], tw[:2*n])
		case 4:
			fftForwardLanes4(re[:n], im[:n], tw[:2*n])
		}
		re, im, tw = re[n:], im[n:], tw[2*n:]
	}
}

// FFTInverseLanes is the first stage of an inverse transform. It undoes FFTForwardLanes of the same
// radix (up to the factor 16·radix).
func FFTInverseLanes(radix int, re, im, tw []float32) {
	checkFFTLanes("FFTInverseLanes", radix, re, im, tw)
	for len(re) > 0 {
		n := min(len(re), longestRun)
		switch radix {
		case 1:
			fftInverseLanes(re[:n], im[:n], tw[:2*n])
		case 2:
			fftInverseLanes2(re[:n], im[:n], tw[:2*n])
		case 4:
			fftInverseLanes4(re[:n], im[:n], tw[:2*n])
		}
		re, im, tw = re[n:], im[n:], tw[2*n:]
	}
}

// FFTInverseLanesMul is FFTInverseLanes of the product with k, or with k's conjugate, in one pass
// over memory.
func FFTInverseLanesMul(radix int, re, im, kRe, kIm, tw []float32, conj bool) {
	checkFFTLanes("FFTInverseLanesMul", radix, re, im, tw)
	if len(kRe) != len(re) || len(kIm) != len(re) {
		panic("vek: FFTInverseLanesMul: lengths differ")
	}
	for len(re) > 0 {
		n := min(len(re), longestRun)
		fftInverseProduct(radix, re[:n], im[:n], kRe[:n], kIm[:n], tw[:2*n], conj)
		re, im, kRe, kIm, tw = re[n:], im[n:], kRe[n:], kIm[n:], tw[2*n:]
	}
}

func fftInverseProduct(radix int, re, im, kRe, kIm, tw []float32, conj bool) {
	switch {
	case radix == 1 && conj:
		fftInverseLanesMulConj(re, im, kRe, kIm, tw)
	case radix == 1:
		fftInverseLanesMul(re, im, kRe, kIm, tw)
	case radix == 2 && conj:
		fftInverseLanesMulConj2(re, im, kRe, kIm, tw)
	case radix == 2:
		fftInverseLanesMul2(re, im, kRe, kIm, tw)
	case conj:
		fftInverseLanesMulConj4(re, im, kRe, kIm, tw)
	default:
		fftInverseLanesMul4(re, im, kRe, kIm, tw)
	}
}

func checkFFTLanes(name string, radix int, re, im, tw []float32) {
	if radix != 1 && radix != 2 && radix != 4 {
		panic("vek: " + name + ": radix must be 1, 2 or 4")
	}
	if len(re) != len(im) || len(re)%(radix*FFTLanes) != 0 || len(tw) < 2*len(re) {
		panic("vek: " + name + ": data is not a whole number of vectors, or twiddles too short")
	}
}

// group is one part (re or im) of a group of vectors.
type group [FFTGroup * FFTLanes]float32

// X_{k+4h} = Σ_l w_4^{lh} · w_16^{lk} · Σ_s w_4^{sk} · w_n^{r·order} x_r with r = l + 4s
func fftForwardLanesGeneric(re, im, tw []float32) {
	var xr, xi group
	for len(re) > 0 {
		t := min(len(re)/FFTLanes, FFTGroup)
		for g := range t {
			yr, yi := (*lanes)(xr[g*FFTLanes:]), (*lanes)(xi[g*FFTLanes:])
			wr, wi := laneTwiddles(tw, g, t)
			lanesForward(yr, yi, vector(re, g), vector(im, g), &wr, &wi)
		}
		for h := range 4 {
			for g := range t {
				at := (h*t + g) * 4
				copy(re[at:at+4], xr[g*FFTLanes+4*h:])
				copy(im[at:at+4], xi[g*FFTLanes+4*h:])
			}
		}
		re, im, tw = re[t*FFTLanes:], im[t*FFTLanes:], tw[2*t*FFTLanes:]
	}
}

// laneTwiddles returns the twiddles of vector g of a group of t.
func laneTwiddles(tw []float32, g, t int) (re, im lanes) {
	for r := range re {
		at := laneTwiddle(r, g, t)
		re[r], im[r] = tw[at], tw[at+4*t]
	}
	return re, im
}

// lanesForward transforms one vector into y, output k + 4h at 4h + k.
func lanesForward(yr, yi, xr, xi, wr, wi *lanes) {
	var tr, ti lanes // Σ_s … at 4k + l
	for l := range 4 {
		ar, ai := rotate(xr[l], xi[l], wr[l], wi[l])
		br, bi := rotate(xr[l+4], xi[l+4], wr[l+4], wi[l+4])
		cr, ci := rotate(xr[l+8], xi[l+8], wr[l+8], wi[l+8])
		dr, di := rotate(xr[l+12], xi[l+12], wr[l+12], wi[l+12])
		s0r, s0i, s1r, s1i := ar+cr, ai+ci, ar-cr, ai-ci
		s2r, s2i, s3r, s3i := br+dr, bi+di, br-dr, bi-di
		tr[l], ti[l] = s0r+s2r, s0i+s2i
		tr[l+4], ti[l+4] = s1r+s3i, s1i-s3r
		tr[l+8], ti[l+8] = s0r-s2r, s0i-s2i
		tr[l+12], ti[l+12] = s1r-s3i, s1i+s3r
	}
	for k := range 4 {
		ar, ai, br, bi := tr[4*k], ti[4*k], tr[4*k+1], ti[4*k+1]
		cr, ci, dr, di := tr[4*k+2], ti[4*k+2], tr[4*k+3], ti[4*k+3]
		if k > 0 {
			w := &lanes16[k-1]
			br, bi = rotate(br, bi, w[0], w[1])
			cr, ci = rotate(cr, ci, w[2], w[3])
			dr, di = rotate(dr, di, w[4], w[5])
		}
		s0r, s0i, s1r, s1i := ar+cr, ai+ci, ar-cr, ai-ci
		s2r, s2i, s3r, s3i := br+dr, bi+di, br-dr, bi-di
		yr[k], yi[k] = s0r+s2r, s0i+s2i
		yr[k+4], yi[k+4] = s1r+s3i, s1i-s3r
		yr[k+8], yi[k+8] = s0r-s2r, s0i-s2i
		yr[k+12], yi[k+12] = s1r-s3i, s1i+s3r
	}
}

// fftInverseLanes of X·K, K = kRe + i·kIm
func fftInverseLanesMulGeneric(re, im, kRe, kIm, tw []float32) {
	cmulGeneric(re, im, re, im, kRe, kIm)
	fftInverseLanesGeneric(re, im, tw)
}

// fftInverseLanes of X·conj(K), K = kRe + i·kIm
func fftInverseLanesMulConjGeneric(re, im, kRe, kIm, tw []float32) {
	cmulConjGeneric(re, im, re, im, kRe, kIm)
	fftInverseLanesGeneric(re, im, tw)
}

// x_r = conj(w_n^{r·order}) · Σ_k i^{sk} · conj(w_16^{lk}) · Σ_h i^{lh} X_{k+4h} with r = l + 4s:
// the inverse of the forward stage
func fftInverseLanesGeneric(re, im, tw []float32) {
	var xr, xi group
	for len(re) > 0 {
		t := min(len(re)/FFTLanes, FFTGroup)
		for h := range 4 {
			for g := range t {
				at := (h*t + g) * 4
				copy(xr[g*FFTLanes+4*h:][:4], re[at:])
				copy(xi[g*FFTLanes+4*h:][:4], im[at:])
			}
		}
		for g := range t {
			in, ini := (*lanes)(xr[g*FFTLanes:]), (*lanes)(xi[g*FFTLanes:])
			wr, wi := laneTwiddles(tw, g, t)
			lanesInverse(vector(re, g), vector(im, g), in, ini, &wr, &wi)
		}
		re, im, tw = re[t*FFTLanes:], im[t*FFTLanes:], tw[2*t*FFTLanes:]
	}
}

// lanesInverse is the inverse of lanesForward.
func lanesInverse(yr, yi, xr, xi, wr, wi *lanes) {
	var tr, ti lanes // at 4k + l
	for k := range 4 {
		s0r, s0i, s1r, s1i := xr[k]+xr[k+8], xi[k]+xi[k+8], xr[k]-xr[k+8], xi[k]-xi[k+8]
		s2r, s2i, s3r, s3i := xr[k+4]+xr[k+12], xi[k+4]+xi[k+12], xr[k+4]-xr[k+12], xi[k+4]-xi[k+12]
		ar, ai, br, bi := s0r+s2r, s0i+s2i, s1r-s3i, s1i+s3r
		cr, ci, dr, di := s0r-s2r, s0i-s2i, s1r+s3i, s1i-s3r
		if k > 0 {
			w := &lanes16[k-1]
			br, bi = rotateBack(br, bi, w[0], w[1])
			cr, ci = rotateBack(cr, ci, w[2], w[3])
			dr, di = rotateBack(dr, di, w[4], w[5])
		}
		tr[4*k], ti[4*k], tr[4*k+1], ti[4*k+1] = ar, ai, br, bi
		tr[4*k+2], ti[4*k+2], tr[4*k+3], ti[4*k+3] = cr, ci, dr, di
	}
	for l := range 4 {
		s0r, s0i, s1r, s1i := tr[l]+tr[l+8], ti[l]+ti[l+8], tr[l]-tr[l+8], ti[l]-ti[l+8]
		s2r, s2i, s3r, s3i := tr[l+4]+tr[l+12], ti[l+4]+ti[l+12], tr[l+4]-tr[l+12], ti[l+4]-ti[l+12]
		yr[l], yi[l] = rotateBack(s0r+s2r, s0i+s2i, wr[l], wi[l])
		yr[l+4], yi[l+4] = rotateBack(s1r-s3i, s1i+s3r, wr[l+4], wi[l+4])
		yr[l+8], yi[l+8] = rotateBack(s0r-s2r, s0i-s2i, wr[l+8], wi[l+8])
		yr[l+12], yi[l+12] = rotateBack(s1r+s3i, s1i-s3r, wr[l+12], wi[l+12])
	}
}
