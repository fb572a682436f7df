package asm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"

	"github.com/s4d-fast/s4d-fast/asm/internal/neon"
)

// At level neon the generators write avo's instructions on vectors of 128 bits, and avo allocates
// registers. Then each instruction is lowered to equivalent instructions of arm64. Registers keep
// their numbers: avo's 32 vector registers are V0 … V31, its integer registers R0 … R15. The
// lowered code also uses:
const (
	scratchVec neon.V = 31 // and 30
	scratchInt        = "R17"
	firstNear         = 19 // R19 … R25 hold addresses
	lastNear          = 25
	poolInt           = "R26" // the address of the file's constants
	lowerVecs         = 30    // vector registers that generators may use
	lowerFrame        = 16    // bytes below a function's locals, for the link register
)

// lowerPasses are avo's passes up to the allocation of registers. The later ones are specific to
// amd64.
var lowerPasses = pass.Concat(
	pass.Verify, pass.FunctionPass(pass.PruneJumpToFollowingLabel), pass.FunctionPass(pass.PruneDanglingLabels),
	pass.FunctionPass(pass.LabelTarget), pass.FunctionPass(pass.CFG), pass.InstructionPass(pass.ZeroExtend32BitOutputs),
	pass.FunctionPass(pass.Liveness), pass.FunctionPass(pass.AllocateRegisters), pass.FunctionPass(pass.BindRegisters),
	pass.FunctionPass(pass.VerifyAllocation), pass.FunctionPass(pass.PruneSelfMoves),
)

// Instructions that do not exist on amd64. The generators use them at level neon.
const (
	opLoadFirst  = "LOADFIRST"  // n, memory, vector: load the first n floats, zero the rest
	opStoreFirst = "STOREFIRST" // n, vector, memory: store the first n floats
	opMulLane    = "FMUL"       // i, m, n, d: d = n·m[i]
	opAddLane    = "FMLA"       // i, m, n, d: d = d + n·m[i]
	opSubLane    = "FMLS"       // i, m, n, d: d = d − n·m[i]

	opNarrowUpper = "NARROWUPPER" // a, d: d's upper floats are the float64s of a

	opMaxNumberDouble = "MAXNUMBERPD" // a, b, d: the larger, or the one that is a number
)

// lowered returns the arm64 text of a file whose registers are allocated.
func lowered(f *ir.File, name, header string) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\n//go:build !purego\n\n#include \"textflag.h\"\n", header)
	pool := newPool(f, name)
	pool.write(&b)
	for _, fn := range f.Functions() {
		l := lowering{fn: fn, pool: pool, near: map[address]int{}}
		b.WriteString(l.text())
	}
	return b.String(), nil
}

// pool is the array of a file's constants.
type pool struct {
	symbol string
	words  []uint32
	at     map[string]int
}

func newPool(f *ir.File, name string) *pool {
	p := &pool{symbol: name + "_constants", at: map[string]int{}}
	for _, s := range f.Sections {
		g, ok := s.(*ir.Global)
		if !ok {
			continue
		}
		p.at[g.Symbol.Name] = 4 * len(p.words)
		for _, d := range g.Data {
			p.words = append(p.words, uint32(d.Value.(operand.U32)))
		}
		for len(p.words)%4 != 0 {
			p.words = append(p.words, 0)
		}
	}
	return p
}

