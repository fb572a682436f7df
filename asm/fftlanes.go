package asm

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fftlanes generates the stage over the lanes, for groups of four vectors (the last group may have
// fewer). In AVX-512 a group takes four steps:
//
//  1. Quarters of vectors change places, so that each register has the same quarter of all vectors.
//  2. Four-point transforms across the registers.
//  3. A 4×4 transposition in each quarter.
//  4. Four-point transforms across the registers.
//
// An AVX2 register has the quarters of two vectors, a NEON register that of one.
func fftlanes(f *file) {
	f.kernel("fftForwardLanes", "func(re, im, tw []float32)", func(g *gen) { g.lanesStage(forwardLanes) })
	f.kernel("fftInverseLanes", "func(re, im, tw []float32)", func(g *gen) { g.lanesStage(inverseLanes) })
	const product = "func(re, im, kRe, kIm, tw []float32)"
	f.kernel("fftInverseLanesMul", product, func(g *gen) { g.lanesStage(inverseLanesMul) })
	f.kernel("fftInverseLanesMulConj", product, func(g *gen) { g.lanesStage(inverseLanesMulConj) })
}

type lanesKind int

const (
	forwardLanes lanesKind = iota
	inverseLanes
	inverseLanesMul
	inverseLanesMulConj
)

// lanesGroup is the state of the stage. The current group begins at x and tw.
type lanesGroup struct {
	*gen
	kind      lanesKind
	x, kernel complexPtr
	tw        reg.Register
	step      reg.Register // bytes of a group's results for one h: 16·rows
	twist     [4]complexVec
	spill     operand.Mem
}

func (g *gen) lanesStage(kind lanesKind) {
	b := &lanesGroup{gen: g, kind: kind}
	b.x, b.tw = g.complexPtr("re", "im"), g.ptr("tw")
	product := kind >= inverseLanesMul
	if product {
		b.kernel = g.complexPtr("kRe", "kIm")
	}
	switch {
	case g.wide():
		b.loadTwiddle()
	case g.neon():
		b.spill = g.AllocLocal(3 * 8 * 4 * g.lanes)
	default:
		b.spill = g.AllocLocal(8 * 4 * g.lanes)
	}
	left := g.length("re")
	g.SHRQ(operand.Imm(4), left)
	b.step = g.GP64()
	g.MOVQ(operand.U32(64), b.step)
	loop, rest, end := g.label("loop"), g.label("rest"), g.label("end")
	g.Label(loop)
	g.CMPQ(left, operand.Imm(4))
	g.JL(operand.LabelRef(rest))
	b.group(4)
	g.advance(b.x, operand.U32(256))
	if product {
		g.advance(b.kernel, operand.U32(256))
	}
	g.ADDQ(operand.U32(512), b.tw)
	g.SUBQ(operand.Imm(4), left)
	g.JMP(operand.LabelRef(loop))
	g.Label(rest)
	for rows := 1; rows < 4; rows++ {
		next := g.label("next")
		g.CMPQ(left, operand.Imm(uint64(rows)))
		g.JNE(operand.LabelRef(next))
		g.MOVQ(operand.U32(16*rows), b.step)
		b.group(rows)
		g.JMP(operand.LabelRef(end))
		g.Label(next)
	}
	g.Label(end)
}

// twiddleTable is w_16^{kl} for lane l of every quarter.
func (b *lanesGroup) twiddleTable(k int) complexMem {
	re, im := make([]uint32, 16), make([]uint32, 16)
	for i := range 16 {
		s, c := math.Sincos(-2 * math.Pi * float64(k*(i%4)%16) / 16)
		re[i], im[i] = math.Float32bits(float32(c)), math.Float32bits(float32(s))
	}
	return complexMem{b.table(fmt.Sprintf("twist%dre", k), re), b.table(fmt.Sprintf("twist%dim", k), im)}
}

func (b *lanesGroup) loadTwiddle() {
	for k := 1; k < 4; k++ {
		b.twist[k] = b.load(b.twiddleTable(k))
	}
}

// twiddleOf returns w_16^{kl}.
func (b *lanesGroup) twiddleOf(k int) complexVec {
	if b.wide() {
		return b.twist[k]
	}
	return b.load(b.twiddleTable(k))
}

// group transforms up to four vectors, in parts that fit in four registers. The results would
// overwrite the inputs of later parts, so those of all parts but the last are kept on the stack
// until the end.
func (b *lanesGroup) group(rows int) {
	at, n := 0, b.lanes/4
	for ; at+n < rows; at += n {
		b.part(at, n, false)
	}
	b.part(at, rows-at, true)
	for at := 0; at+n < rows; at += n {
		b.release(at, n)
	}
}

// place is the source or destination of one of the four vectors of a part: its address and its
// number of floats.
type place struct {
	complexMem
	floats int
}

// part transforms vectors first … first+n−1 of a group. It stores the results, or saves them for
// release.
func (b *lanesGroup) part(first, n int, store bool) {
	var x [4]complexVec
	var to []place
	if b.kind == forwardLanes {
		x = b.dft4(b.collect(first, n), false)
		for k := 1; k < 4; k++ {
			x[k] = b.multiply(x[k], b.twiddleOf(k))
		}
		x = b.dft4(b.transposed4(x), false)
		to = b.columns(first, n)
	} else {
		x = b.dft4(b.spectrum(first, n), true)
		x = b.transposed4(x)
		for k := 1; k < 4; k++ {
			x[k] = b.multiplyConj(x[k], b.twiddleOf(k))
		}
		x, to = b.distribute(b.dft4(x, true), first, n)
	}
	for i, p := range to {
		if !store {
			b.store(x[i], b.spilled(first, i))
			continue
		}
		b.storeFirst(x[i].re, p.re, p.floats)
		b.storeFirst(x[i].im, p.im, p.floats)
	}
}

// spilled returns where register i of a part is saved.
func (b *lanesGroup) spilled(first, i int) complexMem {
	return b.slot(b.spill, 4*(first/(b.lanes/4))+i)
}

// release stores the saved results of a part.
func (b *lanesGroup) release(first, n int) {
	to := b.columns(first, n)
	if b.kind != forwardLanes {
		to = b.rows(first, n)
	}
	for i, p := range to {
		b.store(b.load(b.spilled(first, i)), p.complexMem)
	}
}

// columns returns the places of outputs h = 0 … 3 of a part's vectors in the transformed group.
func (b *lanesGroup) columns(first, n int) []place {
	step3 := b.GP64()
	b.LEAQ(operand.Mem{Base: b.step, Index: b.step, Scale: 2}, step3)
	at := func(base reg.Register, h int) operand.Mem {
		m := operand.Mem{Base: base, Disp: 16 * first}
		switch h {
		case 1, 2:
			m.Index, m.Scale = b.step, uint8(h)
		case 3:
			m.Index, m.Scale = step3, 1
		}
		return m
	}
	p := make([]place, 4)
	for h := range p {
		p[h] = place{complexMem{at(b.x.re, h), at(b.x.im, h)}, 4 * n}
	}
	return p
}

// rows returns the places of a part's vectors, one per register.
func (b *lanesGroup) rows(first, n int) []place {
	var p []place
	for v := first; v < first+n; v++ {
		for disp := 64 * v; disp < 64*(v+1); disp += 4 * b.lanes {
			re, im := operand.Mem{Base: b.x.re, Disp: disp}, operand.Mem{Base: b.x.im, Disp: disp}
			p = append(p, place{complexMem{re, im}, b.lanes})
		}
	}
	return p
}

// laneTwiddle loads the twiddles of a register. A vector has 16 real parts, then 16 imaginary ones.
func (b *lanesGroup) laneTwiddle(p place) complexVec {
	vector, within := p.re.Disp/64, p.re.Disp%64
	re := operand.Mem{Base: b.tw, Disp: 128*vector + within}
	return b.load(complexMem{re, re.Offset(64)})
}

// collect loads a part's vectors, multiplies them by their twiddles and returns one register per
// quarter. Missing vectors are zero.
func (b *lanesGroup) collect(first, n int) [4]complexVec {
	var x [4]complexVec
	for i, p := range b.rows(first, n) {
		x[i] = b.multiply(b.load(p.complexMem), b.laneTwiddle(p))
	}
	for i := range x {
		if x[i].re == nil {
			x[i] = complexVec{b.zero(), b.zero()}
		}
	}
	return b.quarters(x)
}

// distribute is the inverse of collect: it returns the vectors and their places.
func (b *lanesGroup) distribute(x [4]complexVec, first, n int) ([4]complexVec, []place) {
	x = b.quartersBack(x)
	to := b.rows(first, n)
	for i, p := range to {
		x[i] = b.multiplyConj(x[i], b.laneTwiddle(p))
	}
	return x, to
}

// spectrum loads a part's columns, multiplied by those of the kernel if there is one.
func (b *lanesGroup) spectrum(first, n int) [4]complexVec {
	load := func(p place) complexVec {
		return complexVec{b.loadFirst(p.re, p.floats), b.loadFirst(p.im, p.floats)}
	}
	var x [4]complexVec
	for h, p := range b.columns(first, n) {
		x[h] = load(p)
		if b.kind < inverseLanesMul {
			continue
		}
		p.re.Base, p.im.Base = b.kernel.re, b.kernel.im
		x[h] = b.product(x[h], load(p), b.kind != inverseLanesMul)
	}
	return x
}

// loadFirst and storeFirst move the first floats of a register, a multiple of four.
func (b *lanesGroup) loadFirst(src operand.Mem, floats int) reg.VecVirtual {
	v := b.vec()
	switch {
	case floats == b.lanes:
		b.VMOVUPS(src, v)
	case floats == 4 && b.wide():
		b.VBROADCASTF32X4(src, v) // the other lanes are not used
	case floats == 4:
		b.VBROADCASTF128(src, v)
	default:
		b.loadMasked(b.firstFloats(floats), src, v)
	}
	return v
}

func (b *lanesGroup) storeFirst(v reg.VecVirtual, dst operand.Mem, floats int) {
	switch {
	case floats == b.lanes:
		b.VMOVUPS(v, dst)
	case floats == 4:
		b.VMOVUPS(v.AsX(), dst)
	default:
		b.storeMasked(b.firstFloats(floats), v, dst)
	}
}

func (b *lanesGroup) firstFloats(n int) mask {
	count := b.GP64()
	b.MOVQ(operand.U32(n), count)
	return b.firstLanes(count)
}
