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

// sumStrip computes the sums of the modes from at on, of vecs full vectors or of the n modes of a
// last one: s ← s·λ + x_a, from the last row to the first.
func (g *gen) sumStrip(at reg.Register, vecs int, n reg.Register) {
	doubles, floats := &run{g: g}, &run{g: g} // accesses to float64 and float32 numbers
	if n != nil {
		twice := g.GP64() // a mask counts lanes of 32 bits
		g.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1}, twice)
		d, f := g.firstLanes(twice), g.firstLanes(n)
		doubles.mask, floats.mask = &d, &f
	}
	mode := func(p reg.Register, u int) operand.Mem {
		return operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u}
	}
	load := func(name string) []reg.VecVirtual {
		p, v := g.ptr(name), g.vecs(vecs)
		for u := range v {
			doubles.fetchTo(mode(p, u), v[u])
		}
		return v
	}
	lam := complexVecs(load("lamRe"), load("lamIm"))
	sum := complexVecs(g.zeros(vecs), g.zeros(vecs))
	g.sumRowsBack(at, floats, lam, sum)
	store := func(name string, part int) {
		p := g.ptr(name)
		for u, s := range sum {
			doubles.put(s.parts()[part], mode(p, u))
		}
	}
	store("sumRe", 0)
	store("sumIm", 1)
}

// sumRowsBack sets s ← s·λ + x_a for the rows of x from the last to the first.
func (g *gen) sumRowsBack(at reg.Register, floats *run, lam, sum []complexVec) {
	x, reStep, imStep, rows := g.complexPtr("re", "im"), g.stride("reStride"), g.stride("imStride"), g.arg("rows")
	g.LEAQ(operand.Mem{Base: x.re, Index: at, Scale: 4}, x.re)
	g.LEAQ(operand.Mem{Base: x.im, Index: at, Scale: 4}, x.im)
	for _, p := range [][2]reg.Register{{x.re, reStep}, {x.im, imStep}} { // one past the last row
		last := g.GP64()
		g.MOVQ(rows, last)
		g.IMULQ(p[1], last)
		g.ADDQ(last, p[0])
	}
	g.times(rows, func() {
		g.SUBQ(reStep, x.re)
		g.SUBQ(imStep, x.im)
		for u, s := range sum {
			next := complexVec{floats.widened(x.re, u), floats.widened(x.im, u)}
			g.addProductDouble(next, s, lam[u])
			g.moveDouble(next, s)
		}
	})
}

// widened returns the u-th half vector of floats from p on, as float64 numbers.
func (r *run) widened(p reg.Register, u int) reg.VecVirtual {
	g := r.g
	v, m := g.vec(), operand.Mem{Base: p, Disp: 2 * g.lanes * u}
	if r.mask == nil {
		g.VCVTPS2PD(m, v)
		return v
	}
	low := g.vec()
	switch {
	case g.wide():
		g.VMOVUPS_Z(m, r.mask.k, low.AsY())
		g.VCVTPS2PD(low.AsY(), v)
	case g.neon():
		g.loadMasked(*r.mask, m, low)
		g.VCVTPS2PD(low, v)
	default:
		g.VMASKMOVPS(m, r.mask.v.AsX(), low.AsX())
		g.VCVTPS2PD(low.AsX(), v)
	}
	return v
}

// complexVecs pairs real and imaginary parts.
func complexVecs(re, im []reg.VecVirtual) []complexVec {
	x := make([]complexVec, len(re))
	for i := range x {
		x[i] = complexVec{re[i], im[i]}
	}
	return x
}
