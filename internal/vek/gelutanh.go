package vek

// GELUTanh sets dst = x/2·(1 + tanh(√(2/π)·(x + 0.044715x³))), the tanh form of GELU (Hendrycks and
// Gimpel, arXiv 1606.08415, §2). The error is below 2.5 ulp of the result. Results for x ≤ −10.06
// are 0. dst may be x.
func GELUTanh(dst, x []float32) {
	sameLen("GELUTanh", len(dst), x)
	geluTanh(dst, x)
}

// GELUTanhSlope sets y as GELUTanh does and slope to its derivative in one pass. The slope is
// σ(w)·(1 + x·w′·(1 − σ(w))), see geluTanhGeneric; its error is below 5.5 ulp of the sum of the
// magnitudes of both terms. y or slope may be x.
func GELUTanhSlope(y, slope, x []float32) {
	sameLen("GELUTanhSlope", len(y), slope, x)
	geluTanhSlope(y, slope, x)
}

// dst = x·σ(w), w = x·(2√(2/π) + 0.08943√(2/π)·x²), σ(w) = 1/(1 + exp(−w)).
func geluTanhGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		if !(v > geluTanhMin && v < geluTanhMax) {
			dst[i] = max(v, 0) // NaN, too
			continue
		}
		d := float64(v)
		n, f := exp2Split(float64(float64(d*(tanhA+float64(tanhB*float64(d*d)))) * -log2e))
		dst[i] = float32(d / (1 + exp2Join(n, exp2Poly(f))))
	}
}

// y = x·σ(w) and slope = σ(w)·(1 + x·w′·(1 − σ(w))), with w′ the derivative of w by x. With e =
// exp(−w), 1 − σ(w) = e/(1 + e).
func geluTanhSlopeGeneric(y, slope, x []float32) {
	y, slope = y[:len(x)], slope[:len(x)]
	for i, v := range x {
		if !(v > geluTanhMin && v < geluTanhMax) {
			y[i], slope[i] = max(v, 0), sigmoidBeyond(v)
			continue
		}
		d := float64(v)
		square := float64(d * d)
		n, f := exp2Split(float64(float64(d*(tanhA+float64(tanhB*square))) * -log2e))
		e := exp2Join(n, exp2Poly(f))
		s := 1 / (1 + e)
		y[i] = float32(d * s)
		slope[i] = float32(s * (1 + float64(float64(d*(tanhA+float64(3*tanhB*square)))*float64(e*s))))
	}
}
