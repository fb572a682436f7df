package asm

// adamW generates the optimizer's update. Its time is that of one division and one square root per
// element. Denormal numbers are 0: the moments of a weight without gradient decay.
func adamW(f *file) {
	f.elementwise("adamW", "func(p, m, v, g []float32, new1, new2, keep, step, root, eps float32)", func(g *gen) {
		saved := g.flushDenormals()
		p, m, v, grad := g.ptr("p"), g.ptr("m"), g.ptr("v"), g.ptr("g")
		new1, new2, keep := g.broadcastArg("new1"), g.broadcastArg("new2"), g.broadcastArg("keep")
		step, root, eps := g.broadcastArg("step"), g.broadcastArg("root"), g.broadcastArg("eps")
		g.eachVec(g.length("p"), 2, func(r *run, u int) {
			d, first, second, weight := r.load(grad, u), r.load(m, u), r.load(v, u), r.load(p, u)
			g.VFNMADD231PS(new1, first, first) // m − a1·m + a1·g
			g.VFMADD231PS(new1, d, first)
			g.VFNMADD231PS(new2, second, second) // v − a2·v + (a2·g)·g
			scaled := g.vec()
			g.VMULPS(new2, d, scaled)
			g.VFMADD231PS(scaled, d, second)
			r.store(first, m, u)
			r.store(second, v, u)
			g.VMULPS(keep, weight, weight)
			g.VSQRTPS(second, second)
			g.VFMADD213PS(eps, root, second)
			g.VDIVPS(second, first, first)
			g.VFNMADD231PS(step, first, weight)
			r.store(weight, p, u)
		})
		g.LDMXCSR(saved)
	})
}
