package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumLanes: dst[i] = the sum of the lanes of rows[i], for n rounded up to whole vectors.
func sumLanes(g *gen) {
	dst, rows, n := g.arg("dst"), g.arg("rows"), g.arg("n")
	g.while("loop", n, func() {
		g.VMOVUPS(g.sumRows(rows), operand.Mem{Base: dst})
		g.ADDQ(operand.U32(4*g.lanes*g.lanes), rows)
		g.ADDQ(operand.U32(4*g.lanes), dst)
		g.SUBQ(operand.U32(g.lanes), n)
	})
}

// sumRows returns the sums of the lanes of as many vectors as a vector has lanes. The lanes are
// added in the same order for every vector.
func (g *gen) sumRows(rows reg.Register) reg.VecVirtual {
	quarters := make([]reg.VecVirtual, g.lanes/4)
	for q := range quarters {
		var pairs [2]reg.VecVirtual
		for i := range pairs {
			even, odd := g.vec(), operand.Mem{Base: rows, Disp: 4 * g.lanes * (4*q + 2*i + 1)}
			g.VMOVUPS(odd.Offset(-4*g.lanes), even)
			low, high := g.vec(), g.vec()
			g.VUNPCKLPS(odd, even, low)
			g.VUNPCKHPS(odd, even, high)
			g.VADDPS(high, low, low)
			pairs[i] = low
		}
		low, high := g.vec(), g.vec()
		g.VUNPCKLPD(pairs[1], pairs[0], low)
		g.VUNPCKHPD(pairs[1], pairs[0], high)
		g.VADDPS(high, low, low)
		quarters[q] = low
	}
	if g.neon() {
		return quarters[0]
	}
	fold := func(a, b reg.VecVirtual, low, high uint8) reg.VecVirtual {
		l, h := g.vec(), g.vec()
		if g.wide() {
			g.VSHUFF32X4(operand.U8(low), b, a, l)
			g.VSHUFF32X4(operand.U8(high), b, a, h)
		} else {
			g.VPERM2F128(operand.U8(low), b, a, l)
			g.VPERM2F128(operand.U8(high), b, a, h)
		}
		g.VADDPS(h, l, l)
		return l
	}
	if !g.wide() {
		return fold(quarters[0], quarters[1], 0x20, 0x31)
	}
	a, b := fold(quarters[0], quarters[1], 0x44, 0xEE), fold(quarters[2], quarters[3], 0x44, 0xEE)
	return fold(a, b, 0x88, 0xDD)
}

// ssmOutput: y = 2·sums + d·x for the samples of each channel. sums is [channels][samples]. The
// product d·x is rounded before the sum, as in plain Go.
func ssmOutput(g *gen) {
	y, x, sums, d := g.arg("y"), g.arg("x"), g.arg("sums"), g.arg("d")
	g.times(g.arg("channels"), func() {
		v := g.vec()
		g.VBROADCASTSS(operand.Mem{Base: d}, v)
		g.eachVec(g.arg("samples"), 2, func(r *run, u int) {
			s, in := r.load(sums, u), r.load(x, u)
			g.VADDPS(s, s, s)
			g.VMULPS(v, in, in)
			g.VADDPS(in, s, s)
			r.store(s, y, u)
		})
		g.ADDQ(g.stride("yStride"), y)
		g.ADDQ(g.stride("xStride"), x)
		g.ADDQ(g.stride("samples"), sums)
		g.ADDQ(operand.Imm(4), d)
	})
}
