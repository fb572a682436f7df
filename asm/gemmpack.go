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
	n := tilingOf(g.lanes).vecs()
	from, to := g.whole(n), g.whole(n)
	rest := g.GP64()
	g.MOVQ(width, rest)
	for j := range from {
		loads, stores := g.firstLanes(cols), g.firstLanes(rest)
		from[j].mask, to[j].mask = &loads, &stores
		g.SUBQ(operand.Imm(uint64(g.lanes)), cols)
		g.SUBQ(operand.Imm(uint64(g.lanes)), rest)
	}
	g.SHLQ(operand.Imm(2), width)
	rows := func(from, to []*run) {
		g.times(k, func() {
			for j := range from {
				v := from[j].fetch(operand.Mem{Base: src, Disp: 4 * g.lanes * j})
				to[j].put(v, operand.Mem{Base: dst, Disp: 4 * g.lanes * j})
			}
			g.ADDQ(stride, src)
			g.ADDQ(width, dst)
		})
	}
	// Full vectors need no masks, which AVX2 processors store slowly.
	full := g.label("full")
	g.TESTQ(cols, cols)
	g.JGE(operand.LabelRef(full))
	rows(from, to)
	g.ret()
	g.Label(full)
	rows(g.whole(n), g.whole(n))
}

// packTransposed: dst[p·width+i] = src[i·stride+p] for i < rows, 1 ≤ rows ≤ lanes. Lanes from rows
// on are not written. Squares of lanes × lanes are transposed in registers.
func packTransposed(g *gen) {
	dst, src, k := g.arg("dst"), g.arg("src"), g.arg("k")
	width, stride, rows := g.arg("width"), g.arg("stride"), g.arg("rows")
	floats := g.GP64()
	g.MOVQ(width, floats)
	g.SHLQ(operand.Imm(2), width)
	g.SHLQ(operand.Imm(2), stride)
	store := g.firstLanes(rows)
	p := packing{g: g, dst: dst, src: src, k: k, width: width, stride: stride, rows: rows}

	loop, tail, end := g.label("loop"), g.label("tail"), g.label("end")
	if !g.wide() {
		p.unmasked(floats, loop)
	}
	masked := &run{g: g, mask: &store}
	g.Label(loop)
	g.CMPQ(k, operand.Imm(uint64(g.lanes)))
	g.JL(operand.LabelRef(tail))
	p.square(masked)
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.TESTQ(k, k)
	g.JLE(operand.LabelRef(end))
	p.last(masked, end)
	g.Label(end)
}

// packing generates the code of packTransposed. The next square begins at src, and its first row in
// dst. k is the number of rows of dst that remain. width and stride are in bytes.
type packing struct {
	g                   *gen
	dst, src, k         reg.Register
	width, stride, rows reg.Register
}

// unmasked packs squares without masks while there are no lanes past rows, or while later rows of
// dst overwrite them: if rows is the width of a panel, in floats, a store reaches at most lanes
// floats past its row. Then it jumps to rest, with less than a square or with rows that need masks.
func (p packing) unmasked(floats reg.Register, rest string) {
	n := p.g.lanes
	whole, least := p.g.label("whole"), p.g.GP64()
	p.g.XORQ(least, least)
	p.g.ADDQ(operand.Imm(uint64(n)), least)
	p.g.CMPQ(p.rows, operand.Imm(uint64(n)))
	p.g.JE(operand.LabelRef(whole))
	p.g.CMPQ(p.rows, floats)
	p.g.JNE(operand.LabelRef(rest))
	p.g.ADDQ(operand.Imm(uint64(n)), least) // the last square takes masks
	p.g.Label(whole)
	p.g.CMPQ(p.k, least)
	p.g.JL(operand.LabelRef(rest))
	p.square(&run{g: p.g})
	p.g.JMP(operand.LabelRef(whole))
}

// square packs lanes rows of dst, which r stores, and moves to the next square.
func (p packing) square(r *run) {
	for _, v := range p.columns(&run{g: p.g}) {
		p.putRow(r, v)
	}
	p.g.ADDQ(operand.Imm(uint64(4*p.g.lanes)), p.src)
	p.g.SUBQ(operand.Imm(uint64(p.g.lanes)), p.k)
}

// last packs the last k < lanes rows of dst, then jumps to end.
func (p packing) last(r *run, end string) {
	m := p.g.firstLanes(p.k)
	for _, v := range p.columns(&run{g: p.g, mask: &m}) {
		p.putRow(r, v)
		p.g.DECQ(p.k)
		p.g.JZ(operand.LabelRef(end))
	}
}

// putRow stores a row of dst and moves to the next.
func (p packing) putRow(r *run, v reg.VecVirtual) {
	r.put(v, operand.Mem{Base: p.dst})
	p.g.ADDQ(p.width, p.dst)
}

// columns loads rows vectors from src on, and returns the transposed square.
func (p packing) columns(r *run) []reg.VecVirtual {
	row, left, loaded := p.g.GP64(), p.g.GP64(), p.g.label("loaded")
	p.g.MOVQ(p.src, row)
	p.g.MOVQ(p.rows, left)
	x := p.g.zeros(p.g.lanes)
	for _, v := range x {
		r.fetchTo(operand.Mem{Base: row}, v)
		p.g.ADDQ(p.stride, row)
		p.g.DECQ(left)
		p.g.JZ(operand.LabelRef(loaded))
	}
	p.g.Label(loaded)
	return p.g.transpose(x)
}

// transpose returns the transposed square of vectors. It exchanges floats, pairs of floats and then
// 128-bit quarters.
func (g *gen) transpose(x []reg.VecVirtual) []reg.VecVirtual {
	n := g.lanes
	if len(x) != n {
		panic(fmt.Sprintf("transpose: %d vectors of %d lanes", len(x), n))
	}
	t := make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 4 {
		quarters := g.transposeQuarters([4]reg.VecVirtual(x[i:]))
		copy(t[i:], quarters[:])
	}
	if g.neon() {
		return t
	}
	y := make([]reg.VecVirtual, n)
	for j := range 4 {
		if !g.wide() {
			y[j], y[j+4] = g.exchangeHalves(t[j], t[j+4])
			continue
		}
		quarters := g.exchangeQuarters([4]reg.VecVirtual{t[j], t[j+4], t[j+8], t[j+12]})
		for q, v := range quarters {
			y[j+4*q] = v
		}
	}
	return y
}
