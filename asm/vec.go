package asm

import (
	"fmt"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gen writes one function at one level. It has avo's instructions, which accept vectors of any
// width, and a vocabulary for what differs between levels.
type gen struct {
	*build.Context
	level
	file       *file
	labels     int
	shared     operand.Mem // see shareLocals
	sharedSize int
}

// wide reports whether this is AVX-512, neon whether it is NEON.
func (g *gen) wide() bool { return g.lanes == 16 }

func (g *gen) neon() bool { return g.lanes == 4 }

// manyRegisters reports whether there are about 32 vector registers, not 16.
func (g *gen) manyRegisters() bool { return g.regs > 16 }

// vec returns a new vector register of the level's width, vecs several.
func (g *gen) vec() reg.VecVirtual {
	switch {
	case g.wide():
		return g.ZMM()
	case g.neon():
		return g.XMM()
	}
	return g.YMM()
}

func (g *gen) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = g.vec()
	}
	return v
}

// ptr loads the address of a slice parameter's first element, length its length, arg an integer or
// a pointer.
func (g *gen) ptr(name string) reg.Register {
	return g.Load(g.Param(name).Base(), g.GP64())
}

func (g *gen) length(name string) reg.Register {
	return g.Load(g.Param(name).Len(), g.GP64())
}

func (g *gen) arg(name string) reg.Register {
	return g.Load(g.Param(name), g.GP64())
}

// stride loads a matrix's stride in bytes.
func (g *gen) stride(name string) reg.Register {
	s := g.arg(name)
	g.SHLQ(operand.Imm(2), s)
	return s
}

// broadcastArg returns a vector of a float32 parameter.
func (g *gen) broadcastArg(name string) reg.VecVirtual {
	v := g.vec()
	g.VBROADCASTSS(g.paramAddr(name), v)
	return v
}

// paramAddr returns the address of a parameter.
func (g *gen) paramAddr(name string) operand.Mem {
	c, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// result returns the address of a result.
func (g *gen) result(i int) operand.Mem {
	c, err := g.ReturnIndex(i).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// float returns a constant in memory: one float where instructions can broadcast it, else a vector.
func (g *gen) float(v float64) operand.Mem { return g.repeated(math.Float32bits(float32(v))) }

// broadcast returns a register with v in every lane.
func (g *gen) broadcast(v float64) reg.VecVirtual {
	r := g.vec()
	g.VBROADCASTSS(g.float(v), r)
	return r
}

// repeated returns a bit pattern in memory, repeated for each lane of an AVX2 vector.
func (g *gen) repeated(v uint32) operand.Mem {
	return g.table(fmt.Sprintf("x%08x", v), slices.Repeat([]uint32{v}, 8))
}

// table returns an array of bit patterns in memory.
func (g *gen) table(name string, bits []uint32) operand.Mem {
	name = g.file.name + "_" + name
	if !g.file.consts[g.arch+name] {
		g.file.consts[g.arch+name] = true
		g.ConstData(name, operand.U32(bits[0]))
		for i, b := range bits[1:] {
			g.AddDatum(4*(i+1), operand.U32(b))
		}
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(name), 0)
}

// zero returns a register of zeros.
func (g *gen) zero() reg.VecVirtual {
	r := g.vec()
	g.clear(r)
	return r
}

// zeros returns n registers of zeros.
func (g *gen) zeros(n int) []reg.VecVirtual {
	v := g.vecs(n)
	for _, r := range v {
		g.clear(r)
	}
	return v
}

// clear zeros a register by the one instruction of which avo knows that it does not read the
// register.
func (g *gen) clear(r reg.VecVirtual) { g.VXORPS(r, r, r) }

// shareLocals makes local return the same memory from now on. It is for a function whose parts run
// one after another and pass no data to each other through this memory.
func (g *gen) shareLocals(size int) { g.shared, g.sharedSize = g.AllocLocal(size), size }

// local returns memory of a function's frame.
func (g *gen) local(size int) operand.Mem {
	if g.shared.Base != nil {
		if size > g.sharedSize {
			panic(fmt.Sprintf("%d bytes of a function's frame, expected at most the shared %d", size, g.sharedSize))
		}
		return g.shared
	}
	return g.AllocLocal(size)
}

// alignedLocal is local, aligned to a vector. It takes a register.
func (g *gen) alignedLocal(size int) operand.Mem {
	frame, base := g.local(size+4*g.lanes), g.GP64()
	g.LEAQ(frame.Offset(4*g.lanes-1), base)
	g.ANDQ(operand.I8(-4*g.lanes), base)
	return operand.Mem{Base: base}
}

// label returns a new label; labels are local to a function.
func (g *gen) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// ret ends the function.
func (g *gen) ret() {
	g.VZEROUPPER()
	g.RET()
}

// custom writes an instruction of level neon that avo does not know. The last operand is the
// output; accumulates says that it is an input too.
func (g *gen) custom(opcode string, accumulates bool, operands ...operand.Op) {
	last := len(operands) - 1
	inputs := operands[:last:last]
	if accumulates {
		inputs = operands
	}
	g.Instruction(&ir.Instruction{Opcode: opcode, Operands: operands, Inputs: inputs, Outputs: operands[last:]})
}

// mask selects the first lanes of a vector: an opmask, a vector of all-ones for VMASKMOVPS, or for
// NEON their number.
type mask struct {
	k reg.OpmaskVirtual
	v reg.VecVirtual
	n reg.GPVirtual
}

// firstLanes returns the mask of the first n lanes: none if n ≤ 0, all if n is at least the number
// of lanes.
func (g *gen) firstLanes(n reg.Register) mask {
	if g.neon() {
		count := g.GP64()
		g.MOVQ(n, count)
		return mask{n: count}
	}
	return g.lanesBelow(n)
}

// lanesBelow is firstLanes as an opmask or a vector.
func (g *gen) lanesBelow(n reg.Register) mask {
	iota16 := make([]uint32, 16)
	for i := range iota16 {
		iota16[i] = uint32(i)
	}
	lane := g.table("lanes", iota16)
	count := g.vec()
	if g.wide() {
		g.VPBROADCASTD(n.(reg.GPVirtual).As32(), count)
		index := g.vec()
		g.VMOVDQU32(lane, index)
		k := g.K()
		g.VPCMPD(operand.Imm(1), count, index, k) // index < count
		return mask{k: k}
	}
	low := g.XMM()
	g.VMOVD(n.(reg.GPVirtual).As32(), low)
	g.VPBROADCASTD(low, count)
	m := g.vec()
	g.VPCMPGTD(lane, count, m) // count > index
	return mask{v: m}
}

// loadMasked loads the selected lanes and zeros the others. It reads no other memory.
func (g *gen) loadMasked(m mask, src operand.Mem, dst reg.VecVirtual) {
	switch {
	case g.wide():
		g.VMOVUPS_Z(src, m.k, dst)
	case g.neon():
		g.custom(opLoadFirst, false, m.n, src, dst)
	default:
		g.VMASKMOVPS(src, m.v, dst)
	}
}

// storeMasked stores the selected lanes.
func (g *gen) storeMasked(m mask, src reg.VecVirtual, dst operand.Mem) {
	switch {
	case g.wide():
		g.VMOVUPS(src, m.k, dst)
	case g.neon():
		g.custom(opStoreFirst, false, m.n, src, dst)
	default:
		g.VMASKMOVPS(src, m.v, dst)
	}
}

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
