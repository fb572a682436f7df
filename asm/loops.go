package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// run is one pass of an elementwise loop: over vecs vectors from index on, or over a masked last
// one.
type run struct {
	g     *gen
	index reg.Register
	vecs  int
	mask  *mask
	spare reg.VecVirtual // nil: add takes a new register
}

// at returns the address of the run's u-th vector in an array of floats.
func (r *run) at(base reg.Register, u int) operand.Mem {
	return operand.Mem{Base: base, Index: r.index, Scale: 4, Disp: 4 * r.g.lanes * u}
}

// load returns the run's u-th vector of an array.
func (r *run) load(base reg.Register, u int) reg.VecVirtual { return r.fetch(r.at(base, u)) }

// fetch is load from any address.
func (r *run) fetch(m operand.Mem) reg.VecVirtual {
	v := r.g.vec()
	r.fetchTo(m, v)
	return v
}

// fetchTo is fetch to a register.
func (r *run) fetchTo(m operand.Mem, v reg.VecVirtual) {
	if r.mask != nil {
		r.g.loadMasked(*r.mask, m, v)
	} else {
		r.g.VMOVUPS(m, v)
	}
}

// store stores the run's u-th vector of an array.
func (r *run) store(v reg.VecVirtual, base reg.Register, u int) { r.put(v, r.at(base, u)) }

// put is store to any address.
func (r *run) put(v reg.VecVirtual, m operand.Mem) {
	if r.mask != nil {
		r.g.storeMasked(*r.mask, v, m)
	} else {
		r.g.VMOVUPS(v, m)
	}
}

// add adds the vector at an address to v. Under a mask it overwrites spare.
func (r *run) add(m operand.Mem, v reg.VecVirtual) {
	if r.mask == nil {
		r.g.VADDPS(m, v, v)
		return
	}
	x := r.spare
	if x == nil {
		x = r.g.vec()
	}
	r.fetchTo(m, x)
	r.g.VADDPS(x, v, v)
}

// whole returns n runs of a full vector each, to access addresses.
func (g *gen) whole(n int) []*run {
	runs := make([]*run, n)
	for i := range runs {
		runs[i] = &run{g: g, vecs: 1}
	}
	return runs
}

// partial returns n runs of a vector each, under masks that select the first left elements in all.
// left is used up.
func (g *gen) partial(left reg.Register, n int) []*run {
	runs := g.whole(n)
	for _, r := range runs {
		m := g.firstLanes(left)
		r.mask = &m
		g.SUBQ(operand.Imm(uint64(g.lanes)), left)
	}
	return runs
}

// times runs body n times (n is used up).
func (g *gen) times(n reg.Register, body func()) {
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	g.Label(loop)
	body()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
}

// while runs body as long as n is greater than 0; body decreases it. name is that of the label.
func (g *gen) while(name string, n reg.Register, body func()) {
	loop, done := g.label(name), g.label("done")
	g.Label(loop)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	body()
	g.JMP(operand.LabelRef(loop))
	g.Label(done)
}

// when runs body if v is a value. label is the one after body.
func (g *gen) when(v reg.Register, value int, label string, body func()) {
	after := g.label(label)
	g.CMPQ(v, operand.Imm(uint64(value)))
	g.JNE(operand.LabelRef(after))
	body()
	g.Label(after)
}

// each loops over n elements (n is used up): unroll vectors at a time, then one at a time, then the
// rest under a mask. body is called once for each kind of run, and writes the code for r.vecs
// vectors.
func (g *gen) each(n reg.Register, unroll int, body func(r *run)) {
	index := g.GP64()
	g.XORQ(index, index)
	steps := []int{unroll, 1}
	if unroll == 1 {
		steps = steps[:1]
	}
	for _, vecs := range steps {
		loop, done := g.label("loop"), g.label("done")
		step := operand.U32(vecs * g.lanes)
		g.Label(loop)
		g.CMPQ(n, step)
		g.JL(operand.LabelRef(done))
		body(&run{g: g, index: index, vecs: vecs})
		g.ADDQ(step, index)
		g.SUBQ(step, n)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
	end := g.label("end")
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(end))
	m := g.firstLanes(n)
	body(&run{g: g, index: index, vecs: 1, mask: &m})
	g.Label(end)
}

// eachVec is each with a body for one vector, number u of the run.
func (g *gen) eachVec(n reg.Register, unroll int, body func(r *run, u int)) {
	g.each(n, unroll, func(r *run) {
		for u := range r.vecs {
			body(r, u)
		}
	})
}

// function writes the loop of dst = op(x), unroll vectors at a time.
func (g *gen) function(unroll int, op func(x reg.VecVirtual) reg.VecVirtual) {
	dst, x := g.ptr("dst"), g.ptr("x")
	g.eachVec(g.length("dst"), unroll, func(r *run, u int) { r.store(op(r.load(x, u)), dst, u) })
}
