package asm

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fft generates the passes over vectors of 16 lanes. An AVX2 register holds half a vector, a NEON
// register a quarter. internal/vek/fft.go, fft4.go, fft8.go and fftodd.go state what the passes
// compute, and their order.
func fft(f *file) {
	f.kernel("fftForwardHalf", "func(re, im, xRe, xIm, tw []float32, radix, q, count int)", func(g *gen) { g.halfPass(forward) })
	f.kernel("fftInverseHalf", "func(xRe, xIm, re, im, tw []float32, radix, q, count int)", func(g *gen) { g.halfPass(inverse) })
}

// fftPass is a pass. A half pass has half of the inputs (forward) or of the outputs (inverse); the
// others are zero or not needed.
type fftPass struct {
	radix int
	direction
	half bool
}

// butterfly is the state of a pass.
type butterfly struct {
	g *gen
	fftPass
	step, step3 reg.Register // bytes between the vectors of a transform; three times that
	from, to    side
	tw, turn    reg.Register // addresses of the twiddles, and of FFTPass.turn or nil
	disp        int          // bytes from the start of the vector
	spill       operand.Mem  // memory for four complex vectors if registers are few
}

// side has the addresses of inputs or outputs 0 and 4.
type side [2]complexPtr

// setFourth sets the addresses of vector 4.
func (b *butterfly) setFourth(s *side) {
	if b.radix > 4 {
		s[1] = complexPtr{b.g.GP64(), b.g.GP64()}
		b.g.LEAQ(operand.Mem{Base: s[0].re, Index: b.step, Scale: 4}, s[1].re)
		b.g.LEAQ(operand.Mem{Base: s[0].im, Index: b.step, Scale: 4}, s[1].im)
	}
}

// newButterfly begins a pass whose vectors are q apart, as a number of vectors.
func (p fftPass) newButterfly(g *gen, q reg.Register) *butterfly {
	b := &butterfly{g: g, fftPass: p, step: q}
	if p.radix == 8 && !g.manyRegisters() {
		b.spill = g.alignedLocal(8 * 4 * g.lanes)
	}
	g.SHLQ(operand.Imm(6), b.step)
	if p.radix > 3 {
		b.step3 = g.GP64()
		g.LEAQ(operand.Mem{Base: b.step, Index: b.step, Scale: 2}, b.step3)
	}
	return b
}

// halfPass writes half passes of radix 4 and 8 over a single block.
func (g *gen) halfPass(d direction) {
	end, radix := g.label("end"), g.arg("radix")
	for _, r := range []int{4, 8} {
		g.when(radix, r, "other", func() {
			fftPass{radix: r, direction: d, half: true}.overHalf(g)
			g.JMP(operand.LabelRef(end))
		})
	}
	g.Label(end)
}

func (p fftPass) overHalf(g *gen) {
	b := p.newButterfly(g, g.arg("q"))
	b.tw = g.ptr("tw")
	whole, half := g.complexPtr("re", "im"), g.complexPtr("xRe", "xIm")
	b.from[0], b.to[0] = half, whole
	if p.direction == inverse {
		b.from[0], b.to[0] = whole, half
	}
	g.times(g.arg("count"), func() {
		b.run()
		g.advance(whole, operand.Imm(64))
		g.advance(half, operand.Imm(64))
	})
}

// passArgs holds functions that load the arguments of a pass.
type passArgs struct {
	q, tw, count func() reg.Register
	turn         func() reg.Register // nil: vek.FFTPass.Turned was not called
}

// with writes a whole pass over every block.
func (p fftPass) with(g *gen, args passArgs) {
	b := p.newButterfly(g, args.q())
	if args.turn != nil {
		b.turn = args.turn()
	}
	x, end, tw := g.complexPtr("re", "im"), g.length("re"), args.tw()
	g.LEAQ(operand.Mem{Base: x.re, Index: end, Scale: 4}, end)
	loop, done := g.label("block"), g.label("done")
	g.Label(loop)
	g.CMPQ(x.re, end)
	g.JGE(operand.LabelRef(done))
	b.tw = g.GP64()
	g.MOVQ(tw, b.tw)
	b.from[0] = g.copyPtr(x)
	g.times(args.count(), func() {
		b.run()
		g.advance(b.from[0], operand.Imm(64))
	})
	for range p.radix {
		g.advance(x, b.step)
	}
	g.JMP(operand.LabelRef(loop))
	g.Label(done)
}

