package asm

// cmul generates the products of split complex vectors.
func cmul(f *file) {
	product := func(name string, op func(g *gen, r *run, d, a, b complexPtr, u int) complexVec) {
		f.elementwise(name, "func(dRe, dIm, aRe, aIm, bRe, bIm []float32)", func(g *gen) {
			d, a, b := g.complexPtr("dRe", "dIm"), g.complexPtr("aRe", "aIm"), g.complexPtr("bRe", "bIm")
			g.eachVec(g.length("dRe"), 2, func(r *run, u int) { r.storeComplex(op(g, r, d, a, b, u), d, u) })
		})
	}
	product("cmul", func(g *gen, r *run, _, a, b complexPtr, u int) complexVec {
		return g.product(r.loadComplex(a, u), r.loadComplex(b, u), asIs)
	})
	product("cmulConj", func(g *gen, r *run, _, a, b complexPtr, u int) complexVec {
		return g.product(r.loadComplex(a, u), r.loadComplex(b, u), conjugated)
	})
	product("cmulConjAdd", func(g *gen, r *run, d, a, b complexPtr, u int) complexVec {
		sum := r.loadComplex(d, u)
		g.addConjProduct(sum, r.loadComplex(a, u), r.loadComplex(b, u))
		return sum
	})
}
