package vek

// cos π/8 and sin π/8; with half8 all constants of the 16-point transform.
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

// tile is a transposed group of up to 16 vectors: row r holds lane r of each.
type tile [FFTLanes]lanes

// With r = l + 4s and p = k + 4h,
//
//	X_{k+4h} = Σ_l w_4^{lh} · w_16^{lk} · Σ_s w_4^{sk} · w_n^{r·order} x_{l+4s}:
//
// the product and the 4-point transforms over s vector by vector, the rest on the transposed group.
func fftForwardLanesGeneric(re, im, tw []float32) {
	var tr, ti tile
	for len(re) > 0 {
		t := min(len(re)/FFTLanes, FFTLanes)
		for g := range t {
			lanesForwardRow(&tr, &ti, vector(re, g), vector(im, g), vector(tw, 2*g), vector(tw, 2*g+1), g)
		}
		lanesForwardFirst(re, im, &tr, &ti, t)
		for k := 1; k < 4; k++ {
			lanesForwardColumns(re, im, &tr, &ti, k, t)
		}
		re, im, tw = re[t*FFTLanes:], im[t*FFTLanes:], tw[2*t*FFTLanes:]
	}
}

// lanesForwardRow leaves Σ_s w_4^{sk}·w_n^{…}·x_{l+4s} of one vector in column g of tile row 4k+l.
func lanesForwardRow(tr, ti *tile, xr, xi, wr, wi *lanes, g int) {
	g &= FFTLanes - 1
	for l := range 4 {
		ar, ai := rotate(xr[l], xi[l], wr[l], wi[l])
		br, bi := rotate(xr[l+4], xi[l+4], wr[l+4], wi[l+4])
		cr, ci := rotate(xr[l+8], xi[l+8], wr[l+8], wi[l+8])
		dr, di := rotate(xr[l+12], xi[l+12], wr[l+12], wi[l+12])
		s0r, s0i, s1r, s1i := ar+cr, ai+ci, ar-cr, ai-ci
		s2r, s2i, s3r, s3i := br+dr, bi+di, br-dr, bi-di
		tr[l][g], ti[l][g] = s0r+s2r, s0i+s2i
		tr[l+4][g], ti[l+4][g] = s1r+s3i, s1i-s3r
		tr[l+8][g], ti[l+8][g] = s0r-s2r, s0i-s2i
		tr[l+12][g], ti[l+12][g] = s1r-s3i, s1i+s3r
	}
}

// lanesForwardColumns writes outputs k, k+4, k+8, k+12 of a group of t vectors.
func lanesForwardColumns(re, im []float32, tr, ti *tile, k, t int) {
	y0r, y1r, y2r, y3r := groupRows(re, k, t)
	y0i, y1i, y2i, y3i := groupRows(im, k, t)
	ar, br, cr, dr := &tr[4*k], &tr[4*k+1], &tr[4*k+2], &tr[4*k+3]
	ai, bi, ci, di := &ti[4*k], &ti[4*k+1], &ti[4*k+2], &ti[4*k+3]
	w := &lanes16[k-1]
	w1r, w1i, w2r, w2i, w3r, w3i := w[0], w[1], w[2], w[3], w[4], w[5]
	for g := range y0r {
		g := g & (FFTLanes - 1)
		x2r, x2i := rotate(cr[g], ci[g], w2r, w2i)
		s0r, s0i := ar[g]+x2r, ai[g]+x2i
		s1r, s1i := ar[g]-x2r, ai[g]-x2i
		x1r, x1i := rotate(br[g], bi[g], w1r, w1i)
		x3r, x3i := rotate(dr[g], di[g], w3r, w3i)
		s2r, s2i := x1r+x3r, x1i+x3i
		s3r, s3i := x1r-x3r, x1i-x3i
		y0r[g], y0i[g] = s0r+s2r, s0i+s2i
		y1r[g], y1i[g] = s1r+s3i, s1i-s3r
		y2r[g], y2i[g] = s0r-s2r, s0i-s2i
		y3r[g], y3i[g] = s1r-s3i, s1i+s3r
	}
}

// lanesForwardFirst is lanesForwardColumns for k = 0, where every twiddle is 1.
func lanesForwardFirst(re, im []float32, tr, ti *tile, t int) {
	y0r, y1r, y2r, y3r := groupRows(re, 0, t)
	y0i, y1i, y2i, y3i := groupRows(im, 0, t)
	ar, br, cr, dr := &tr[0], &tr[1], &tr[2], &tr[3]
	ai, bi, ci, di := &ti[0], &ti[1], &ti[2], &ti[3]
	for g := range y0r {
		g := g & (FFTLanes - 1)
		s0r, s0i, s1r, s1i := ar[g]+cr[g], ai[g]+ci[g], ar[g]-cr[g], ai[g]-ci[g]
		s2r, s2i, s3r, s3i := br[g]+dr[g], bi[g]+di[g], br[g]-dr[g], bi[g]-di[g]
		y0r[g], y0i[g] = s0r+s2r, s0i+s2i
		y1r[g], y1i[g] = s1r+s3i, s1i-s3r
		y2r[g], y2i[g] = s0r-s2r, s0i-s2i
		y3r[g], y3i[g] = s1r-s3i, s1i+s3r
	}
}

