package asm

// peakChains is the number of independent FMAs: enough for two units with a latency of five cycles,
// and for four units at levels whose processors have four. (internal/vek counts them too.)
func (g *gen) peakChains() int {
	if g.neon() {
		return 24
	}
	return 12
}

// peak generates FMAs on registers only. Their rate is the peak that other kernels are compared
// with.
func peak(f *file) {
	f.kernel("fmaPeak", "func(rounds int) float32", func(g *gen) {
		chains, factor, rounds := g.zeros(g.peakChains()), g.broadcast(0.5), g.arg("rounds")
		g.times(rounds, func() {
			for _, c := range chains {
				g.VFMADD231PS(factor, factor, c)
			}
		})
		for _, c := range chains[1:] {
			g.VADDPS(c, chains[0], chains[0])
		}
		g.VMOVSS(chains[0].AsX(), g.result(0))
	})
}
