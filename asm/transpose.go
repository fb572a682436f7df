package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Transpositions in registers.

// quarters returns registers of which number s has quarter s of every vector: of four vectors in
// AVX-512, of two in AVX2 (two registers each), of one in NEON (four registers).
func (b *lanesGroup) quarters(x [4]complexVec) [4]complexVec {
	if b.neon() {
		return x
	}
	return eachPart(x, b.exchange)
}

// eachPart applies a permutation to the real parts, then to the imaginary ones.
func eachPart(x [4]complexVec, permute func([4]reg.VecVirtual) [4]reg.VecVirtual) (y [4]complexVec) {
	re := permute([4]reg.VecVirtual{x[0].re, x[1].re, x[2].re, x[3].re})
	im := permute([4]reg.VecVirtual{x[0].im, x[1].im, x[2].im, x[3].im})
	for i := range y {
		y[i] = complexVec{re[i], im[i]}
	}
	return y
}

// exchange transposes the quarters: x0 = (0 1 2 3), … become (x0.0 x1.0 x2.0 x3.0), …. In AVX2 the
// registers (a.0 a.1), (a.2 a.3), (b.0 b.1), (b.2 b.3) become (a.0 b.0), (a.1 b.1), (a.2 b.2), (a.3
// b.3).
func (b *lanesGroup) exchange(x [4]reg.VecVirtual) (y [4]reg.VecVirtual) {
	if !b.wide() {
		for i := range 2 {
			y[2*i], y[2*i+1] = b.vec(), x[i]
			b.VPERM2F128(operand.Imm(0x20), x[2+i], x[i], y[2*i])
			b.VPERM2F128(operand.Imm(0x31), x[2+i], x[i], y[2*i+1])
		}
		return y
	}
	lo0, lo1 := b.vec(), b.vec()
	b.VSHUFF32X4(operand.Imm(0x44), x[1], x[0], lo0)
	b.VSHUFF32X4(operand.Imm(0xEE), x[1], x[0], x[0])
	b.VSHUFF32X4(operand.Imm(0x44), x[3], x[2], lo1)
	b.VSHUFF32X4(operand.Imm(0xEE), x[3], x[2], x[2])
	for i := range y {
		y[i] = b.vec()
	}
	b.VSHUFF32X4(operand.Imm(0x88), lo1, lo0, y[0])
	b.VSHUFF32X4(operand.Imm(0xDD), lo1, lo0, y[1])
	b.VSHUFF32X4(operand.Imm(0x88), x[2], x[0], y[2])
	b.VSHUFF32X4(operand.Imm(0xDD), x[2], x[0], y[3])
	return y
}

// quartersBack is the inverse of quarters. The exchange of four is its own inverse.
func (b *lanesGroup) quartersBack(x [4]complexVec) (y [4]complexVec) {
	if b.wide() || b.neon() {
		return b.quarters(x)
	}
	for i := range 2 {
		y[i], y[i+2] = b.complexVec(), x[2*i]
		b.VPERM2F128(operand.Imm(0x20), x[2*i+1].re, x[2*i].re, y[i].re)
		b.VPERM2F128(operand.Imm(0x31), x[2*i+1].re, x[2*i].re, y[i+2].re)
		b.VPERM2F128(operand.Imm(0x20), x[2*i+1].im, x[2*i].im, y[i].im)
		b.VPERM2F128(operand.Imm(0x31), x[2*i+1].im, x[2*i].im, y[i+2].im)
	}
	return y
}

// transposed4 transposes the 4×4 numbers that lie in the same quarter of four registers.
func (b *lanesGroup) transposed4(x [4]complexVec) [4]complexVec {
	return eachPart(x, b.transposeQuarters)
}

func (g *gen) transposeQuarters(x [4]reg.VecVirtual) (y [4]reg.VecVirtual) {
	low0, low1 := g.vec(), g.vec()
	g.VUNPCKLPS(x[1], x[0], low0)
	g.VUNPCKHPS(x[1], x[0], x[0])
	g.VUNPCKLPS(x[3], x[2], low1)
	g.VUNPCKHPS(x[3], x[2], x[2])
	y = [4]reg.VecVirtual{g.vec(), low1, g.vec(), x[2]}
	g.VUNPCKLPD(low1, low0, y[0])
	g.VUNPCKHPD(low1, low0, y[1])
	g.VUNPCKLPD(x[2], x[0], y[2])
	g.VUNPCKHPD(x[2], x[0], y[3])
	return y
}