// groupRows returns rows k, k+4, k+8 and k+12 of a transposed group of t vectors.
func groupRows(x []float32, k, t int) (a, b, c, d []float32) {
	return x[k*t:][:t], x[(k+4)*t:][:t], x[(k+8)*t:][:t], x[(k+12)*t:][:t]
}

// The forward stage backwards: x_{l+4s} = conj(w_n^{…}) Σ_k i^{sk} · conj(w_16^{lk}) · Σ_h i^{lh} X_{k+4h}.
func fftInverseLanesGeneric(re, im, tw []float32) {
	var tr, ti tile
	for len(re) > 0 {
		t := min(len(re)/FFTLanes, FFTLanes)
		lanesInverseFirst(&tr, &ti, re, im, t)
		for k := 1; k < 4; k++ {
			lanesInverseColumns(&tr, &ti, re, im, k, t)
		}
		for g := range t {
			lanesInverseRow(vector(re, g), vector(im, g), &tr, &ti, vector(tw, 2*g), vector(tw, 2*g+1), g)
		}
		re, im, tw = re[t*FFTLanes:], im[t*FFTLanes:], tw[2*t*FFTLanes:]
	}
}

// lanesInverseFirst is lanesInverseColumns for k = 0, where every twiddle is 1.
func lanesInverseFirst(tr, ti *tile, re, im []float32, t int) {
	x0r, x1r, x2r, x3r := groupRows(re, 0, t)
	x0i, x1i, x2i, x3i := groupRows(im, 0, t)
	ar, br, cr, dr := &tr[0], &tr[1], &tr[2], &tr[3]
	ai, bi, ci, di := &ti[0], &ti[1], &ti[2], &ti[3]
	for g := range x0r {
		g := g & (FFTLanes - 1)
		s0r, s0i, s1r, s1i := x0r[g]+x2r[g], x0i[g]+x2i[g], x0r[g]-x2r[g], x0i[g]-x2i[g]
		s2r, s2i, s3r, s3i := x1r[g]+x3r[g], x1i[g]+x3i[g], x1r[g]-x3r[g], x1i[g]-x3i[g]
		ar[g], ai[g] = s0r+s2r, s0i+s2i
		br[g], bi[g] = s1r-s3i, s1i+s3r
		cr[g], ci[g] = s0r-s2r, s0i-s2i
		dr[g], di[g] = s1r+s3i, s1i-s3r
	}
}

// lanesInverseColumns reads outputs k, k+4, k+8, k+12 of a group of t vectors into tile rows 4k … 4k+3.
func lanesInverseColumns(tr, ti *tile, re, im []float32, k, t int) {
	x0r, x1r, x2r, x3r := groupRows(re, k, t)
	x0i, x1i, x2i, x3i := groupRows(im, k, t)
	ar, br, cr, dr := &tr[4*k], &tr[4*k+1], &tr[4*k+2], &tr[4*k+3]
	ai, bi, ci, di := &ti[4*k], &ti[4*k+1], &ti[4*k+2], &ti[4*k+3]
	w := &lanes16[k-1]
	w1r, w1i, w2r, w2i, w3r, w3i := w[0], w[1], w[2], w[3], w[4], w[5]
	for g := range x0r {
		g := g & (FFTLanes - 1)
		s0r, s0i := x0r[g]+x2r[g], x0i[g]+x2i[g]
		s1r, s1i := x0r[g]-x2r[g], x0i[g]-x2i[g]
		s2r, s2i := x1r[g]+x3r[g], x1i[g]+x3i[g]
		s3r, s3i := x1r[g]-x3r[g], x1i[g]-x3i[g]
		ar[g], ai[g] = s0r+s2r, s0i+s2i
		br[g], bi[g] = rotateBack(s1r-s3i, s1i+s3r, w1r, w1i)
		cr[g], ci[g] = rotateBack(s0r-s2r, s0i-s2i, w2r, w2i)
		dr[g], di[g] = rotateBack(s1r+s3i, s1i-s3r, w3r, w3i)
	}
}

// lanesInverseRow finishes vector g from its column of the tile.
func lanesInverseRow(xr, xi *lanes, tr, ti *tile, wr, wi *lanes, g int) {
	g &= FFTLanes - 1
	for l := range 4 {
		s0r, s0i := tr[l][g]+tr[l+8][g], ti[l][g]+ti[l+8][g]
		s1r, s1i := tr[l][g]-tr[l+8][g], ti[l][g]-ti[l+8][g]
		s2r, s2i := tr[l+4][g]+tr[l+12][g], ti[l+4][g]+ti[l+12][g]
		s3r, s3i := tr[l+4][g]-tr[l+12][g], ti[l+4][g]-ti[l+12][g]
		xr[l], xi[l] = rotateBack(s0r+s2r, s0i+s2i, wr[l], wi[l])
		xr[l+4], xi[l+4] = rotateBack(s1r-s3i, s1i+s3r, wr[l+4], wi[l+4])
		xr[l+8], xi[l+8] = rotateBack(s0r-s2r, s0i-s2i, wr[l+8], wi[l+8])
		xr[l+12], xi[l+12] = rotateBack(s1r+s3i, s1i-s3r, wr[l+12], wi[l+12])
	}
}
