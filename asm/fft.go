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
	const pass = "func(re, im, tw []float32, q, from, count int)"
	for _, p := range []fftPass{
		{name: "fft2", radix: 2, plain: true},
		{name: "fftForward3", radix: 3}, {name: "fftInverse3", radix: 3, inverse: true},
		{name: "fftForward4", radix: 4}, {name: "fftInverse4", radix: 4, inverse: true},
		{name: "fftForward4Last", radix: 4, plain: true}, {name: "fftInverse4First", radix: 4, plain: true, inverse: true},
		{name: "fftForward5", radix: 5}, {name: "fftInverse5", radix: 5, inverse: true},
		{name: "fftForward8", radix: 8}, {name: "fftInverse8", radix: 8, inverse: true},
	} {
		f.kernel(p.name, pass, p.generate)
	}
	for _, p := range []fftPass{
		{name: "fftForward4Half", radix: 4, half: true}, {name: "fftForward8Half", radix: 8, half: true},
	} {
		f.kernel(p.name, "func(re, im, xRe, xIm, tw []float32, q, from, count int)", p.generate)
	}
	for _, p := range []fftPass{
		{name: "fftInverse4Half", radix: 4, inverse: true, half: true}, {name: "fftInverse8Half", radix: 8, inverse: true, half: true},
	} {
		f.kernel(p.name, "func(yRe, yIm, re, im, tw []float32, q, from, count int)", p.generate)
	}
}

// fftPass is one kernel. A plain pass has no twiddles. A half pass has half of the inputs (forward)
// or of the outputs (inverse); the others are zero or not needed.
type fftPass struct {
	name                 string
	radix                int
	inverse, half, plain bool
}

// butterfly is the state of a pass.
type butterfly struct {
	*gen
	fftPass
	step, step3 reg.Register       // bytes between the inputs of a transform; three times that
	from, to    [2][2]reg.Register // addresses of inputs and outputs 0 and 4, [re, im]
	tw          reg.Register       // address of the twiddles
	disp        int                // bytes from the start of the vector
	spill       operand.Mem        // memory for four complex vectors if registers are few
}

func (p fftPass) generate(g *gen) {
	b := &butterfly{gen: g, fftPass: p}
	if p.radix == 8 && !g.manyRegisters() {
		b.spill = g.AllocLocal(8 * 4 * g.lanes)
	}
	b.step = g.arg("q")
	g.SHLQ(operand.Imm(6), b.step)
	if p.radix > 3 {
		b.step3 = g.GP64()
		g.LEAQ(operand.Mem{Base: b.step, Index: b.step, Scale: 2}, b.step3)
	}
	re, im, end := g.ptr("re"), g.ptr("im"), g.length("re")
	g.LEAQ(operand.Mem{Base: re, Index: end, Scale: 4}, end)
	first := g.arg("from")
	if p.plain {
		b.blocks(re, im, end, func() { b.run(re, im, re, im) })
		return
	}
	twStep := 8 * (p.radix - 1)
	tw := g.ptr("tw")
	offset := g.GP64()
	g.IMUL3Q(operand.U32(twStep), first, offset)
	g.ADDQ(offset, tw)
	g.SHLQ(operand.Imm(6), first)
	g.ADDQ(first, re)
	g.ADDQ(first, im)
	body := func() {
		b.tw = g.GP64()
		g.MOVQ(tw, b.tw)
		var fromRe, fromIm reg.Register = g.GP64(), g.GP64()
		g.MOVQ(re, fromRe)
		g.MOVQ(im, fromIm)
		toRe, toIm := fromRe, fromIm
		if p.half {
			other := [2]string{"xRe", "xIm"}
			if p.inverse {
				other = [2]string{"yRe", "yIm"}
			}
			x, y := g.ptr(other[0]), g.ptr(other[1])
			g.ADDQ(first, x)
			g.ADDQ(first, y)
			if p.inverse {
				toRe, toIm = x, y
			} else {
				fromRe, fromIm, toRe, toIm = x, y, fromRe, fromIm
			}
		}
		g.times(g.arg("count"), func() {
			b.run(fromRe, fromIm, toRe, toIm)
			g.ADDQ(operand.Imm(64), fromRe)
			g.ADDQ(operand.Imm(64), fromIm)
			if p.half {
				g.ADDQ(operand.Imm(64), toRe)
				g.ADDQ(operand.Imm(64), toIm)
			}
			g.ADDQ(operand.U32(twStep), b.tw)
		})
	}
	if p.half { // a single block
		body()
		return
	}
	b.blocks(re, im, end, body)
}

