package vek

// fmaChains returns how many multiply-adds are under way at a time.
func fmaChains() int {
	if current() == neon {
		return 24
	}
	return 12
}

// FMAPeak makes rounds of multiply-adds on registers, x ← x + 1/4, and returns how many floating-point operations
// these were, two each: as fast as a processor can, and what other kernels' speeds are held against. sum is that of the
// first lanes, a quarter a round and chain: 3 a round of 12 (of 24 at level neon, 6).
func FMAPeak(rounds int) (sum float32, flops float64) {
	lanes := map[isa]int{generic: 1, avx2: 8, avx512: 16, neon: 4}[current()]
	return fmaPeak(rounds), 2 * float64(fmaChains()*lanes) * float64(rounds)
}

func fmaPeakGeneric(rounds int) float32 {
	const q = 0.25
	one := float32(min(rounds, 1)) // which no compiler knows
	var a, b, c, d, e, g, h, i, j, k, l, m float32
	for range rounds {
		a, b, c, d = float32(a*one)+q, float32(b*one)+q, float32(c*one)+q, float32(d*one)+q
		e, g, h, i = float32(e*one)+q, float32(g*one)+q, float32(h*one)+q, float32(i*one)+q
		j, k, l, m = float32(j*one)+q, float32(k*one)+q, float32(l*one)+q, float32(m*one)+q
	}
	return a + b + c + d + e + g + h + i + j + k + l + m
}