// run transforms one vector of each input, and moves to the next twiddles. A half side has no
// vector 4.
func (b *butterfly) run() {
	switch {
	case !b.half:
		b.setFourth(&b.from)
		b.to = b.from
	case b.direction == inverse:
		b.setFourth(&b.from)
	default:
		b.setFourth(&b.to)
	}
	if b.g.neon() { // stores without an offset are cheapest
		b.parts()
	} else {
		for b.disp = 0; b.disp < 64; b.disp += 4 * b.g.lanes {
			b.part()
		}
	}
	b.g.ADDQ(operand.U32(8*(b.radix-1)), b.tw)
}

// parts runs part for each part of a vector in a loop.
func (b *butterfly) parts() {
	pointers := []reg.Register{b.turn}
	for _, x := range []complexPtr{b.from[0], b.from[1], b.to[0], b.to[1]} {
		pointers = append(pointers, x.re, x.im)
	}
	move := func(step func(operand.Op, operand.Op), bytes int) {
		for i, p := range pointers {
			if p != nil && !slices.Contains(pointers[:i], p) {
				step(operand.Imm(uint64(bytes)), p)
			}
		}
	}
	n := b.g.GP64()
	b.g.MOVQ(operand.U32(16/b.g.lanes), n)
	b.g.times(n, func() {
		b.part()
		move(b.g.ADDQ, 4*b.g.lanes)
	})
	move(b.g.SUBQ, 64)
}

// at returns the address of vector k of a transform.
func (b *butterfly) at(s side, k int) complexMem {
	m := s[k/4].at(b.disp)
	return complexMem{below(m.re, b.step, b.step3, k%4), below(m.im, b.step, b.step3, k%4)}
}

// raw loads input k. input also multiplies it by its twiddle if the pass is inverse.
func (b *butterfly) raw(k int) complexVec {
	x := b.g.load(b.at(b.from, k))
	if b.direction == forward {
		b.turned(x)
	}
	return x
}

// turned multiplies the lanes of x as vek.FFTPass.Turned states.
func (b *butterfly) turned(x complexVec) {
	if b.turn == nil {
		return
	}
	tangent, sine := operand.Mem{Base: b.turn, Disp: b.disp}, operand.Mem{Base: b.turn, Disp: 64 + b.disp}
	add := b.g.VFMADD231PS
	if b.direction == inverse {
		add = b.g.VFNMADD231PS
	}
	add(tangent, x.im, x.re)
	add(sine, x.re, x.im)
	add(tangent, x.im, x.re)
}

func (b *butterfly) input(k int) complexVec {
	x := b.raw(k)
	if b.direction == inverse && k > 0 {
		return b.twiddle(x, k)
	}
	return x
}

// output stores result k, multiplied by its twiddle if the pass is forward.
func (b *butterfly) output(k int, y complexVec) {
	if b.direction == forward && k > 0 {
		y = b.twiddle(y, k)
	}
	if b.direction == inverse {
		b.turned(y)
	}
	b.g.store(y, b.at(b.to, k))
}

// twiddle multiplies x by the k-th twiddle, in an inverse pass by its conjugate. x is used up.
func (b *butterfly) twiddle(x complexVec, k int) complexVec {
	at := operand.Mem{Base: b.tw, Disp: 8 * (k - 1)}
	if b.g.neon() { // multiplies by an element without a broadcast
		w := b.g.vec()
		b.g.VMOVSD(at, w)
		return b.g.productByElements(x, w, factor(b.direction))
	}
	return b.g.product(x, b.g.broadcastComplex(complexMem{at, at.Offset(4)}), factor(b.direction))
}
