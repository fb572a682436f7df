package asm

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fftforward generates the forward transform: a list of passes, then the stage over the lanes. All
// of them are parts of one function, because in a short transform a call takes a tenth of the time.
func fftforward(f *file) {
	f.kernel("fftForward", "func(re, im []float32, passes []FFTPass, last int, tw []float32)", forwardTransform)
}

// Offsets in an element of passes, and its size.
const (
	passRadix, passQ, passCount, passTw = 0, 8, 16, 24
	passSize                            = 48
)

func forwardTransform(g *gen) {
	at, left := g.AllocLocal(8), g.AllocLocal(8) // the next pass, and the number of passes to run
	g.MOVQ(g.ptr("passes"), at)
	g.MOVQ(g.length("passes"), left)
	g.shareLocals(320)
	field := func(offset int) func() reg.Register {
		return func() reg.Register {
			v := g.GP64()
			g.MOVQ(at, v)
			g.MOVQ(operand.Mem{Base: v, Disp: offset}, v)
			return v
		}
	}
	radices := []int{3, 4, 5, 8}
	loop, next, lanes := g.label("pass"), g.label("next"), g.label("lanes")
	n := g.GP64()
	g.MOVQ(left, n)
	g.TESTQ(n, n)
	g.JE(operand.LabelRef(lanes))
	g.Label(loop)
	radix := field(passRadix)()
	for _, r := range radices {
		g.CMPQ(radix, operand.Imm(uint64(r)))
		g.JE(operand.LabelRef(fmt.Sprint("radix", r)))
	}
	for _, r := range radices {
		g.Label(fmt.Sprint("radix", r))
		fftPass{radix: r}.with(g, passArgs{q: field(passQ), tw: field(passTw), count: field(passCount)})
		g.JMP(operand.LabelRef(next))
	}
	g.Label(next)
	n = g.GP64()
	g.MOVQ(at, n)
	g.ADDQ(operand.Imm(passSize), n)
	g.MOVQ(n, at)
	n = g.GP64()
	g.MOVQ(left, n)
	g.DECQ(n)
	g.MOVQ(n, left)
	g.JNZ(operand.LabelRef(loop))
	g.Label(lanes)
	g.forwardLanes()
}

// forwardLanes begins with a pass of radix last, and does nothing if last is 0.
func (g *gen) forwardLanes() {
	none, single := g.label("none"), g.label("single")
	last := g.arg("last")
	for _, radix := range []int{4, 2} {
		other := g.label("other")
		g.CMPQ(last, operand.Imm(uint64(radix)))
		g.JNE(operand.LabelRef(other))
		b := &lanesGroup{gen: g, kind: forwardLanes, radix: radix}
		if b.separatePass() {
			b.pass()
			g.JMP(operand.LabelRef(single))
		} else {
			g.lanesStage(forwardLanes, radix)
			g.JMP(operand.LabelRef(none))
		}
		g.Label(other)
	}
	g.TESTQ(last, last)
	g.JE(operand.LabelRef(none))
	g.Label(single)
	g.lanesStage(forwardLanes, 1)
	g.Label(none)
}
