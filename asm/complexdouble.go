package asm

import "github.com/mmcloughlin/avo/reg"

// The verbs of complex vectors of float64. Moves and stores are those of float32.

// spreadComplexDouble fills a vector with one number in memory.
func (g *gen) spreadComplexDouble(m complexMem) complexVec {
	return complexVec{g.spreadDouble(m.re), g.spreadDouble(m.im)}
}

// mulRealDouble sets x = c·x for a real c.
func (g *gen) mulRealDouble(x complexVec, c reg.VecVirtual) {
	g.VMULPD(c, x.re, x.re)
	g.VMULPD(c, x.im, x.im)
}

// productDouble returns x·y in new registers.
func (g *gen) productDouble(x, y complexVec) complexVec {
	z := g.complexVec()
	if g.neon() { // NEON subtracts products only
		g.VMULPD(y.re, x.re, z.re)
		g.VMULPD(y.re, x.im, z.im)
		g.VFNMADD231PD(y.im, x.im, z.re)
		g.VFMADD231PD(y.im, x.re, z.im)
		return z
	}
	g.VMULPD(y.im, x.im, z.re)
	g.VMULPD(y.im, x.re, z.im)
	g.VFMSUB231PD(y.re, x.re, z.re)
	g.VFMADD231PD(y.re, x.im, z.im)
	return z
}

// rotateDouble sets x = x·w.
func (g *gen) rotateDouble(x, w complexVec) {
	if g.neon() {
		g.move(g.productDouble(x, w), x)
		return
	}
	t, u := g.vec(), g.vec()
	g.VMULPD(w.im, x.im, t)
	g.VMULPD(w.im, x.re, u)
	g.VFMSUB213PD(t, w.re, x.re)
	g.VFMADD213PD(u, w.re, x.im)
}

// addProductDouble sets d = d + a·b.
func (g *gen) addProductDouble(d, a, b complexVec) {
	g.VFMADD231PD(a.re, b.re, d.re)
	g.VFMADD231PD(a.re, b.im, d.im)
	g.VFNMADD231PD(a.im, b.im, d.re)
	g.VFMADD231PD(a.im, b.re, d.im)
}
