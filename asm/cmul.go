package asm

import "github.com/mmcloughlin/avo/reg"

// cmul generates the products of split complex vectors.
func cmul(f *file) {
	const signature = "func(dRe, dIm, aRe, aIm, bRe, bIm []float32)"
	product := func(name string, op func(g *gen, a, b, d complexVec) complexVec, adds bool) {
		f.elementwise(name, signature, func(g *gen) {
			dRe, dIm, aRe, aIm, bRe, bIm := g.ptr("dRe"), g.ptr("dIm"), g.ptr("aRe"), g.ptr("aIm"), g.ptr("bRe"), g.ptr("bIm")
			g.each(g.length("dRe"), 2, func(r *run) {
				load := func(re, im reg.Register, u int) complexVec { return complexVec{r.load(re, u), r.load(im, u)} }
				for u := range r.vecs {
					var d complexVec
					if adds {
						d = load(dRe, dIm, u)
					}
					d = op(g, load(aRe, aIm, u), load(bRe, bIm, u), d)
					r.store(d.re, dRe, u)
					r.store(d.im, dIm, u)
				}
			})
		})
	}
	product("cmul", func(g *gen, a, b, _ complexVec) complexVec { return g.multiply(a, b, false) }, false)
	product("cmulConj", func(g *gen, a, b, _ complexVec) complexVec { return g.multiply(a, b, true) }, false)
	product("cmulConjAdd", func(g *gen, a, b, d complexVec) complexVec { // d + conj(a)·b
		g.VFMADD231PS(a.re, b.re, d.re)
		g.VFMADD231PS(a.re, b.im, d.im)
		g.VFMADD231PS(a.im, b.im, d.re)
		g.VFNMADD231PS(a.im, b.re, d.im)
		return d
	}, true)
}
