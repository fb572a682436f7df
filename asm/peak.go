package asm

// peak generates FMAs on registers only. Their rate is the peak that other kernels are compared
// with.
func peak(f *file) {
	f.kernel("fmaPeak", "func(rounds int) float32", func(g *gen) {
		chains, factor, rounds := g.zeros(fmaChains(g.lanes)), g.broadcast(0.5), g.arg("rounds")
		g.times(rounds, func() {
			for _, c := range chains {
				g.VFMADD231PS(factor, factor, c)
			}
		})
		for _, c := range chains[1:] {
			g.VADDPS(c, chains[0], chains[0])
		}
		g.VMOVSS(chains[0].AsX(), placeOf(g.ReturnIndex(0)))
	})
}
