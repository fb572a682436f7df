package asm

// peakChains is how many FMAs are under way at a time: enough for two units of five cycles' latency, and for four of
// them where processors of a level have so many. (internal/vek counts them, too.)
func (g *gen) peakChains() int {
	if g.neon() {
		return 24
	}
	return 12
}

// peak generates FMAs on nothing but registers: how many of them a processor makes is what other kernels are held
// against.
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
