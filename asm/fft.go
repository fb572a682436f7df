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
	for _, p := range []fftPass{
		{name: "fftForward4Half", radix: 4, half: true}, {name: "fftForward8Half", radix: 8, half: true},
	} {
		f.kernel(p.name, "func(re, im, xRe, xIm, tw []float32, q, from, count int)", p.generate)
	}
	for _, p := range []fftPass{
		{name: "fftInverse4Half", radix: 4, direction: inverse, half: true}, {name: "fftInverse8Half", radix: 8, direction: inverse, half: true},
	} {
		f.kernel(p.name, "func(yRe, yIm, re, im, tw []float32, q, from, count int)", p.generate)
	}
}

// fftPass is one kernel. A half pass has half of the inputs (forward) or of the outputs (inverse);
// the others are zero or not needed.
type fftPass struct {
	name  string
	radix int
	direction
	half bool
}

// butterfly is the state of a pass.
type butterfly struct {
	g *gen
	fftPass
	step, step3 reg.Register  // bytes between the inputs of a transform; three times that
	from, to    [2]complexPtr // addresses of inputs and outputs 0 and 4
	tw, turn    reg.Register  // addresses of the twiddles, and of FFTPass.turn or nil
	disp        int           // bytes from the start of the vector
	spill       operand.Mem   // memory for four complex vectors if registers are few
}

// passArgs holds functions that load the arguments of a pass.
type passArgs struct {
	q, tw, count func() reg.Register
	from         func() reg.Register // nil: the pass starts at butterfly 0
	turn         func() reg.Register // nil: vek.FFTPass.Turned was not called
}

func (p fftPass) generate(g *gen) {
	arg := func(name string) func() reg.Register {
		return func() reg.Register { return g.arg(name) }
	}
	p.with(g, passArgs{q: arg("q"), tw: func() reg.Register { return g.ptr("tw") }, count: arg("count"), from: arg("from")})
}

func (p fftPass) with(g *gen, args passArgs) {
	b := &butterfly{g: g, fftPass: p}
	if p.radix == 8 && !g.manyRegisters() {
		b.spill = g.alignedLocal(8 * 4 * g.lanes)
	}
	if args.turn != nil {
		b.turn = args.turn()
	}
	b.step = args.q()
	g.SHLQ(operand.Imm(6), b.step)
	if p.radix > 3 {
		b.step3 = g.GP64()
		g.LEAQ(operand.Mem{Base: b.step, Index: b.step, Scale: 2}, b.step3)
	}
	x, end := g.complexPtr("re", "im"), g.length("re")
	g.LEAQ(operand.Mem{Base: x.re, Index: end, Scale: 4}, end)
	twStep := 8 * (p.radix - 1)
	tw := args.tw()
	var first reg.Register
	if args.from != nil {
		first = args.from()
		offset := g.GP64()
		g.IMUL3Q(operand.U32(twStep), first, offset)
		g.ADDQ(offset, tw)
		g.SHLQ(operand.Imm(6), first)
		g.advance(x, first)
	}
	body := func() {
		b.tw = g.GP64()
		g.MOVQ(tw, b.tw)
		from := g.copyPtr(x)
		to := from
		switch {
		case p.half && p.direction == inverse:
			to = g.complexPtr("yRe", "yIm")
			g.advance(to, first)
		case p.half:
			from = g.complexPtr("xRe", "xIm")
			g.advance(from, first)
		}
		g.times(args.count(), func() {
			b.run(from, to)
			g.advance(from, operand.Imm(64))
			if p.half {
				g.advance(to, operand.Imm(64))
			}
			g.ADDQ(operand.U32(twStep), b.tw)
		})
	}
	if p.half { // a single block
		body()
		return
	}
	b.blocks(x, end, body)
}

// blocks runs body for each block of radix·q vectors.
func (b *butterfly) blocks(x complexPtr, end reg.Register, body func()) {
	loop, done := b.g.label("block"), b.g.label("done")
	b.g.Label(loop)
	b.g.CMPQ(x.re, end)
	b.g.JGE(operand.LabelRef(done))
	body()
	for range b.radix {
		b.g.advance(x, b.step)
	}
	b.g.JMP(operand.LabelRef(loop))
	b.g.Label(done)
}

// run transforms one vector of each input.
func (b *butterfly) run(from, to complexPtr) {
	b.from, b.to = [2]complexPtr{from}, [2]complexPtr{to}
	if b.radix > 4 {
		b.from[1].re, b.to[1].re = b.fourths(from.re, to.re)
		b.from[1].im, b.to[1].im = b.fourths(from.im, to.im)
	}
	if b.g.neon() { // stores without an offset are cheapest
		b.parts()
		return
	}
	for b.disp = 0; b.disp < 64; b.disp += 4 * b.g.lanes {
		b.part()
	}
}

// parts runs part for each part of a vector in a loop.
func (b *butterfly) parts() {
	var pointers []reg.Register
	for _, x := range []complexPtr{b.from[0], b.from[1], b.to[0], b.to[1]} {
		for _, p := range []reg.Register{x.re, x.im, b.turn} {
			if p != nil && !slices.Contains(pointers, p) {
				pointers = append(pointers, p)
			}
		}
	}
	n := b.g.GP64()
	b.g.MOVQ(operand.U32(16/b.g.lanes), n)
	b.g.times(n, func() {
		b.part()
		for _, p := range pointers {
			b.g.ADDQ(operand.Imm(uint64(4*b.g.lanes)), p)
		}
	})
	for _, p := range pointers {
		b.g.SUBQ(operand.Imm(64), p)
	}
}

// fourths returns the addresses of input 4 and output 4 from those of input 0 and output 0. Only a
// half pass reads one array and writes another.
func (b *butterfly) fourths(from, to reg.Register) (from4, to4 reg.Register) {
	fourth := func(base reg.Register) reg.Register {
		r := b.g.GP64()
		b.g.LEAQ(operand.Mem{Base: base, Index: b.step, Scale: 4}, r)
		return r
	}
	from4 = fourth(from)
	if !b.half {
		return from4, from4
	}
	return from4, fourth(to)
}

// at returns the address of vector k of a transform.
func (b *butterfly) at(base [2]complexPtr, k int) complexMem {
	m := operand.Mem{Disp: b.disp}
	switch k % 4 {
	case 1, 2:
		m.Index, m.Scale = b.step, uint8(k%4)
	case 3:
		m.Index, m.Scale = b.step3, 1
	}
	re, im := m, m
	re.Base, im.Base = base[k/4].re, base[k/4].im
	return complexMem{re, im}
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
