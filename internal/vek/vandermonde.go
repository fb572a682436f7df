package vek

// Powers fills re and im with the real and imaginary parts of first·ratio^i, element i at i·stride, rounded
// once from float64. Both have (n−1)·stride+1 elements or more. |ratio| ≤ 1.
func Powers(re, im []float32, n, stride int, first, ratio complex128) {
	if n < 0 || stride < 1 || n > 0 && (len(re) <= (n-1)*stride || len(im) <= (n-1)*stride) {
		panic("vek: Powers: destination too short")
	}
	powersGeneric(re, im, n, stride, first, ratio)
}

// Four interleaved chains hide the latency of the products.
func powersGeneric(re, im []float32, n, stride int, first, ratio complex128) {
	r2 := ratio * ratio
	r4 := r2 * r2
	p := [4]complex128{first, first * ratio, first * r2, first * r2 * ratio}
	i, at := 0, 0
	for ; i+4 <= n; i += 4 {
		for k := range p {
			re[at], im[at] = float32(real(p[k])), float32(imag(p[k]))
			at += stride
			p[k] *= r4
		}
	}
	for k := 0; i < n; i, k = i+1, k+1 {
		re[at], im[at] = float32(real(p[k])), float32(imag(p[k]))
		at += stride
	}
}
