package vek

// fmaChains is how many multiply-adds are under way at a time.
const fmaChains = 12

// FMAPeak makes rounds of multiply-adds on registers, x ← x/2 + 1/2, and returns how many floating-point operations
// these were, two each: as fast as a processor can, and what other kernels' speeds are held against. sum is that of the
// first lanes, 12 after enough rounds.
func FMAPeak(rounds int) (sum float32, flops float64) {
	lanes := map[isa]int{generic: 1, avx2: 8, avx512: 16}[current]
	return fmaPeak(rounds), 2 * fmaChains * float64(lanes) * float64(rounds)
}

func fmaPeakGeneric(rounds int) float32 {
	const f = 0.5
	var a, b, c, d, e, g, h, i, j, k, l, m float32
	for range rounds {
		a, b, c, d = float32(a*f)+f, float32(b*f)+f, float32(c*f)+f, float32(d*f)+f
		e, g, h, i = float32(e*f)+f, float32(g*f)+f, float32(h*f)+f, float32(i*f)+f
		j, k, l, m = float32(j*f)+f, float32(k*f)+f, float32(l*f)+f, float32(m*f)+f
	}
	return a + b + c + d + e + g + h + i + j + k + l + m
}
