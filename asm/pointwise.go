package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pointwise generates the elementwise sums and products, and the prefetch.
func pointwise(f *file) {
	f.kernel("prefetch", "func(x []float32)", func(g *gen) {
		x, left := g.ptr("x"), g.length("x")
		g.ADDQ(operand.Imm(15), left)
		g.SHRQ(operand.Imm(4), left)
		g.times(left, func() {
			g.PREFETCHT0(operand.Mem{Base: x})
			g.ADDQ(operand.Imm(64), x)
		})
	})
	binary := func(name string, op func(g *gen, a, b, d reg.VecVirtual)) {
		f.elementwise(name, "func(dst, a, b []float32)", func(g *gen) {
			dst, a, b := g.ptr("dst"), g.ptr("a"), g.ptr("b")
			g.eachVec(g.length("dst"), 4, func(r *run, u int) {
				x, y := r.load(a, u), r.load(b, u)
				op(g, x, y, x)
				r.store(x, dst, u)
			})
		})
	}
	binary("add", func(g *gen, a, b, d reg.VecVirtual) { g.VADDPS(a, b, d) })
	binary("mul", func(g *gen, a, b, d reg.VecVirtual) { g.VMULPS(a, b, d) })

	f.elementwise("fill", "func(dst []float32, c float32)", func(g *gen) {
		dst, c := g.ptr("dst"), g.broadcastArg("c")
		g.eachVec(g.length("dst"), 4, func(r *run, u int) {
			r.store(c, dst, u)
		})
	})
	f.elementwise("scale", "func(dst []float32, alpha float32, x []float32)", func(g *gen) {
		alpha := g.broadcastArg("alpha")
		g.function(4, func(x reg.VecVirtual) reg.VecVirtual { g.VMULPS(alpha, x, x); return x })
	})
	f.elementwise("scaleShift", "func(dst, x []float32, scale, shift float32)", func(g *gen) {
		scale, shift := g.broadcastArg("scale"), g.broadcastArg("shift")
		g.function(4, func(x reg.VecVirtual) reg.VecVirtual { g.VFMADD213PS(shift, scale, x); return x })
	})
	f.elementwise("axpy", "func(dst []float32, alpha float32, x []float32)", func(g *gen) {
		dst, x, alpha := g.ptr("dst"), g.ptr("x"), g.broadcastArg("alpha")
		g.eachVec(g.length("dst"), 4, func(r *run, u int) {
			sum := r.load(dst, u)
			g.VFMADD231PS(r.load(x, u), alpha, sum)
			r.store(sum, dst, u)
		})
	})
	f.elementwise("affineGrad", "func(dx, dy, x []float32, a, b, c float32)", func(g *gen) {
		dx, dy, x := g.ptr("dx"), g.ptr("dy"), g.ptr("x")
		a, b, c := g.broadcastArg("a"), g.broadcastArg("b"), g.broadcastArg("c")
		g.eachVec(g.length("dx"), 4, func(r *run, u int) {
			d, v := r.load(dy, u), r.load(x, u)
			g.VFMADD213PS(c, b, v)
			g.VFMADD231PS(d, a, v)
			r.store(v, dx, u)
		})
	})
}
