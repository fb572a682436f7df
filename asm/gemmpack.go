package asm

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packStraight: dst[p·width+j] = src[p·stride+j] for j < cols, and 0 for cols ≤ j < width. cols is
// at most a tile's width.
func packStraight(g *gen) {
	dst, src, k := g.arg("dst"), g.arg("src"), g.arg("k")
	width, stride, cols := g.arg("width"), g.arg("stride"), g.arg("cols")
	g.SHLQ(operand.Imm(2), stride)
	_, wide := tileSize(g.level)
	from, to := make([]mask, wide), make([]mask, wide)
	rest := g.GP64()
	g.MOVQ(width, rest)
	for j := range from {
		from[j], to[j] = g.firstLanes(cols), g.firstLanes(rest)
		g.SUBQ(operand.Imm(uint64(g.lanes)), cols)
		g.SUBQ(operand.Imm(uint64(g.lanes)), rest)
	}
	g.SHLQ(operand.Imm(2), width)
	// Full vectors need no masks, which AVX2 processors store slowly.
	full := g.label("full")
	g.TESTQ(cols, cols)
	g.JGE(operand.LabelRef(full))
	g.times(k, func() {
		v := g.vecs(wide)
		for j := range v {
			g.loadMasked(from[j], operand.Mem{Base: src, Disp: 4 * g.lanes * j}, v[j])
			g.storeMasked(to[j], v[j], operand.Mem{Base: dst, Disp: 4 * g.lanes * j})
		}
		g.ADDQ(stride, src)
		g.ADDQ(width, dst)
	})
	g.ret()
	g.Label(full)
	g.times(k, func() {
		v := g.vecs(wide)
		for j := range v {
			g.VMOVUPS(operand.Mem{Base: src, Disp: 4 * g.lanes * j}, v[j])
			g.VMOVUPS(v[j], operand.Mem{Base: dst, Disp: 4 * g.lanes * j})
		}
		g.ADDQ(stride, src)
		g.ADDQ(width, dst)
	})
}

// packTransposed: dst[p·width+i] = src[i·stride+p] for i < rows, at most the lanes of a vector.
// Lanes from rows on are not written. Square blocks are transposed in registers.
func packTransposed(g *gen) {
	dst, src, k := g.arg("dst"), g.arg("src"), g.arg("k")
	width, stride, rows := g.arg("width"), g.arg("stride"), g.arg("rows")
	floats := g.GP64()
	g.MOVQ(width, floats)
	g.SHLQ(operand.Imm(2), width)
	g.SHLQ(operand.Imm(2), stride)
	n := g.lanes
	store := g.firstLanes(rows)

	loop, tail, end := g.label("loop"), g.label("tail"), g.label("end")
	block := func(load func(src operand.Mem, dst reg.VecVirtual), put func(i int, v reg.VecVirtual)) {
		x := g.vecs(n)
		row, left, loaded := g.GP64(), g.GP64(), g.label("loaded")
		g.MOVQ(src, row)
		g.MOVQ(rows, left)
		for i := range x {
			g.clear(x[i])
		}
		for i := range x {
			load(operand.Mem{Base: row}, x[i])
			g.ADDQ(stride, row)
			g.DECQ(left)
			g.JZ(operand.LabelRef(loaded))
		}
		g.Label(loaded)
		for i, v := range g.transpose(x) {
			put(i, v)
		}
	}
	out := func(v reg.VecVirtual) {
		g.storeMasked(store, v, operand.Mem{Base: dst})
		g.ADDQ(width, dst)
	}
	load := func(src operand.Mem, dst reg.VecVirtual) { g.VMOVUPS(src, dst) }
	if !g.wide() {
		// No masks are needed while there are no lanes past rows, or later stores overwrite them.
		whole, least := g.label("whole"), g.GP64()
		g.XORQ(least, least)
		g.ADDQ(operand.Imm(uint64(n)), least)
		g.CMPQ(rows, operand.Imm(uint64(n)))
		g.JE(operand.LabelRef(whole))
		g.CMPQ(rows, floats)
		g.JNE(operand.LabelRef(loop))
		g.ADDQ(operand.Imm(uint64(n)), least)
		g.Label(whole)
		g.CMPQ(k, least)
		g.JL(operand.LabelRef(loop))
		block(load, func(_ int, v reg.VecVirtual) {
			g.VMOVUPS(v, operand.Mem{Base: dst})
			g.ADDQ(width, dst)
		})
		g.ADDQ(operand.Imm(uint64(4*n)), src)
		g.SUBQ(operand.Imm(uint64(n)), k)
		g.JMP(operand.LabelRef(whole))
	}
	g.Label(loop)
	g.CMPQ(k, operand.Imm(uint64(n)))
	g.JL(operand.LabelRef(tail))
	block(load, func(_ int, v reg.VecVirtual) { out(v) })
	g.ADDQ(operand.Imm(uint64(4*n)), src)
	g.SUBQ(operand.Imm(uint64(n)), k)
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.TESTQ(k, k)
	g.JLE(operand.LabelRef(end))
	m := g.firstLanes(k)
	block(func(src operand.Mem, dst reg.VecVirtual) { g.loadMasked(m, src, dst) }, func(i int, v reg.VecVirtual) {
		out(v)
		g.DECQ(k)
		g.JZ(operand.LabelRef(end))
	})
	g.Label(end)
}

