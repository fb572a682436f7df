package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// powerSums: sum_n = Σ_a λ_n^a·x_{an}, by Horner's rule from the last row to the first, for strips
// of modes.
func (g *gen) powerSums() { g.modeStrips([]int{g.widestStrip(), 1}, g.sumStrip) }

// powerColumns: re[b][n] + i·im[b][n] = λ_n^b, by products from the first row to the last, for
// strips of modes. Denormal results are 0.
func (g *gen) powerColumns() {
	saved := g.flushDenormals()
	g.modeStrips([]int{g.widestStrip()}, g.powerStrip)
	g.LDMXCSR(saved)
}

// widestStrip is the number of vectors of a strip, which hide the latency of their products.
func (g *gen) widestStrip() int {
	if g.wide() {
		return 4
	}
	return 2
}

// modeStrips runs body for strips of as many modes as fill the given numbers of vectors, widest
// first, and for what remains, at most the last of the widths: then n is the number of modes. at is
// the first mode.
func (g *gen) modeStrips(widths []int, body func(at reg.Register, vecs int, n reg.Register)) {
	n, at := g.length("lamRe"), g.GP64()
	g.XORQ(at, at)
	for _, vecs := range widths {
		loop, done, modes := g.label("strips"), g.label("done"), operand.U32(vecs*g.lanes/2)
		g.Label(loop)
		g.CMPQ(n, modes)
		g.JL(operand.LabelRef(done))
		body(at, vecs, nil)
		g.ADDQ(modes, at)
		g.SUBQ(modes, n)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
	end := g.label("end")
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(end))
	body(at, widths[len(widths)-1], n)
	g.Label(end)
}

// stripLambda loads λ of the modes of a strip.
func (g *gen) stripLambda(at reg.Register, vecs int, n reg.Register) []complexVec {
	load := func(name string) []reg.VecVirtual {
		p, v := g.ptr(name), g.vecs(vecs)
		doubles, twice := &run{g: g}, g.GP64() // a mask counts lanes of 32 bits
		if n != nil {
			g.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1}, twice)
		}
		for u := range v {
			if n != nil {
				m := g.firstLanes(twice)
				doubles.mask = &m
				g.SUBQ(operand.Imm(uint64(g.lanes)), twice)
			}
			doubles.fetchTo(operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u}, v[u])
		}
		return v
	}
	return complexVecs(load("lamRe"), load("lamIm"))
}

// powerStrip stores the powers of the modes from at on.
func (g *gen) powerStrip(at reg.Register, vecs int, n reg.Register) {
	lam, power := g.stripLambda(at, vecs, n), make([]complexVec, vecs)
	for u := range power {
		power[u] = complexVec{g.broadcastDouble(1), g.zero()}
	}
	to, step := g.complexPtr("re", "im"), g.stride("stride")
	g.LEAQ(operand.Mem{Base: to.re, Index: at, Scale: 4}, to.re)
	g.LEAQ(operand.Mem{Base: to.im, Index: at, Scale: 4}, to.im)
	g.times(g.arg("rows"), func() {
		var cols reg.Register
		if n != nil {
			cols = g.GP64()
			g.MOVQ(n, cols)
		}
		g.put(power, to, cols)
		g.advance(to, step)
		for u, p := range power {
			g.rotateDouble(p, lam[u])
		}
	})
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
	lam := g.stripLambda(at, vecs, n)
	sum := complexVecs(g.zeros(vecs), g.zeros(vecs))
	g.sumRowsBack(at, floats, lam, sum)
	store := func(name string, part int) {
		p := g.ptr(name)
		for u, s := range sum {
			doubles.put(s.parts()[part], operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u})
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
			g.move(next, s)
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
