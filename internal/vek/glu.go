package vek

// GLU sets dst = a·σ(b). dst may be a or b.
func GLU(dst, a, b []float32) {
	sameLen("GLU", len(dst), a, b)
	glu(dst, a, b)
}

// GLUGrad sets da = dy·σ(b) and db = dy·a·σ(b)·(1 − σ(b)). da may be a, db may be b, and either dy.
func GLUGrad(da, db, a, b, dy []float32) {
	sameLen("GLUGrad", len(da), db, a, b, dy)
	gluGrad(da, db, a, b, dy)
}

// dst = a·σ(b), σ(b) = 1/(1 + exp(−b)). The exponential does not overflow in float64, and the
// relative error of σ is small on both sides of 0.
func gluGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range b {
		if !(v >= expMin && v <= -expMin) {
			dst[i] = a[i] * sigmoidBeyond(v)
			continue
		}
		n, f := exp2Split(float64(float64(v) * -log2e))
		dst[i] = float32(float64(a[i]) / (1 + exp2Join(n, exp2Poly(f))))
	}
}

// da = dy·σ(b) and db = dy·a·σ(b)·(1 − σ(b)). With e = exp(−b), σ(b) = 1/(1+e) and 1 − σ(b) =
// e/(1+e), without cancellation.
func gluGradGeneric(da, db, a, b, dy []float32) {
	db, a, b, dy = db[:len(da)], a[:len(da)], b[:len(da)], dy[:len(da)]
	for i, v := range b {
		if !(v >= expMin && v <= -expMin) {
			s := sigmoidBeyond(v)
			da[i], db[i] = dy[i]*s, dy[i]*a[i]*(s*sigmoidBeyond(-v))
			continue
		}
		n, f := exp2Split(float64(float64(v) * -log2e))
		e := exp2Join(n, exp2Poly(f))
		s := 1 / (1 + e)
		g := float64(dy[i]) * s
		da[i], db[i] = float32(g), float32(g*float64(a[i])*(e*s))
	}
}
