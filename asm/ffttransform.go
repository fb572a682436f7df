package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ffttransform generates the transforms: one function per direction, which runs a list of passes
// and the stage over the lanes. The passes are parts of this function, because in a short transform
// a call takes a tenth of the time.
func ffttransform(f *file) {
	f.kernel("fftForward", "func(re, im []float32, passes []FFTPass, last int, tw []float32)",
		func(g *gen) { g.passes(forward, g.forwardLanes) })
	f.kernel("fftInverse", "func(re, im, kRe, kIm []float32, product int, passes []FFTPass, last int, tw []float32)",
		func(g *gen) { g.passes(inverse, g.inverseLanes) })
}

// Offsets of the fields of an element of passes, and the size of the element, in bytes.
const (
	passRadix, passQ, passCount, passTw, passTurn = 0, 8, 16, 24, 48
	passSize                                      = 56
)

// passes runs the passes in order, then the stage over the lanes. If inverse, it runs the stage
// first, then the passes from the last to the first.
func (g *gen) passes(d direction, stage func()) {
	at, left := g.AllocLocal(8), g.AllocLocal(8) // the next pass, and the number of passes to run
	first, n := g.ptr("passes"), g.length("passes")
	g.MOVQ(n, left)
	if d == inverse {
		skip := g.GP64()
		g.IMUL3Q(operand.U32(passSize), n, skip)
		g.ADDQ(skip, first)
		g.SUBQ(operand.Imm(passSize), first)
	}
	g.MOVQ(first, at)
	g.shareLocals(320)
	if d == inverse {
		stage()
	}
	loop, next, end := g.label("pass"), g.label("next"), g.label("end")
	n = g.GP64()
	g.MOVQ(left, n)
	g.TESTQ(n, n)
	g.JE(operand.LabelRef(end))
	g.Label(loop)
	g.pass(at, d, next)
	g.Label(next)
	n = g.GP64()
	g.MOVQ(at, n)
	if d == inverse {
		g.SUBQ(operand.Imm(passSize), n)
	} else {
		g.ADDQ(operand.Imm(passSize), n)
	}
	g.MOVQ(n, at)
	n = g.GP64()
	g.MOVQ(left, n)
	g.DECQ(n)
	g.MOVQ(n, left)
	g.JNZ(operand.LabelRef(loop))
	g.Label(end)
	if d == forward {
		stage()
	}
}

// pass runs the pass whose address is stored in at, then jumps to next.
func (g *gen) pass(at operand.Mem, d direction, next string) {
	field := func(offset int) func() reg.Register {
		return func() reg.Register {
			v := g.GP64()
			g.MOVQ(at, v)
			g.MOVQ(operand.Mem{Base: v, Disp: offset}, v)
			return v
		}
	}
	args := passArgs{q: field(passQ), tw: field(passTw), count: field(passCount)}
	turned := g.label("turned")
	turn := field(passTurn)()
	g.TESTQ(turn, turn)
	g.JNE(operand.LabelRef(turned))
	g.passOf([]int{3, 4, 5, 8}, field(passRadix), args, d, next)
	g.Label(turned)
	args.turn = field(passTurn)
	g.passOf([]int{4, 8}, field(passRadix), args, d, next)
}

// passOf runs a pass of one of the radices, then jumps to next.
func (g *gen) passOf(radices []int, radix func() reg.Register, args passArgs, d direction, next string) {
	r := radix()
	for _, radix := range radices {
		g.when(r, radix, "other", func() {
			fftPass{radix: radix, direction: d}.with(g, args)
			g.JMP(operand.LabelRef(next))
		})
	}
}

// forwardLanes runs the forward stage over the lanes. If last is 2 or 4, a pass of that radix comes
// first. If last is 0, it does nothing.
func (g *gen) forwardLanes() {
	done := g.label("done")
	g.fusedPass(forwardLanes, func() { g.JMP(operand.LabelRef(done)) })
	g.separatePasses(forwardLanes)
	last := g.arg("last")
	g.TESTQ(last, last)
	g.JE(operand.LabelRef(done))
	g.lanesStage(forwardLanes, 1)
	g.Label(done)
}

// inverseLanes runs the inverse stage over the lanes. If last is 2 or 4, a pass of that radix
// follows. If last is 0, it does nothing.
func (g *gen) inverseLanes() {
	done, separate := g.label("done"), g.label("separate")
	last := g.arg("last")
	g.TESTQ(last, last)
	g.JE(operand.LabelRef(done))
	for i, kind := range []lanesKind{inverseLanes, inverseLanesMul, inverseLanesMulConj} {
		g.when(g.arg("product"), i, "other", func() {
			g.fusedPass(kind, func() { g.JMP(operand.LabelRef(done)) })
			g.lanesStage(kind, 1)
			g.JMP(operand.LabelRef(separate))
		})
	}
	g.Label(separate)
	g.separatePasses(inverseLanes)
	g.Label(done)
}

// fusedPass handles a pass of radix last that takes place in registers: it runs the stage together
// with the pass, then the code that leave generates. For other passes it does nothing.
func (g *gen) fusedPass(kind lanesKind, leave func()) {
	b := &lanesGroup{g: g, kind: kind, radix: 2}
	if b.separatePass() {
		return
	}
	g.when(g.arg("last"), 2, "other", func() {
		g.lanesStage(kind, 2)
		leave()
	})
}

// separatePasses runs the pass of radix last if that is a separate loop.
func (g *gen) separatePasses(kind lanesKind) {
	for _, radix := range []int{2, 4} {
		b := &lanesGroup{g: g, kind: kind, radix: radix}
		if b.separatePass() {
			g.when(g.arg("last"), radix, "other", b.pass)
		}
	}
}
