package asm

import "github.com/mmcloughlin/avo/reg"

// pointwise generates the kernels of one rounding or one fused product and sum an element.
func pointwise(f *file) {
	binary := func(name string, op func(g *gen, a, b, d reg.VecVirtual)) {
		f.elementwise(name, "func(dst, a, b []float32)", func(g *gen) {
			dst, a, b := g.ptr("dst"), g.ptr("a"), g.ptr("b")
			g.each(g.length("dst"), 4, func(r *run) {
				for u := range r.vecs {
					x, y := r.load(a, u), r.load(b, u)
					op(g, x, y, x)
					r.store(x, dst, u)
				}
			})
		})
	}
	binary("add", func(g *gen, a, b, d reg.VecVirtual) { g.VADDPS(a, b, d) })
	binary("mul", func(g *gen, a, b, d reg.VecVirtual) { g.VMULPS(a, b, d) })
}
