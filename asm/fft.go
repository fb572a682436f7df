package asm

import (
	"math"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// complexVec is a vector of complex numbers.
type complexVec struct{ re, im reg.VecVirtual }

// fft generates the passes over vectors of 16 lanes; an AVX2 vector is half of one, a NEON vector a quarter. (What the passes compute, and why
// in this order, is in internal/vek/fft.go, fft4.go, fft8.go and fftodd.go.)
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

// fftPass is one kernel: plain without twiddles, half with half of its inputs (forward) or outputs (inverse).
type fftPass struct {
	name                 string
	radix                int
	inverse, half, plain bool
}

// butterfly is where a pass stands: block, vector, and half of a vector where the level's are narrow.
type butterfly struct {
	*gen
	fftPass
	step, step3 reg.Register       // bytes between the inputs of a transform, and three times that
	from, to    [2][2]reg.Register // addresses of inputs 0 and 4, re and im; of outputs
	tw          reg.Register       // address of the twiddles
	disp        int                // of the half
	spill       operand.Mem        // room for four complex vectors, where registers are few
}

func (p fftPass) generate(g *gen) {
	b := &butterfly{gen: g, fftPass: p}
	if p.radix == 8 && !g.roomy() {
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
	if b.neon() { // whose stores are cheapest without an offset
		b.parts()
		return
	}
	for b.disp = 0; b.disp < 64; b.disp += 4 * b.lanes {
		b.part()
	}
}

// parts runs the parts of a vector one by one.
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

// part transforms as many lanes of a vector as a register has.
func (b *butterfly) part() {
	switch {
	case b.radix == 2:
		x, y := b.input(0), b.input(1)
		x, y = b.sumDiff(x, y)
		b.output(0, x)
		b.output(1, y)
	case b.radix == 3:
		b.three()
	case b.radix == 4:
		b.four()
	case b.radix == 5:
		b.five()
	case b.inverse:
		b.eightInverse()
	default:
		b.eightForward()
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

// raw loads input k, input also takes its twiddle away where the pass is inverse.
func (b *butterfly) raw(k int) complexVec {
	x := complexVec{b.vec(), b.vec()}
	b.VMOVUPS(b.at(b.from[0], k), x.re)
	b.VMOVUPS(b.at(b.from[1], k), x.im)
	return x
}

func (b *butterfly) input(k int) complexVec {
	x := b.raw(k)
	if b.inverse && !b.plain && k > 0 {
		return b.twist(x, k)
	}
	return x
}

// output stores result k, times its twiddle where the pass is forward.
func (b *butterfly) output(k int, y complexVec) {
	if !b.inverse && !b.plain && k > 0 {
		y = b.twist(y, k)
	}
	b.VMOVUPS(y.re, b.at(b.to[0], k))
	b.VMOVUPS(y.im, b.at(b.to[1], k))
}

// twist multiplies x by the k-th twiddle, or in an inverse pass by its conjugate. x is used up.
func (b *butterfly) twist(x complexVec, k int) complexVec {
	at := operand.Mem{Base: b.tw, Disp: 8 * (k - 1)}
	if b.neon() { // multiplies by an element: no broadcast
		w := b.vec()
		b.VMOVSD(at, w)
		return b.rotateByElements(x, w, b.inverse)
	}
	wr, wi := b.vec(), b.vec()
	b.VBROADCASTSS(at, wr)
	b.VBROADCASTSS(at.Offset(4), wi)
	if b.inverse {
		return b.rotateBack(x, wr, wi)
	}
	return b.rotate(x, wr, wi)
}

// rotateByElements returns x·w or x·conj(w), w the first two elements of a vector.
func (g *gen) rotateByElements(x complexVec, w reg.VecVirtual, conj bool) complexVec {
	y, plus, minus := complexVec{g.vec(), g.vec()}, opAddLane, opSubLane
	if conj {
		plus, minus = minus, plus
	}
	g.lane(opMulLane, 0, w, x.re, y.re)
	g.lane(opMulLane, 0, w, x.im, y.im)
	g.lane(minus, 1, w, x.im, y.re)
	g.lane(plus, 1, w, x.re, y.im)
	return y
}

// lane writes an instruction by element i of m, at level neon.
func (g *gen) lane(opcode string, i int, m, n, d reg.VecVirtual) {
	inputs := []operand.Op{m, n}
	if opcode != opMulLane {
		inputs = append(inputs, d)
	}
	g.Instruction(&ir.Instruction{
		Opcode: opcode, Operands: []operand.Op{operand.Imm(uint64(i)), m, n, d}, Inputs: inputs, Outputs: []operand.Op{d},
	})
}

// rotate returns x·w, rotateBack x·conj(w); x is used up.
func (g *gen) rotate(x complexVec, wr, wi operand.Op) complexVec {
	if g.neon() {
		y := complexVec{g.vec(), g.vec()}
		g.VMULPS(wr, x.re, y.re)
		g.VMULPS(wr, x.im, y.im)
		g.VFNMADD231PS(wi, x.im, y.re)
		g.VFMADD231PS(wi, x.re, y.im)
		return y
	}
	t, u := g.vec(), g.vec()
	g.VMULPS(wi, x.im, t)
	g.VMULPS(wi, x.re, u)
	g.VFMSUB213PS(t, wr, x.re)
	g.VFMADD213PS(u, wr, x.im)
	return x
}

func (g *gen) rotateBack(x complexVec, wr, wi reg.VecVirtual) complexVec {
	if g.neon() {
		y := complexVec{g.vec(), g.vec()}
		g.VMULPS(wr, x.re, y.re)
		g.VMULPS(wr, x.im, y.im)
		g.VFMADD231PS(wi, x.im, y.re)
		g.VFNMADD231PS(wi, x.re, y.im)
		return y
	}
	t, u := g.vec(), g.vec()
	g.VMULPS(wi, x.im, t)
	g.VMULPS(wi, x.re, u)
	g.VFMADD213PS(t, wr, x.re)
	g.VFMSUB213PS(u, wr, x.im)
	return x
}

// sumDiff returns x + y and x − y in x's registers and new ones.
func (g *gen) sumDiff(x, y complexVec) (sum, diff complexVec) {
	diff = complexVec{g.vec(), g.vec()}
	g.VSUBPS(y.re, x.re, diff.re)
	g.VADDPS(y.re, x.re, x.re)
	g.VSUBPS(y.im, x.im, diff.im)
	g.VADDPS(y.im, x.im, x.im)
	return x, diff
}

// turned returns x − i·y and x + i·y, in new registers and x's.
func (g *gen) turned(x, y complexVec) (minus, plus complexVec) {
	minus = complexVec{g.vec(), g.vec()}
	g.VADDPS(y.im, x.re, minus.re)
	g.VSUBPS(y.im, x.re, x.re)
	g.VSUBPS(y.re, x.im, minus.im)
	g.VADDPS(y.re, x.im, x.im)
	return minus, x
}

// dft4 is the transform of four, with exp(−2πi/4) or, inverse, its conjugate.
func (g *gen) dft4(x [4]complexVec, inverse bool) (y [4]complexVec) {
	s0, s1 := g.sumDiff(x[0], x[2])
	s2, s3 := g.sumDiff(x[1], x[3])
	y[0], y[2] = g.sumDiff(s0, s2)
	y[1], y[3] = g.turned(s1, s3)
	if inverse {
		y[1], y[3] = y[3], y[1]
	}
	return y
}

func (b *butterfly) four() {
	if b.half && !b.inverse { // x_2 = x_3 = 0
		x0, x1 := b.raw(0), b.raw(1)
		var y [4]complexVec // x0 + x1, x0 − i·x1, x0 − x1, x0 + i·x1
		for k := range y {
			y[k] = complexVec{b.vec(), b.vec()}
		}
		b.VADDPS(x1.re, x0.re, y[0].re)
		b.VADDPS(x1.im, x0.im, y[0].im)
		b.VADDPS(x1.im, x0.re, y[1].re)
		b.VSUBPS(x1.re, x0.im, y[1].im)
		b.VSUBPS(x1.re, x0.re, y[2].re)
		b.VSUBPS(x1.im, x0.im, y[2].im)
		b.VSUBPS(x1.im, x0.re, y[3].re)
		b.VADDPS(x1.re, x0.im, y[3].im)
		for k := range y {
			b.output(k, y[k])
		}
		return
	}
	var x [4]complexVec
	for k := range x {
		x[k] = b.input(k)
	}
	outputs := 4
	if b.half {
		outputs = 2
	}
	y := b.dft4(x, b.inverse)
	for k := range outputs {
		b.output(k, y[k])
	}
}

// eightForward: the even outputs are the transform of x_m + x_{m+4}, the odd ones that of (x_m − x_{m+4})·w_8^m.
func (b *butterfly) eightForward() {
	pair := func(m int, add bool) complexVec {
		x := b.raw(m)
		if b.half { // x_{m+4} = 0
			return x
		}
		for part, v := range []reg.VecVirtual{x.re, x.im} {
			if add {
				b.VADDPS(b.at(b.from[part], m+4), v, v)
			} else {
				b.VSUBPS(b.at(b.from[part], m+4), v, v)
			}
		}
		return x
	}
	var x [4]complexVec
	var differences [4]complexVec
	for m := range x {
		if b.neon() && !b.half { // has the registers, and no sums with memory
			x[m], differences[m] = b.sumDiff(b.raw(m), b.raw(m+4))
			continue
		}
		x[m] = pair(m, true)
	}
	even := b.dft4(x, false)
	for k := 1; k < 4; k++ {
		even[k] = b.twist(even[k], 2*k)
	}
	b.hold(even)

	for m := range x {
		if x[m] = differences[m]; x[m].re == nil {
			x[m] = pair(m, false)
		}
	}
	// f·w_8 + h·w_8³ = (u − i·v)/√2 and f·w_8³ + h·w_8 = −(u + i·v)/√2 with u = f − h, v = f + h
	v, u := b.sumDiff(x[1], x[3])
	p, q := b.turned(u, v)
	s1, s3 := b.turned(x[0], x[2])
	b.oddPair(1, 5, s1, p, 1)
	b.oddPair(3, 7, s3, q, -1)

	for k := range even {
		y := b.held(even, k)
		b.VMOVUPS(y.re, b.at(b.to[0], 2*k))
		b.VMOVUPS(y.im, b.at(b.to[1], 2*k))
	}
}

// oddPair stores s + p/√2 as output k and s − p/√2 as output l, with p's sign.
func (b *butterfly) oddPair(k, l int, s, p complexVec, sign float64) {
	plus, minus := b.halves(s, p, sign)
	b.output(k, plus)
	b.output(l, minus)
}

func (b *butterfly) halves(s, p complexVec, sign float64) (plus, minus complexVec) {
	plus = complexVec{b.vec(), b.vec()}
	if b.neon() { // where a product and two sums take no longer than a copy and two multiply-adds
		c := b.broadcast(sign * math.Sqrt2 / 2)
		b.VMULPS(c, p.re, p.re)
		b.VMULPS(c, p.im, p.im)
		return b.sumDiff(s, p)
	}
	b.VMOVAPS(s.re, plus.re)
	b.VMOVAPS(s.im, plus.im)
	b.addMul(plus.re, p.re, sign*math.Sqrt2/2)
	b.addMul(plus.im, p.im, sign*math.Sqrt2/2)
	b.addMul(s.re, p.re, -sign*math.Sqrt2/2)
	b.addMul(s.im, p.im, -sign*math.Sqrt2/2)
	return plus, s
}

// hold puts four vectors away, held returns one of them; with 32 registers there is nothing to do.
func (b *butterfly) hold(x [4]complexVec) {
	if b.roomy() {
		return
	}
	for k, v := range x {
		b.VMOVUPS(v.re, b.spill.Offset(64*k))
		b.VMOVUPS(v.im, b.spill.Offset(64*k+32))
	}
}

func (b *butterfly) held(x [4]complexVec, k int) complexVec {
	if b.roomy() {
		return x[k]
	}
	v := complexVec{b.vec(), b.vec()}
	b.VMOVUPS(b.spill.Offset(64*k), v.re)
	b.VMOVUPS(b.spill.Offset(64*k+32), v.im)
	return v
}

// eightInverse: y_m = A_m + w_8^{−m}·B_m, A and B the transforms of the even and the odd inputs, y_{m+4} = A_m − ….
func (b *butterfly) eightInverse() {
	var x [4]complexVec
	for k := range x {
		x[k] = b.input(2 * k)
	}
	even := b.dft4(x, true)
	b.hold(even)
	for k := range x {
		x[k] = b.input(2*k + 1)
	}
	s0, s1 := b.sumDiff(x[0], x[2])
	s2, s3 := b.sumDiff(x[1], x[3])
	b0, b2 := b.sumDiff(s0, s2)
	// (1+i)/√2·(s1 + i·s3) = (u + i·v)/√2 and (−1+i)/√2·(s1 − i·s3) = −(u − i·v)/√2 … with u = s1 − s3, v = s1 + s3
	v, u := b.sumDiff(s1, s3)
	b3, b1 := b.turned(u, v)
	b.last(0, even, func(a complexVec) (complexVec, complexVec) { return b.sumDiff(a, b0) })
	b.last(1, even, func(a complexVec) (complexVec, complexVec) { return b.halves(a, b1, 1) })
	b.last(2, even, func(a complexVec) (complexVec, complexVec) {
		minus, plus := b.turned(a, b2)
		return plus, minus
	})
	b.last(3, even, func(a complexVec) (complexVec, complexVec) { return b.halves(a, b3, -1) })
}

// last stores outputs m and m+4.
func (b *butterfly) last(m int, even [4]complexVec, sums func(a complexVec) (y, opposite complexVec)) {
	y, opposite := sums(b.held(even, m))
	b.output(m, y)
	if !b.half {
		b.output(m+4, opposite)
	}
}

// three: the sum, and m ∓ i·d with m = x_0 − (x_1 + x_2)/2, d = sin(2π/3)·(x_1 − x_2).
func (b *butterfly) three() {
	x := b.input(0)
	s, d := b.sumDiff(b.input(1), b.input(2))
	m := complexVec{b.vec(), b.vec()}
	b.VMOVAPS(x.re, m.re)
	b.VMOVAPS(x.im, m.im)
	b.addMul(m.re, s.re, -0.5)
	b.addMul(m.im, s.im, -0.5)
	b.VADDPS(s.re, x.re, x.re)
	b.VADDPS(s.im, x.im, x.im)
	b.output(0, x)
	minus, plus := b.turnedBy(m, d, math.Sqrt(3)/2)
	b.ordered(1, 2, minus, plus)
}

// turnedBy returns x − i·c·y and x + i·c·y.
func (b *butterfly) turnedBy(x, y complexVec, c float64) (minus, plus complexVec) {
	if b.neon() { // as halves does it
		scale := b.broadcast(c)
		b.VMULPS(scale, y.re, y.re)
		b.VMULPS(scale, y.im, y.im)
		return b.turned(x, y)
	}
	minus = complexVec{b.vec(), b.vec()}
	b.VMOVAPS(x.re, minus.re)
	b.VMOVAPS(x.im, minus.im)
	b.addMul(minus.re, y.im, c)
	b.addMul(minus.im, y.re, -c)
	b.addMul(x.re, y.im, -c)
	b.addMul(x.im, y.re, c)
	return minus, x
}

// ordered stores x as output k and y as output l, the other way round where the pass is inverse.
func (b *butterfly) ordered(k, l int, x, y complexVec) {
	if b.inverse {
		x, y = y, x
	}
	b.output(k, x)
	b.output(l, y)
}

// five: with a = x_1 + x_4, b = x_2 + x_3, c and d the differences, the results are x_0 + a + b, m ∓ i·u and n ∓ i·v,
//
//	m = x_0 + a·cos 2π/5 + b·cos 4π/5,  n = x_0 + a·cos 4π/5 + b·cos 2π/5,
//	u = c·sin 2π/5 + d·sin 4π/5,        v = c·sin 4π/5 − d·sin 2π/5.
func (b *butterfly) five() {
	s1, c1 := math.Sincos(2 * math.Pi / 5)
	s2, c2 := math.Sincos(4 * math.Pi / 5)
	x := b.input(0)
	a, c := b.sumDiff(b.input(1), b.input(4))
	e, d := b.sumDiff(b.input(2), b.input(3))
	combine := func(c1, c2 float64) complexVec {
		m := complexVec{b.vec(), b.vec()}
		b.VMOVAPS(x.re, m.re)
		b.VMOVAPS(x.im, m.im)
		b.addMul(m.re, a.re, c1)
		b.addMul(m.im, a.im, c1)
		b.addMul(m.re, e.re, c2)
		b.addMul(m.im, e.im, c2)
		return m
	}
	m, n := combine(c1, c2), combine(c2, c1)
	b.VADDPS(e.re, a.re, a.re)
	b.VADDPS(e.im, a.im, a.im)
	b.VADDPS(a.re, x.re, x.re)
	b.VADDPS(a.im, x.im, x.im)
	b.output(0, x)

	// c and d become u/sin 2π/5 = c + r·d and v/sin 2π/5 = r·c − d, r = sin 4π/5 / sin 2π/5.
	r := s2 / s1
	u := complexVec{b.vec(), b.vec()}
	b.VMOVAPS(c.re, u.re)
	b.VMOVAPS(c.im, u.im)
	b.addMul(u.re, d.re, r)
	b.addMul(u.im, d.im, r)
	ratio := b.broadcast(r)
	b.VFMSUB213PS(d.re, ratio, c.re)
	b.VFMSUB213PS(d.im, ratio, c.im)
	minus, plus := b.turnedBy(m, u, s1)
	b.ordered(1, 4, minus, plus)
	minus, plus = b.turnedBy(n, c, s1)
	b.ordered(2, 3, minus, plus)
}
