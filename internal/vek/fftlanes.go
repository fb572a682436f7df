package vek

// FFTGroup is the number of vectors in a group of the stage over the lanes.
const FFTGroup = 4

func checkFFTLanes(name string, radix int, re, im, tw []float32) {
	require(name, radix == 1 || radix == 2 || radix == 4)
	require(name, len(re) == len(im) && len(re)%(radix*FFTLanes) == 0 && len(tw) >= laneTable(len(re)))
}

// laneTable returns the length of the table for n floats.
func laneTable(n int) int { return n / FFTLanes * FFTLaneTable }

// group is one part (re or im) of a group of vectors.
type group [FFTGroup * FFTLanes]float32

// X_{k+4h} = Σ_l w_4^{lh} · w_n^{l(f+mk)} · Σ_s w_4^{sk} · w_n^{4sf} x_{l+4s}, f = order[g]
func fftForwardLanes(re, im, tw []float32) {
	var xr, xi group
	for len(re) > 0 {
		t := min(len(re)/FFTLanes, FFTGroup)
		for g := range t {
			yr, yi := (*lanes)(xr[g*FFTLanes:]), (*lanes)(xi[g*FFTLanes:])
			lanesForward(yr, yi, vector(re, g), vector(im, g), tw, g, t)
		}
		for h := range 4 {
			for g := range t {
				at := (h*t + g) * 4
				copy(re[at:at+4], xr[g*FFTLanes+4*h:])
				copy(im[at:at+4], xi[g*FFTLanes+4*h:])
			}
		}
		re, im, tw = re[t*FFTLanes:], im[t*FFTLanes:], tw[FFTLaneTable*t:]
	}
}

// laneRoots are the twiddles i = 1, 2, 3 of one step of a vector (FFTLaneTwiddles).
type laneRoots [3]struct{ re, im *[4]float32 }

func laneSteps(tw []float32, g, t int) (steps [2]laneRoots) {
	for step := range steps {
		for i := range 3 {
			steps[step][i].re = (*[4]float32)(tw[laneTwiddle(step, 1, i+1, g, t):])
			steps[step][i].im = (*[4]float32)(tw[laneTwiddle(step, 2, i+1, g, t):])
		}
	}
	return steps
}

// lanesForward transforms vector g of a group of t vectors into y, in natural order.
func lanesForward(yr, yi, xr, xi *lanes, tw []float32, g, t int) {
	var tr, ti lanes // Σ_s … at 4k + l
	steps := laneSteps(tw, g, t)
	for l := range 4 {
		w := &steps[0]
		ar, ai := xr[l], xi[l]
		br, bi := rotate(xr[l+4], xi[l+4], w[0].re[l], w[0].im[l])
		cr, ci := rotate(xr[l+8], xi[l+8], w[1].re[l], w[1].im[l])
		dr, di := rotate(xr[l+12], xi[l+12], w[2].re[l], w[2].im[l])
		s0r, s0i, s1r, s1i := ar+cr, ai+ci, ar-cr, ai-ci
		s2r, s2i, s3r, s3i := br+dr, bi+di, br-dr, bi-di
		tr[l], ti[l] = s0r+s2r, s0i+s2i
		tr[l+4], ti[l+4] = s1r+s3i, s1i-s3r
		tr[l+8], ti[l+8] = s0r-s2r, s0i-s2i
		tr[l+12], ti[l+12] = s1r-s3i, s1i+s3r
	}
	for k := range 4 {
		w := &steps[1]
		ar, ai := tr[4*k], ti[4*k]
		br, bi := rotate(tr[4*k+1], ti[4*k+1], w[0].re[k], w[0].im[k])
		cr, ci := rotate(tr[4*k+2], ti[4*k+2], w[1].re[k], w[1].im[k])
		dr, di := rotate(tr[4*k+3], ti[4*k+3], w[2].re[k], w[2].im[k])
		s0r, s0i, s1r, s1i := ar+cr, ai+ci, ar-cr, ai-ci
		s2r, s2i, s3r, s3i := br+dr, bi+di, br-dr, bi-di
		yr[k], yi[k] = s0r+s2r, s0i+s2i
		yr[k+4], yi[k+4] = s1r+s3i, s1i-s3r
		yr[k+8], yi[k+8] = s0r-s2r, s0i-s2i
		yr[k+12], yi[k+12] = s1r-s3i, s1i+s3r
	}
}

// x_{l+4s} = conj(w_n^{4sf}) · Σ_k i^{sk} · conj(w_n^{l(f+mk)}) · Σ_h i^{lh} X_{k+4h}, f =
// order[g]: the inverse of the forward stage
func fftInverseLanes(re, im, tw []float32) {
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
			lanesInverse(vector(re, g), vector(im, g), in, ini, tw, g, t)
		}
		re, im, tw = re[t*FFTLanes:], im[t*FFTLanes:], tw[FFTLaneTable*t:]
	}
}

// lanesInverse is the inverse of lanesForward.
func lanesInverse(yr, yi, xr, xi *lanes, tw []float32, g, t int) {
	var tr, ti lanes // at 4k + l
	steps := laneSteps(tw, g, t)
	for k := range 4 {
		w := &steps[1]
		s0r, s0i, s1r, s1i := xr[k]+xr[k+8], xi[k]+xi[k+8], xr[k]-xr[k+8], xi[k]-xi[k+8]
		s2r, s2i, s3r, s3i := xr[k+4]+xr[k+12], xi[k+4]+xi[k+12], xr[k+4]-xr[k+12], xi[k+4]-xi[k+12]
		tr[4*k], ti[4*k] = s0r+s2r, s0i+s2i
		tr[4*k+1], ti[4*k+1] = rotateBack(s1r-s3i, s1i+s3r, w[0].re[k], w[0].im[k])
		tr[4*k+2], ti[4*k+2] = rotateBack(s0r-s2r, s0i-s2i, w[1].re[k], w[1].im[k])
		tr[4*k+3], ti[4*k+3] = rotateBack(s1r+s3i, s1i-s3r, w[2].re[k], w[2].im[k])
	}
	for l := range 4 {
		w := &steps[0]
		s0r, s0i, s1r, s1i := tr[l]+tr[l+8], ti[l]+ti[l+8], tr[l]-tr[l+8], ti[l]-ti[l+8]
		s2r, s2i, s3r, s3i := tr[l+4]+tr[l+12], ti[l+4]+ti[l+12], tr[l+4]-tr[l+12], ti[l+4]-ti[l+12]
		yr[l], yi[l] = s0r+s2r, s0i+s2i
		yr[l+4], yi[l+4] = rotateBack(s1r-s3i, s1i+s3r, w[0].re[l], w[0].im[l])
		yr[l+8], yi[l+8] = rotateBack(s0r-s2r, s0i-s2i, w[1].re[l], w[1].im[l])
		yr[l+12], yi[l+12] = rotateBack(s1r+s3i, s1i-s3r, w[2].re[l], w[2].im[l])
	}
}
