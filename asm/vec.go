package asm

import (
	"fmt"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
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
	return g.spread(g.paramAddr(name))
}

// spread returns a register with a float32 of memory in every lane.
func (g *gen) spread(src operand.Mem) reg.VecVirtual {
	v := g.vec()
	g.VBROADCASTSS(src, v)
	return v
}

// below returns the address i < 4 rows below m. step3 is three times step, the distance of rows in
// bytes.
func below(m operand.Mem, step, step3 reg.Register, i int) operand.Mem {
	switch i {
	case 1, 2:
		m.Index, m.Scale = step, uint8(i)
	case 3:
		m.Index, m.Scale = step3, 1
	}
	return m
}

// paramAddr returns the address of a parameter.
func (g *gen) paramAddr(name string) operand.Mem { return placeOf(g.Param(name)) }

// placeOf returns the address of a parameter, of a part of it or of a result.
func placeOf(value gotypes.Component) operand.Mem {
	c, err := value.Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// float returns a constant in memory: one float where instructions can broadcast it, else a vector.
func (g *gen) float(v float64) operand.Mem { return g.repeated(math.Float32bits(float32(v))) }

// broadcast returns a register with v in every lane.
func (g *gen) broadcast(v float64) reg.VecVirtual { return g.spread(g.float(v)) }

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

// fetch returns a vector of memory.
func (g *gen) fetch(m operand.Mem) reg.VecVirtual {
	v := g.vec()
	g.VMOVUPS(m, v)
	return v
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

// output says whether the output of an instruction is an input, too.
type output bool

const (
	replaced    output = false
	accumulated output = true
)

// custom writes an instruction of level neon that avo does not know. The last operand is the
// output.
func (g *gen) custom(opcode string, how output, operands ...operand.Op) {
	last := len(operands) - 1
	inputs := operands[:last:last]
	if how == accumulated {
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
		g.custom(opLoadFirst, replaced, m.n, src, dst)
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
		g.custom(opStoreFirst, replaced, m.n, src, dst)
	default:
		g.VMASKMOVPS(src, m.v, dst)
	}
}