// transpose returns the transposed square of vectors. It exchanges floats, pairs of floats and then
// 128-bit quarters.
func (g *gen) transpose(x []reg.VecVirtual) []reg.VecVirtual {
	n := g.lanes
	if len(x) != n {
		panic(fmt.Sprintf("transpose: %d vectors of %d lanes", len(x), n))
	}
	t := make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 4 { // 4×4 blocks in each quarter
		ab0, ab1, cd0, cd1 := g.vec(), g.vec(), g.vec(), g.vec()
		g.VUNPCKLPS(x[i+1], x[i], ab0)
		g.VUNPCKHPS(x[i+1], x[i], ab1)
		g.VUNPCKLPS(x[i+3], x[i+2], cd0)
		g.VUNPCKHPS(x[i+3], x[i+2], cd1)
		for j := range 4 {
			t[i+j] = g.vec()
		}
		g.VUNPCKLPD(cd0, ab0, t[i])
		g.VUNPCKHPD(cd0, ab0, t[i+1])
		g.VUNPCKLPD(cd1, ab1, t[i+2])
		g.VUNPCKHPD(cd1, ab1, t[i+3])
	}
	if g.neon() {
		return t
	}
	y := make([]reg.VecVirtual, n)
	if !g.wide() {
		for j := range 4 { // t[j] and t[j+4] exchange halves
			y[j], y[j+4] = g.vec(), g.vec()
			g.VPERM2F128(operand.Imm(0x20), t[j+4], t[j], y[j])
			g.VPERM2F128(operand.Imm(0x31), t[j+4], t[j], y[j+4])
		}
		return y
	}
	for j := range 4 { // a 4×4 transposition of quarters
		lo0, hi0, lo1, hi1 := g.vec(), g.vec(), g.vec(), g.vec()
		g.VSHUFF32X4(operand.Imm(0x44), t[j+4], t[j], lo0)
		g.VSHUFF32X4(operand.Imm(0xEE), t[j+4], t[j], hi0)
		g.VSHUFF32X4(operand.Imm(0x44), t[j+12], t[j+8], lo1)
		g.VSHUFF32X4(operand.Imm(0xEE), t[j+12], t[j+8], hi1)
		for q := range 4 {
			y[j+4*q] = g.vec()
		}
		g.VSHUFF32X4(operand.Imm(0x88), lo1, lo0, y[j])
		g.VSHUFF32X4(operand.Imm(0xDD), lo1, lo0, y[j+4])
		g.VSHUFF32X4(operand.Imm(0x88), hi1, hi0, y[j+8])
		g.VSHUFF32X4(operand.Imm(0xDD), hi1, hi0, y[j+12])
	}
	return y
}
