package vek

// FMAPeak runs rounds of multiply-adds x ← x + 1/4 on registers. Their rate is the peak that other
// kernels are compared with. It returns the number of floating-point operations, two per
// multiply-add, and the sum of the first lanes: 1/4 per round and chain.
func FMAPeak(rounds int) (sum float32, flops float64) {
	lanes := current().lanes()
	return fmaPeak(rounds), 2 * float64(fmaChains(lanes)*lanes) * float64(rounds)
}

func fmaPeakGeneric(rounds int) float32 {
	const q = 0.25
	one := float32(min(rounds, 1)) // not known to the compiler
	var a, b, c, d, e, g, h, i, j, k, l, m float32
	for range rounds {
		a, b, c, d = float32(a*one)+q, float32(b*one)+q, float32(c*one)+q, float32(d*one)+q
		e, g, h, i = float32(e*one)+q, float32(g*one)+q, float32(h*one)+q, float32(i*one)+q
		j, k, l, m = float32(j*one)+q, float32(k*one)+q, float32(l*one)+q, float32(m*one)+q
	}
	return a + b + c + d + e + g + h + i + j + k + l + m
}
