package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// powerSums: sum_n = Σ_a λ_n^a·x_{an}, by Horner's rule from the last row to the first, for strips
// of modes.
func (g *gen) powerSums() {
	n, at := g.length("lamRe"), g.GP64()
	g.XORQ(at, at)
	half := g.lanes / 2
	widest := 2
	if g.wide() {
		widest = 4
	}
	for _, vecs := range []int{widest, 1} {
		loop, done := g.label("strips"), g.label("done")
		g.Label(loop)
		g.CMPQ(n, operand.U32(vecs*half))
		g.JL(operand.LabelRef(done))
		g.sumStrip(at, vecs, nil)
		g.ADDQ(operand.U32(vecs*half), at)
		g.SUBQ(operand.U32(vecs*half), n)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
	end := g.label("end")
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(end))
	g.sumStrip(at, 1, n)
	g.Label(end)
}

// sumStrip computes the sums of the modes from at on: of vecs full vectors, or of the n modes of a
// last one.
func (g *gen) sumStrip(at reg.Register, vecs int, n reg.Register) {
	var doubles, floats mask
	if n != nil {
		twice := g.GP64()
		g.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1}, twice)
		doubles, floats = g.firstLanes(twice), g.firstLanes(n)
	}
	load := func(name string) []reg.VecVirtual {
		p, v := g.ptr(name), g.vecs(vecs)
		for u := range v {
			m := operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u}
			if n != nil {
				g.loadMasked(doubles, m, v[u])
			} else {
				g.VMOVUPS(m, v[u])
			}
		}
		return v
	}
	lamRe, lamIm, sRe, sIm := load("lamRe"), load("lamIm"), g.zeros(vecs), g.zeros(vecs)
	re, im, reStep, imStep, rows := g.ptr("re"), g.ptr("im"), g.stride("reStride"), g.stride("imStride"), g.arg("rows")
	g.LEAQ(operand.Mem{Base: re, Index: at, Scale: 4}, re)
	g.LEAQ(operand.Mem{Base: im, Index: at, Scale: 4}, im)
	for _, p := range [][2]reg.Register{{re, reStep}, {im, imStep}} { // one past the last row
		last := g.GP64()
		g.MOVQ(rows, last)
		g.IMULQ(p[1], last)
		g.ADDQ(last, p[0])
	}
	widen := func(p reg.Register, u int) reg.VecVirtual {
		v, m := g.vec(), operand.Mem{Base: p, Disp: 2 * g.lanes * u}
		var src operand.Op = m
		if n != nil {
			low := g.vec()
			switch {
			case g.wide():
				g.VMOVUPS_Z(m, floats.k, low.AsY())
				src = low.AsY()
			case g.neon():
				g.loadMasked(floats, m, low)
				src = low
			default:
				g.VMASKMOVPS(m, floats.v.AsX(), low.AsX())
				src = low.AsX()
			}
		}
		g.VCVTPS2PD(src, v)
		return v
	}
	g.times(rows, func() {
		g.SUBQ(reStep, re)
		g.SUBQ(imStep, im)
		for u := range vecs {
			nextRe, nextIm := widen(re, u), widen(im, u)
			g.VFMADD231PD(sRe[u], lamRe[u], nextRe)
			g.VFMADD231PD(sRe[u], lamIm[u], nextIm)
			g.VFNMADD231PD(sIm[u], lamIm[u], nextRe)
			g.VFMADD231PD(sIm[u], lamRe[u], nextIm)
			g.VMOVAPD(nextRe, sRe[u])
			g.VMOVAPD(nextIm, sIm[u])
		}
	})
	store := func(name string, s []reg.VecVirtual) {
		p := g.ptr(name)
		for u, v := range s {
			m := operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u}
			if n != nil {
				g.storeMasked(doubles, v, m)
			} else {
				g.VMOVUPS(v, m)
			}
		}
	}
	store("sumRe", sRe)
	store("sumIm", sIm)
}
