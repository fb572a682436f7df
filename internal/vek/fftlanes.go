package vek

func checkFFTLanes(name string, radix int, re, im, tw []float32) {
	require(name, radix == 1 || radix == 2 || radix == 4)
	require(name, len(re) == len(im) && len(re)%(FFTGroup*FFTLanes) == 0 && len(tw) >= laneTable(len(re)))
}

// laneTable returns the length of the table for n floats.
func laneTable(n int) int { return n / FFTLanes * FFTLaneTable }

// group is one part (re or im) of a group of vectors.
type group [FFTGroup * FFTLanes]float32

// x_r = x_r·exp(−iθ_r) in every vector (FFTPass.Turned), or x_r·exp(iθ_r) if sign is −1
func fftTurn(re, im []float32, turn *[2 * FFTLanes]float32, sign float32) {
	for i := range len(re) / FFTLanes {
		xr, xi := vector(re, i), vector(im, i)
		for l := range xr {
			t, s := sign*turn[l], sign*turn[FFTLanes+l]
			xr[l] += float32(t * xi[l])
			xi[l] += float32(s * xr[l])
			xr[l] += float32(t * xi[l])
		}
	}
}

// X_{k+4h} = Σ_l w_4^{lh} · w_n^{l(f+mk)} · Σ_s w_4^{sk} · w_n^{4sf} x_{l+4s}, f = order[g]
func fftForwardLanes(re, im, tw []float32) {
	var xr, xi group
	for ; len(re) > 0; re, im, tw = re[len(xr):], im[len(xi):], tw[FFTGroup*FFTLaneTable:] {
		for g := range FFTGroup {
			lanesForward(vector(xr[:], g), vector(xi[:], g), vector(re, g), vector(im, g), tw, g)
		}
		for h := range 4 {
			for g := range FFTGroup {
				at := (h*FFTGroup + g) * 4
				copy(re[at:at+4], xr[g*FFTLanes+4*h:])
				copy(im[at:at+4], xi[g*FFTLanes+4*h:])
			}
		}
	}
}

// laneRoots are the twiddles i = 1, 2, 3 of one step of a vector: tangents and real parts.
type laneRoots [3]struct{ t, c *[4]float32 }

func laneSteps(tw []float32, g int) (steps [2]laneRoots) {
	for step := range steps {
		for i := range 3 {
			steps[step][i].t = (*[4]float32)(tw[laneTwiddle(step, 0, i+1, g):])
			steps[step][i].c = (*[4]float32)(tw[laneTwiddle(step, 1, i+1, g):])
		}
	}
	return steps
}

// turn returns x·w for twiddle i, in element j.
func (w *laneRoots) turn(i, j int, xr, xi float32) (float32, float32) {
	t, c := w[i-1].t[j], w[i-1].c[j]
	return float32(c * (xr - float32(t*xi))), float32(c * (xi + float32(t*xr)))
}

// turnBack returns x·conj(w).
func (w *laneRoots) turnBack(i, j int, xr, xi float32) (float32, float32) {
	t, c := w[i-1].t[j], w[i-1].c[j]
	return float32(c * (xr + float32(t*xi))), float32(c * (xi - float32(t*xr)))
}

// lanesForward transforms vector g of a group into y, in natural order.
func lanesForward(yr, yi, xr, xi *lanes, tw []float32, g int) {
	var tr, ti lanes // Σ_s … at 4k + l
	steps := laneSteps(tw, g)
	for l := range 4 {
		w := &steps[0]
		ar, ai := xr[l], xi[l]
		br, bi := w.turn(1, l, xr[l+4], xi[l+4])
		cr, ci := w.turn(2, l, xr[l+8], xi[l+8])
		dr, di := w.turn(3, l, xr[l+12], xi[l+12])
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
		br, bi := w.turn(1, k, tr[4*k+1], ti[4*k+1])
		cr, ci := w.turn(2, k, tr[4*k+2], ti[4*k+2])
		dr, di := w.turn(3, k, tr[4*k+3], ti[4*k+3])
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
	for ; len(re) > 0; re, im, tw = re[len(xr):], im[len(xi):], tw[FFTGroup*FFTLaneTable:] {
		for h := range 4 {
			for g := range FFTGroup {
				at := (h*FFTGroup + g) * 4
				copy(xr[g*FFTLanes+4*h:][:4], re[at:])
				copy(xi[g*FFTLanes+4*h:][:4], im[at:])
			}
		}
		for g := range FFTGroup {
			lanesInverse(vector(re, g), vector(im, g), vector(xr[:], g), vector(xi[:], g), tw, g)
		}
	}
}

// lanesInverse is the inverse of lanesForward.
func lanesInverse(yr, yi, xr, xi *lanes, tw []float32, g int) {
	var tr, ti lanes // at 4k + l
	steps := laneSteps(tw, g)
	for k := range 4 {
		w := &steps[1]
		s0r, s0i, s1r, s1i := xr[k]+xr[k+8], xi[k]+xi[k+8], xr[k]-xr[k+8], xi[k]-xi[k+8]
		s2r, s2i, s3r, s3i := xr[k+4]+xr[k+12], xi[k+4]+xi[k+12], xr[k+4]-xr[k+12], xi[k+4]-xi[k+12]
		tr[4*k], ti[4*k] = s0r+s2r, s0i+s2i
		tr[4*k+1], ti[4*k+1] = w.turnBack(1, k, s1r-s3i, s1i+s3r)
		tr[4*k+2], ti[4*k+2] = w.turnBack(2, k, s0r-s2r, s0i-s2i)
		tr[4*k+3], ti[4*k+3] = w.turnBack(3, k, s1r+s3i, s1i-s3r)
	}
	for l := range 4 {
		w := &steps[0]
		s0r, s0i, s1r, s1i := tr[l]+tr[l+8], ti[l]+ti[l+8], tr[l]-tr[l+8], ti[l]-ti[l+8]
		s2r, s2i, s3r, s3i := tr[l+4]+tr[l+12], ti[l+4]+ti[l+12], tr[l+4]-tr[l+12], ti[l+4]-ti[l+12]
		yr[l], yi[l] = s0r+s2r, s0i+s2i
		yr[l+4], yi[l+4] = w.turnBack(1, l, s1r-s3i, s1i+s3r)
		yr[l+8], yi[l+8] = w.turnBack(2, l, s0r-s2r, s0i-s2i)
		yr[l+12], yi[l+12] = w.turnBack(3, l, s1r+s3i, s1i-s3r)
	}
}