// blocks runs body for each block of radix·q vectors.
func (b *butterfly) blocks(re, im, end reg.Register, body func()) {
	loop, done := b.label("block"), b.label("done")
	b.Label(loop)
	b.CMPQ(re, end)
	b.JGE(operand.LabelRef(done))
	body()
	for range b.radix {
		b.ADDQ(b.step, re)
		b.ADDQ(b.step, im)
	}
	b.JMP(operand.LabelRef(loop))
	b.Label(done)
}

// run transforms one vector of each input.
func (b *butterfly) run(fromRe, fromIm, toRe, toIm reg.Register) {
	b.from = [2][2]reg.Register{{fromRe}, {fromIm}}
	b.to = [2][2]reg.Register{{toRe}, {toIm}}
	if b.radix > 4 {
		for part := range 2 {
			b.from[part][1] = b.fourth(b.from[part][0])
			b.to[part][1] = b.from[part][1]
			if b.half {
				b.to[part][1] = b.fourth(b.to[part][0])
			}
		}
	}
	if b.neon() { // stores without an offset are cheapest
		b.parts()
		return
	}
	for b.disp = 0; b.disp < 64; b.disp += 4 * b.lanes {
		b.part()
	}
}

// parts runs part for each part of a vector in a loop.
func (b *butterfly) parts() {
	var pointers []reg.Register
	for _, p := range []reg.Register{b.from[0][0], b.from[1][0], b.from[0][1], b.from[1][1], b.to[0][0], b.to[1][0], b.to[0][1], b.to[1][1]} {
		if p != nil && !slices.Contains(pointers, p) {
			pointers = append(pointers, p)
		}
	}
	n := b.GP64()
	b.MOVQ(operand.U32(16/b.lanes), n)
	b.times(n, func() {
		b.part()
		for _, p := range pointers {
			b.ADDQ(operand.Imm(uint64(4*b.lanes)), p)
		}
	})
	for _, p := range pointers {
		b.SUBQ(operand.Imm(64), p)
	}
}

func (b *butterfly) fourth(base reg.Register) reg.Register {
	r := b.GP64()
	b.LEAQ(operand.Mem{Base: base, Index: b.step, Scale: 4}, r)
	return r
}

// at returns the address of vector k of a transform.
func (b *butterfly) at(base [2]reg.Register, k int) operand.Mem {
	m := operand.Mem{Base: base[k/4], Disp: b.disp}
	switch k % 4 {
	case 1, 2:
		m.Index, m.Scale = b.step, uint8(k%4)
	case 3:
		m.Index, m.Scale = b.step3, 1
	}
	return m
}

// raw loads input k. input also multiplies it by its twiddle if the pass is inverse.
func (b *butterfly) raw(k int) complexVec {
	x := complexVec{b.vec(), b.vec()}
	b.VMOVUPS(b.at(b.from[0], k), x.re)
	b.VMOVUPS(b.at(b.from[1], k), x.im)
	return x
}

func (b *butterfly) input(k int) complexVec {
	x := b.raw(k)
	if b.inverse && !b.plain && k > 0 {
		return b.twiddle(x, k)
	}
	return x
}

// output stores result k, multiplied by its twiddle if the pass is forward.
func (b *butterfly) output(k int, y complexVec) {
	if !b.inverse && !b.plain && k > 0 {
		y = b.twiddle(y, k)
	}
	b.VMOVUPS(y.re, b.at(b.to[0], k))
	b.VMOVUPS(y.im, b.at(b.to[1], k))
}

// twiddle multiplies x by the k-th twiddle, in an inverse pass by its conjugate. x is used up.
func (b *butterfly) twiddle(x complexVec, k int) complexVec {
	at := operand.Mem{Base: b.tw, Disp: 8 * (k - 1)}
	if b.neon() { // multiplies by an element without a broadcast
		w := b.vec()
		b.VMOVSD(at, w)
		return b.multiplyByElements(x, w, b.inverse)
	}
	w := complexVec{b.vec(), b.vec()}
	b.VBROADCASTSS(at, w.re)
	b.VBROADCASTSS(at.Offset(4), w.im)
	return b.multiply(x, w, b.inverse)
}
