package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// complexVec is a vector of complex numbers.
type complexVec struct{ re, im reg.VecVirtual }

// multiply returns x·w, or x·conj(w); x is used up.
func (g *gen) multiply(x, w complexVec, conj bool) complexVec {
	if g.neon() {
		y, add, sub := complexVec{g.vec(), g.vec()}, g.VFMADD231PS, g.VFNMADD231PS
		if conj {
			add, sub = sub, add
		}
		g.VMULPS(w.re, x.re, y.re)
		g.VMULPS(w.re, x.im, y.im)
		sub(w.im, x.im, y.re)
		add(w.im, x.re, y.im)
		return y
	}
	t, u, add, sub := g.vec(), g.vec(), g.VFMADD213PS, g.VFMSUB213PS
	if conj {
		add, sub = sub, add
	}
	g.VMULPS(w.im, x.im, t)
	g.VMULPS(w.im, x.re, u)
	sub(t, w.re, x.re)
	add(u, w.re, x.im)
	return x
}

// multiplyByElements returns x·w or x·conj(w) at level neon, where w is the first two elements of a
// vector.
func (g *gen) multiplyByElements(x complexVec, w reg.VecVirtual, conj bool) complexVec {
	y, add, sub := complexVec{g.vec(), g.vec()}, opAddLane, opSubLane
	if conj {
		add, sub = sub, add
	}
	g.lane(opMulLane, 0, w, x.re, y.re)
	g.lane(opMulLane, 0, w, x.im, y.im)
	g.lane(sub, 1, w, x.im, y.re)
	g.lane(add, 1, w, x.re, y.im)
	return y
}

// lane writes an instruction by element i of m, at level neon.
func (g *gen) lane(opcode string, i int, m, n, d reg.VecVirtual) {
	g.custom(opcode, opcode != opMulLane, operand.Imm(uint64(i)), m, n, d)
}

// sumDiff returns x + y in x's registers, and x − y in new ones.
func (g *gen) sumDiff(x, y complexVec) (sum, diff complexVec) {
	diff = complexVec{g.vec(), g.vec()}
	g.VSUBPS(y.re, x.re, diff.re)
	g.VADDPS(y.re, x.re, x.re)
	g.VSUBPS(y.im, x.im, diff.im)
	g.VADDPS(y.im, x.im, x.im)
	return x, diff
}

// sumDiffI returns x − i·y in new registers, and x + i·y in x's.
func (g *gen) sumDiffI(x, y complexVec) (minus, plus complexVec) {
	minus = complexVec{g.vec(), g.vec()}
	g.VADDPS(y.im, x.re, minus.re)
	g.VSUBPS(y.im, x.re, x.re)
	g.VSUBPS(y.re, x.im, minus.im)
	g.VADDPS(y.re, x.im, x.im)
	return minus, x
}

// dft4 returns the transform of four numbers, y_k = Σ_m x_m·exp(∓2πi·km/4); the sign is + if
// inverse.
func (g *gen) dft4(x [4]complexVec, inverse bool) (y [4]complexVec) {
	s0, s1 := g.sumDiff(x[0], x[2])
	s2, s3 := g.sumDiff(x[1], x[3])
	y[0], y[2] = g.sumDiff(s0, s2)
	y[1], y[3] = g.sumDiffI(s1, s3)
	if inverse {
		y[1], y[3] = y[3], y[1]
	}
	return y
}

// complexProduct returns x·y.
func (g *gen) complexProduct(x, y complexVec) complexVec {
	re, im := g.vec(), g.vec()
	if g.neon() { // NEON subtracts products only
		g.VMULPD(y.re, x.re, re)
		g.VMULPD(y.re, x.im, im)
		g.VFNMADD231PD(y.im, x.im, re)
		g.VFMADD231PD(y.im, x.re, im)
		return complexVec{re, im}
	}
	g.VMULPD(y.im, x.im, re)
	g.VMULPD(y.im, x.re, im)
	g.VFMSUB231PD(y.re, x.re, re)
	g.VFMADD231PD(y.re, x.im, im)
	return complexVec{re, im}
}

// rotateDouble multiplies x by w, in place.
func (g *gen) rotateDouble(x complexVec, wRe, wIm reg.VecVirtual) {
	t, u := g.vec(), g.vec()
	g.VMULPD(wIm, x.im, t)
	g.VMULPD(wIm, x.re, u)
	g.VFMSUB213PD(t, wRe, x.re)
	g.VFMADD213PD(u, wRe, x.im)
}
