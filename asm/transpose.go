package asm

import (
	"math"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Transpositions in registers.

// quarters loads a part's vectors. It returns their quarters: of four vectors in AVX-512, of two in
// AVX2, of one in NEON.
func (b *lanesGroup) quarters(first int) (x [4]complexVec) {
	for s := range x {
		if b.g.wide() || b.g.neon() {
			x[s] = b.g.load(b.vectors(first)[s])
		} else {
			x[s] = b.quarterOfTwo(b.x.at(64*first+16*s), b.x.at(64*(first+1)+16*s))
		}
	}
	if !b.g.wide() {
		return x
	}
	if b.radix == 2 {
		b.pairs(&x)
	}
	return eachPart(x, b.g.exchangeQuarters)
}

// quarterOfTwo returns a quarter of two vectors in AVX2. If the radix is 2, it returns their sum
// and their difference.
func (b *lanesGroup) quarterOfTwo(first, second complexMem) complexVec {
	x := b.inBothHalves(first)
	if b.radix == 2 {
		y := b.inBothHalves(second)
		upperMinus := b.g.table("upperminus", append(slices.Repeat([]uint32{math.Float32bits(1)}, 4), slices.Repeat([]uint32{math.Float32bits(-1)}, 4)...))
		b.g.VFMADD231PS(upperMinus, y.re, x.re)
		b.g.VFMADD231PS(upperMinus, y.im, x.im)
		return x
	}
	b.g.VINSERTF128(operand.Imm(1), second.re, x.re, x.re)
	b.g.VINSERTF128(operand.Imm(1), second.im, x.im, x.im)
	return x
}

func (b *lanesGroup) inBothHalves(m complexMem) complexVec {
	x := b.g.complexVec()
	b.g.VBROADCASTF128(m.re, x.re)
	b.g.VBROADCASTF128(m.im, x.im)
	return x
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

// exchangeQuarters transposes the quarters in AVX-512: x0 = (0 1 2 3), … become (x0.0 x1.0 x2.0
// x3.0), …. x is used up.
func (g *gen) exchangeQuarters(x [4]reg.VecVirtual) (y [4]reg.VecVirtual) {
	for i := 0; i < 4; i += 2 { // lower halves, upper halves
		lower := g.vec()
		g.VSHUFF32X4(operand.Imm(0x44), x[i+1], x[i], lower)
		g.VSHUFF32X4(operand.Imm(0xEE), x[i+1], x[i], x[i+1])
		x[i] = lower
	}
	for s := range y {
		y[s] = g.vec()
		g.VSHUFF32X4(operand.Imm([2]uint64{0x88, 0xDD}[s%2]), x[2+s/2], x[s/2], y[s])
	}
	return y
}

// exchangeHalves returns the lower halves of x and y, and their upper halves, in AVX2.
func (g *gen) exchangeHalves(x, y reg.VecVirtual) (lower, upper reg.VecVirtual) {
	lower, upper = g.vec(), g.vec()
	g.VPERM2F128(operand.Imm(0x20), y, x, lower)
	g.VPERM2F128(operand.Imm(0x31), y, x, upper)
	return lower, upper
}

// quartersBack returns the vectors whose quarters are given, the inverse of quarters.
func (b *lanesGroup) quartersBack(x [4]complexVec) (y [4]complexVec) {
	if b.g.wide() {
		return eachPart(x, b.g.exchangeQuarters)
	}
	if b.g.neon() {
		return x
	}
	for i := range 2 {
		y[i].re, y[i+2].re = b.g.exchangeHalves(x[2*i].re, x[2*i+1].re)
		y[i].im, y[i+2].im = b.g.exchangeHalves(x[2*i].im, x[2*i+1].im)
	}
	return y
}

// transposeQuarters transposes the 4×4 numbers that lie in the same quarter of four registers.
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
