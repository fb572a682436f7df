package vek

// Direction is the order in which a scan processes rows.
type Direction bool

// The directions.
const (
	FirstToLast Direction = false
	LastToFirst Direction = true
)

// Scan runs P diagonal complex recurrences over the rows of x (docs/maths.md §19.2):
//
//	h_p = λ_p·h_p + x[t]_p,  x[t]_p = h_p
//
// The rows of x, h and lambda are [2P]: real parts, then imaginary parts. h is the state before the
// first row that is processed, and is updated. Only the modes lo … hi−1 are processed. Parts of the
// state never become denormal numbers: small ones are set to 0. Any division of the rows into calls
// gives the same bits.
func Scan(x Matrix, h, lambda []float32, lo, hi int, d Direction) {
	checkScan("Scan", x, lo, hi, h, lambda)
	if lo == hi {
		return
	}
	first, stride := d.rows(x)
	for rows := x.Rows; rows > 0; {
		n := scanRowsAtOnce(rows, hi-lo)
		scanRows(x.Data, first, stride, n, h, lambda, lo, hi-lo)
		first, rows = first+n*stride, rows-n
	}
}

// ScanGrad is the backward pass of a Scan over the same rows, in the opposite direction. It
// replaces the rows of s, the gradients of the states, by those of the Scan's input, and adds to
// the gradient of λ:
//
//	h_p = conj(λ_p)·h_p + s[t]_p,  s[t]_p = h_p,  ∂λ_p += h_p·conj(past[t]_p)
//
// Row t of past is the state before row t, so it is usually the Scan's result, shifted by a row. h
// is carried from call to call. Otherwise the arguments are those of Scan.
func ScanGrad(s, past Matrix, h, lambda, dLambda []float32, lo, hi int, d Direction) {
	checkScan("ScanGrad", s, lo, hi, h, lambda, dLambda)
	past.check("ScanGrad")
	require("ScanGrad", past.Rows == s.Rows && past.Cols == s.Cols)
	if lo == hi {
		return
	}
	first, stride := d.rows(s)
	from, step := d.rows(past)
	for rows := s.Rows; rows > 0; {
		n := scanRowsAtOnce(rows, hi-lo)
		scanGradRows(s.Data, first, stride, past.Data, from, step, n, h, lambda, dLambda, lo, hi-lo)
		first, from, rows = first+n*stride, from+n*step, rows-n
	}
}

// rows returns the index of the first row that is processed, and the distance to the next.
func (d Direction) rows(m Matrix) (first, stride int) {
	if d == LastToFirst {
		return (m.Rows - 1) * m.Stride, -m.Stride
	}
	return 0, m.Stride
}

// scanRowsAtOnce is the number of rows in one call of assembly.
func scanRowsAtOnce(rows, modes int) int {
	const few = 16 // fewer modes take as long
	return min(rows, max(1, 4*longestRun/max(modes, few)))
}

func checkScan(name string, x Matrix, lo, hi int, vectors ...[]float32) {
	x.check(name)
	sameLen(name, x.Cols, vectors...)
	require(name, x.Cols%2 == 0 && 0 <= lo && lo <= hi && hi <= x.Cols/2)
}

// h = λ·h + x[t], x[t] = h for the modes from lo on, where row t starts at x[first + t·stride]
func scanRowsGeneric(x []float32, first, stride, rows int, h, lambda []float32, lo, modes int) {
	p := len(h) / 2
	hRe, hIm := h[lo:][:modes], h[p+lo:][:modes]
	lRe, lIm := lambda[lo:][:modes], lambda[p+lo:][:modes]
	for t := range rows {
		at := first + t*stride + lo
		xRe, xIm := x[at:][:modes], x[at+p:][:modes]
		for n := range hRe {
			re := float32(lRe[n]*hRe[n]) - float32(lIm[n]*hIm[n]) + xRe[n]
			im := float32(lRe[n]*hIm[n]) + float32(lIm[n]*hRe[n]) + xIm[n]
			if tiny(re) {
				re = 0
			}
			if tiny(im) {
				im = 0
			}
			hRe[n], hIm[n], xRe[n], xIm[n] = re, im, re, im
		}
	}
}

// h = conj(λ)·h + s[t], s[t] = h, ∂λ += h·conj(past[t]) for the modes from lo on
func scanGradRowsGeneric(s []float32, first, stride int, past []float32, from, step, rows int, h, lambda, dLambda []float32, lo, modes int) {
	p := len(h) / 2
	hRe, hIm := h[lo:][:modes], h[p+lo:][:modes]
	lRe, lIm := lambda[lo:][:modes], lambda[p+lo:][:modes]
	dRe, dIm := dLambda[lo:][:modes], dLambda[p+lo:][:modes]
	for t := range rows {
		at, before := first+t*stride+lo, from+t*step+lo
		sRe, sIm := s[at:][:modes], s[at+p:][:modes]
		bRe, bIm := past[before:][:modes], past[before+p:][:modes]
		for n := range hRe {
			re := float32(lRe[n]*hRe[n]) + float32(lIm[n]*hIm[n]) + sRe[n]
			im := float32(lRe[n]*hIm[n]) - float32(lIm[n]*hRe[n]) + sIm[n]
			if tiny(re) {
				re = 0
			}
			if tiny(im) {
				im = 0
			}
			hRe[n], hIm[n], sRe[n], sIm[n] = re, im, re, im
			dRe[n] += float32(re*bRe[n]) + float32(im*bIm[n])
			dIm[n] += float32(im*bRe[n]) - float32(re*bIm[n])
		}
	}
}
