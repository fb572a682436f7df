package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The arithmetic of float32 vectors with constants, comparisons and bits.

// withConst writes an instruction whose first source is a constant. AVX-512 broadcasts it.
func (g *gen) withConst(vector, broadcast func(...operand.Op), c operand.Mem, x, dst reg.VecVirtual) {
	if g.wide() {
		vector = broadcast
	}
	vector(c, x, dst)
}

// mulAdd returns p·f + c; p is used up.
func (g *gen) mulAdd(p, f reg.VecVirtual, c float64) reg.VecVirtual {
	if g.neon() { // the sum replaces the summand
		sum := g.broadcast(c)
		g.VFMADD231PS(f, p, sum)
		return sum
	}
	g.withConst(g.VFMADD213PS, g.VFMADD213PS_BCST, g.float(c), f, p)
	return p
}

// addMul sets p = p + f·c.
func (g *gen) addMul(p, f reg.VecVirtual, c float64) {
	g.withConst(g.VFMADD231PS, g.VFMADD231PS_BCST, g.float(c), f, p)
}

// addConst returns x + c.
func (g *gen) addConst(x reg.VecVirtual, c float64) reg.VecVirtual {
	y := g.vec()
	g.withConst(g.VADDPS, g.VADDPS_BCST, g.float(c), x, y)
	return y
}

// mulConst returns x·c.
func (g *gen) mulConst(x reg.VecVirtual, c float64) reg.VecVirtual {
	y := g.vec()
	g.withConst(g.VMULPS, g.VMULPS_BCST, g.float(c), x, y)
	return y
}

// clamp clamps x to [lo, hi]; NaN stays NaN.
func (g *gen) clamp(x reg.VecVirtual, lo, hi float64) reg.VecVirtual {
	y := g.broadcast(lo)
	g.VMAXPS(x, y, y) // returns its second source, x, if one is NaN
	z := g.broadcast(hi)
	g.VMINPS(y, z, z)
	return z
}

// horner returns the polynomial with coefficients c, lowest first, at x.
func (g *gen) horner(x reg.VecVirtual, c []float64) reg.VecVirtual {
	p := g.broadcast(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = g.mulAdd(p, x, c[i])
	}
	return p
}

// condition is the result of a comparison: an opmask or a vector of all-ones.
type condition = mask

// Predicates of VCMPPS. Comparisons with NaN are false, except negated ones.
const (
	notBelow = 5 // not less than, true for NaN
	above    = 14
)

// compare returns where x and c satisfy the predicate.
func (g *gen) compare(predicate uint8, x reg.VecVirtual, c float64) condition {
	if g.wide() {
		k := g.K()
		g.VCMPPS_BCST(operand.Imm(uint64(predicate)), g.float(c), x, k)
		return condition{k: k}
	}
	m := g.vec()
	g.VCMPPS(operand.Imm(uint64(predicate)), g.float(c), x, m)
	return condition{v: m}
}

// keep zeros v where the condition does not hold.
func (g *gen) keep(v reg.VecVirtual, c condition) {
	if g.wide() {
		g.VMOVAPS_Z(v, c.k, v)
		return
	}
	g.VANDPS(c.v, v, v)
}

// blend returns yes where the condition holds, else no.
func (g *gen) blend(c condition, yes, no reg.VecVirtual) reg.VecVirtual {
	y := g.vec()
	if g.wide() {
		g.VBLENDMPS(yes, no, c.k, y)
		return y
	}
	g.VBLENDVPS(c.v, yes, no, y)
	return y
}

// roundingLoss returns c minus its float32.
func roundingLoss(c float64) float64 { return c - float64(float32(c)) }

// and returns x & bits.
func (g *gen) and(x reg.VecVirtual, bits uint32) reg.VecVirtual {
	y := g.vec()
	if g.wide() {
		g.VPANDD_BCST(g.repeated(bits), x, y)
	} else {
		g.VPAND(g.repeated(bits), x, y)
	}
	return y
}

// flip negates v in the lanes where bits has the sign bit.
func (g *gen) flip(v, bits, sign reg.VecVirtual) {
	if g.wide() {
		g.VPTERNLOGQ(operand.U8(0x78), sign, bits, v) // v ^ (bits & sign)
		return
	}
	masked := g.vec()
	g.VPAND(sign, bits, masked)
	g.VPXOR(masked, v, v)
}

// flushDenormals makes the processor flush denormal numbers to 0. It returns where the previous
// settings are saved.
func (g *gen) flushDenormals() (saved operand.Mem) {
	const flushToZero, denormalsAreZero = 1 << 15, 1 << 6
	bits := flushToZero | denormalsAreZero
	if g.neon() {
		bits = 1 << 24 // both
	}
	frame, r := g.AllocLocal(8), g.GP32()
	g.STMXCSR(frame)
	g.MOVL(frame, r)
	g.ORL(operand.U32(bits), r)
	g.MOVL(r, frame.Offset(4))
	g.LDMXCSR(frame.Offset(4))
	return frame
}
