package vek

// GLU sets dst = a·σ(b). dst may be a or b.
func GLU(dst, a, b []float32) {
	sameLen("GLU", len(dst), a, b)
	gluGeneric(dst, a, b)
}

// GLUGrad sets da = dy·σ(b) and db = dy·a·σ(b)·(1 − σ(b)). da may be a, db may be b, and either dy.
func GLUGrad(da, db, a, b, dy []float32) {
	sameLen("GLUGrad", len(da), db, a, b, dy)
	gluGradGeneric(da, db, a, b, dy)
}

func gluGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * sigmoid(b[i])
	}
}

func gluGradGeneric(da, db, a, b, dy []float32) {
	n := len(da)
	db, a, b, dy = db[:n], a[:n], b[:n], dy[:n]
	for i := range da {
		// 1 − σ(b) = σ(−b), without cancellation.
		v, e := a[i], expSum(-abs(b[i]), 0)
		r := 1 / (1 + e)
		s, c := r, e*r
		if b[i] < 0 {
			s, c = c, s
		}
		g := dy[i] * s
		da[i] = g
		db[i] = g * v * c
	}
}

func abs(x float32) float32 {
	if x < 0 {
		return -x
	}
	return x
}
