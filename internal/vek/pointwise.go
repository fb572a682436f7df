package vek

// Add sets dst = a + b. dst may be a or b.
func Add(dst, a, b []float32) {
	sameLen("Add", len(dst), a, b)
	add(dst, a, b)
}

func addGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// Axpy adds alpha·x to dst.
func Axpy(dst []float32, alpha float32, x []float32) {
	sameLen("Axpy", len(dst), x)
	axpy(dst, alpha, x)
}

func axpyGeneric(dst []float32, alpha float32, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += float32(alpha * x[i])
	}
}

// Fill sets every element of dst to c.
func Fill(dst []float32, c float32) { fill(dst, c) }

func fillGeneric(dst []float32, c float32) {
	for i := range dst {
		dst[i] = c
	}
}

// Mul sets dst = a·b. dst may be a or b.
func Mul(dst, a, b []float32) {
	sameLen("Mul", len(dst), a, b)
	mul(dst, a, b)
}

func mulGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

// Prefetch asks the processor to load x into the L1 cache, without waiting for it. It is for loops
// over tiles, which read a few hundred bytes of every row. Processors do not prefetch such pieces
// by themselves.
func Prefetch(x []float32) { prefetch(x) }

func prefetchGeneric(x []float32) {}

// Scale sets dst = alpha·x. dst may be x.
func Scale(dst []float32, alpha float32, x []float32) {
	sameLen("Scale", len(dst), x)
	scale(dst, alpha, x)
}

func scaleGeneric(dst []float32, alpha float32, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = alpha * x[i]
	}
}

// ScaleShift sets dst = scale·x + shift. dst may be x.
func ScaleShift(dst, x []float32, scale, shift float32) {
	sameLen("ScaleShift", len(dst), x)
	scaleShift(dst, x, scale, shift)
}

func scaleShiftGeneric(dst, x []float32, scale, shift float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = float32(scale*x[i]) + shift
	}
}