func (p *pool) write(b *strings.Builder) {
	if len(p.words) == 0 {
		return
	}
	fmt.Fprintln(b)
	for i, w := range p.words {
		fmt.Fprintf(b, "DATA %s<>+%d(SB)/4, $0x%08x\n", p.symbol, 4*i, w)
	}
	fmt.Fprintf(b, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", p.symbol, 4*len(p.words))
}

// address is a base and a scaled index. A register may hold their sum for a while.
type address struct {
	base, index int
	scale       uint8
}

// lowering is the state of lowering one function.
type lowering struct {
	fn       *ir.Function
	pool     *pool
	body     strings.Builder
	near     map[address]int // registers that hold addresses
	nextNear int
	labels   int
	usesPool bool
}

func (l *lowering) text() string {
	for _, node := range l.fn.Nodes {
		switch n := node.(type) {
		case ir.Label:
			clear(l.near) // they may not hold after a jump to here
			fmt.Fprintf(&l.body, "\n%s:\n", n)
		case *ir.Instruction:
			l.instruction(n)
			for _, r := range n.OutputRegisters() {
				if r.Kind() == reg.KindGP {
					l.forget(number(r))
				}
			}
		}
	}
	frame := l.fn.LocalSize
	if frame > 0 {
		frame += lowerFrame - 8 // Go adds 8 for the link register
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", l.fn.Stub(), l.fn.Name, frame, l.fn.ArgumentBytes())
	if l.usesPool {
		fmt.Fprintf(&b, "\tMOVD $%s<>(SB), %s\n", l.pool.symbol, poolInt)
	}
	return b.String() + l.body.String()
}

func (l *lowering) op(format string, args ...any) {
	fmt.Fprintf(&l.body, "\t%s\n", fmt.Sprintf(format, args...))
}

func (l *lowering) word(i neon.Instruction) { l.op("%v", i) }

// forget drops the addresses that contain a register.
func (l *lowering) forget(r int) {
	for a := range l.near {
		if a.base == r || a.index == r {
			delete(l.near, a)
		}
	}
}

// number returns a register's number. It panics for a vector register that lowering uses itself.
func number(op operand.Op) int {
	r, ok := op.(reg.Physical)
	if !ok {
		panic(fmt.Sprintf("%v is not a register", op))
	}
	n := int(r.PhysicalIndex())
	if r.Kind() == reg.KindVector && n >= lowerVecs {
		panic(fmt.Sprintf("more than %d vector registers", lowerVecs))
	}
	return n
}

func integer(op operand.Op) string { return fmt.Sprintf("R%d", number(op)) }

func vector(op operand.Op) neon.V { return neon.V(number(op)) }

func isInteger(op operand.Op) bool {
	r, ok := op.(reg.Register)
	return ok && r.Kind() == reg.KindGP
}

// immediate returns a constant's value.
func immediate(op operand.Op) int {
	v, err := strconv.ParseInt(strings.TrimPrefix(op.Asm(), "$"), 0, 64)
	if err != nil {
		panic(err)
	}
	return int(v)
}

// memory returns an operand in memory in the syntax of Go's assembler.
func (l *lowering) memory(m operand.Mem) string {
	switch m.Base {
	case reg.FramePointer:
		return fmt.Sprintf("%s+%d(FP)", m.Symbol.Name, m.Disp)
	case reg.StaticBase:
		l.usesPool = true
		return fmt.Sprintf("%d(%s)", l.pool.at[m.Symbol.Name]+m.Disp, poolInt)
	case reg.StackPointer:
		if m.Index == nil {
			return fmt.Sprintf("%d(RSP)", lowerFrame+m.Disp)
		}
		l.op("ADD R%d<<%d, RSP, %s", number(m.Index), shift(m.Scale), scratchInt)
		return fmt.Sprintf("%d(%s)", lowerFrame+m.Disp, scratchInt)
	}
	if m.Index == nil || m.Scale == 0 {
		return fmt.Sprintf("%d(%s)", m.Disp, integer(m.Base))
	}
	return fmt.Sprintf("%d(R%d)", m.Disp, l.address(m))
}

func shift(scale uint8) int { return slices.Index([]uint8{1, 2, 4, 8}, scale) }

// address returns a register that holds base + scale·index.
func (l *lowering) address(m operand.Mem) int {
	a := address{number(m.Base), number(m.Index), m.Scale}
	if r, ok := l.near[a]; ok {
		return r
	}
	r := firstNear + l.nextNear
	l.nextNear = (l.nextNear + 1) % (lastNear - firstNear + 1)
	for other, used := range l.near {
		if used == r {
			delete(l.near, other)
		}
	}
	l.near[a] = r
	l.op("ADD R%d<<%d, R%d, R%d", a.index, shift(a.scale), a.base, r)
	return r
}

// source returns a vector operand's register, after loading it if it is in memory.
func (l *lowering) source(op operand.Op) neon.V { return l.loaded(op, "FMOVQ") }

// loaded is source with a load of part of a vector.
func (l *lowering) loaded(op operand.Op, load string) neon.V {
	m, ok := op.(operand.Mem)
	if !ok {
		return vector(op)
	}
	l.op("%s %s, F%d", load, l.memory(m), scratchVec)
	return scratchVec
}

func (l *lowering) move(src, dst neon.V) {
	if src != dst {
		l.op("VMOV V%d.B16, V%d.B16", src, dst)
	}
}

// repeats reports whether the 16 bytes of a constant are copies of its first n.
func (l *lowering) repeats(m operand.Mem, n int) bool {
	if m.Base != reg.StaticBase {
		return false
	}
	words := l.pool.words[(l.pool.at[m.Symbol.Name]+m.Disp)/4:]
	for i := n / 4; i < 4; i++ {
		if i >= len(words) || words[i] != words[i-n/4] {
			return false
		}
	}
	return true
}

// loadFirst and storeFirst move the first n floats of a vector, for any n. They do not change the
// flags.
func (l *lowering) loadFirst(n string, m operand.Mem, d neon.V) {
	l.firstFloats(n, m, firstFloats{
		begin: func() { l.op("VEOR V%d.B16, V%d.B16, V%d.B16", d, d, d) },
		four:  func(at string) { l.op("FMOVQ (%s), F%d", at, d) },
		two:   func(at string) { l.op("FMOVD (%s), F%d", at, d) },
		third: func(at string) { l.op("VLD1 (%s), V%d.S[2]", at, d) },
		one:   func(at string) { l.op("FMOVS (%s), F%d", at, d) },
	})
}

func (l *lowering) storeFirst(n string, v neon.V, m operand.Mem) {
	l.firstFloats(n, m, firstFloats{
		begin: func() {},
		four:  func(at string) { l.op("FMOVQ F%d, (%s)", v, at) },
		two:   func(at string) { l.op("FMOVD F%d, (%s)", v, at) },
		third: func(at string) { l.op("VST1 V%d.S[2], (%s)", v, at) },
		one:   func(at string) { l.op("FMOVS F%d, (%s)", v, at) },
	})
}

// firstFloats are the moves that together move 0 … 4 floats.
type firstFloats struct {
	begin                 func()
	four, two, third, one func(at string)
}

func (l *lowering) firstFloats(n string, m operand.Mem, f firstFloats) {
	const at, test = scratchInt, "R16"
	l.labels++
	label := func(name string) string { return fmt.Sprintf("%s_%d", name, l.labels) }
	l.op("MOVD $%s, %s", l.memory(m), at)
	f.begin()
	l.op("SUB $4, %s, %s", n, test)
	l.op("TBNZ $63, %s, %s", test, label("fewer"))
	f.four(at)
	l.op("B %s", label("moved"))
	fmt.Fprintf(&l.body, "\n%s:\n", label("fewer"))
	l.op("TBNZ $63, %s, %s", n, label("moved"))
	l.op("TBZ $1, %s, %s", n, label("below2"))
	f.two(at)
	l.op("TBZ $0, %s, %s", n, label("moved"))
	l.op("ADD $8, %s", at)
	f.third(at)
	l.op("B %s", label("moved"))
	fmt.Fprintf(&l.body, "\n%s:\n", label("below2"))
	l.op("TBZ $0, %s, %s", n, label("moved"))
	f.one(at)
	fmt.Fprintf(&l.body, "\n%s:\n", label("moved"))
}
