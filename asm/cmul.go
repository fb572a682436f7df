package asm

// cmul generates the product of split complex vectors that is added to a third.
func cmul(f *file) {
	f.elementwise("cmulConjAdd", "func(dRe, dIm, aRe, aIm, bRe, bIm []float32)", func(g *gen) {
		d, a, b := g.complexPtr("dRe", "dIm"), g.complexPtr("aRe", "aIm"), g.complexPtr("bRe", "bIm")
		g.eachVec(g.length("dRe"), 2, func(r *run, u int) {
			sum := r.loadComplex(d, u)
			g.addConjProduct(sum, r.loadComplex(a, u), r.loadComplex(b, u))
			r.storeComplex(sum, d, u)
		})
	})
}
