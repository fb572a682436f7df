package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The stage over the lanes processes groups of four vectors. The last group may have fewer. In
// AVX-512 a group takes four steps:
//
//  1. An exchange of quarters, so that each register holds the same quarter of all vectors.
//  2. Four-point transforms across the registers, with twiddles.
//  3. A 4×4 transposition in each quarter.
//  4. Four-point transforms across the registers, with twiddles.
//
// An AVX2 register holds this quarter of two vectors, a NEON register that of one vector.
//
// These functions generate parts of fftForward and fftInverse (ffttransform.go).

type lanesKind int

const (
	forwardLanes lanesKind = iota
	inverseLanes
	inverseLanesMul
	inverseLanesMulConj
)

// lanesGroup is the state of the stage. The current group begins at x and tw.
type lanesGroup struct {
	g         *gen
	kind      lanesKind
	radix     int // of the pass that the stage includes, or 1
	x, kernel complexPtr
	tw        reg.Register
	rows      int          // vectors of the group
	step      reg.Register // bytes of a group's results for one h: 16·rows
	spill     operand.Mem
}

func (g *gen) lanesStage(kind lanesKind, radix int) {
	b := &lanesGroup{g: g, kind: kind, radix: radix}
	b.x, b.tw = g.complexPtr("re", "im"), g.ptr("tw")
	product := kind >= inverseLanesMul
	if product {
		b.kernel = g.complexPtr("kRe", "kIm")
	}
	switch {
	case g.wide():
	case g.neon():
		b.spill = g.local(6 * 8 * g.lanes)
	default:
		b.spill = g.alignedLocal(2 * 8 * g.lanes)
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
	g.ADDQ(operand.U32(1152), b.tw)
	g.SUBQ(operand.Imm(4), left)
	g.JMP(operand.LabelRef(loop))
	g.Label(rest)
	for rows := radix; rows < 4; rows += radix {
		g.when(left, rows, "next", func() {
			g.MOVQ(operand.U32(16*rows), b.step)
			b.group(rows)
			g.JMP(operand.LabelRef(end))
		})
	}
	g.Label(end)
}

// group transforms up to four vectors, in parts that fit in four registers. Results that would
// overwrite the inputs of later parts are kept on the stack until the end.
func (b *lanesGroup) group(rows int) {
	b.rows = rows
	at, n := 0, b.g.lanes/4
	var kept []place
	for ; at+n < rows; at += n {
		for _, y := range b.part(at, n) {
			if b.overwrites(y.to, at+n) {
				b.g.store(y.complexVec, b.g.slot(b.spill, len(kept)))
				kept = append(kept, y.to)
			} else {
				b.put(y)
			}
		}
	}
	for _, y := range b.part(at, rows-at) {
		b.put(y)
	}
	for i, to := range kept {
		b.put(result{b.g.load(b.g.slot(b.spill, i)), to})
	}
}

// place is the source or destination of a register: its address, its distance from the start of
// the group in bytes, and its number of floats.
type place struct {
	complexMem
	distance, floats int
}

// result is a register of results and its destination.
type result struct {
	complexVec
	to place
}

func (b *lanesGroup) put(y result) {
	b.storeFirst(y.re, y.to.re, y.to.floats)
	b.storeFirst(y.im, y.to.im, y.to.floats)
}

// overwrites reports whether a store to a place would overwrite inputs of vector next or of later
// ones. In a forward stage these inputs begin at vector next. In an inverse stage they begin at
// float 4·next of each of the four columns.
func (b *lanesGroup) overwrites(to place, next int) bool {
	if b.kind == forwardLanes {
		return to.distance+4*to.floats > 64*next
	}
	for at := to.distance; at < to.distance+4*to.floats; at += 16 {
		if at%(16*b.rows) >= 16*next {
			return true
		}
	}
	return false
}

// part transforms vectors first … first+n−1 of a group.
func (b *lanesGroup) part(first, n int) (y []result) {
	var to []place
	var x [4]complexVec
	if b.kind == forwardLanes {
		quarter := b.quarters(first, n)
		for s := range x {
			x[s] = quarter(s)
		}
		x = eachPart(b.twiddledDFT4(0, x, first, n), b.g.transposeQuarters)
		x, to = b.twiddledDFT4(1, x, first, n), b.columns(first, n)
	} else {
		x = b.dft4Twiddled(1, b.spectrum(first, n), first, n)
		x = b.dft4Twiddled(0, eachPart(x, b.g.transposeQuarters), first, n)
		x, to = b.distribute(x), b.vectors(first, n)
	}
	for i, p := range to {
		y = append(y, result{x[i], p})
	}
	return y
}

// columns returns the places of outputs h = 0 … 3 of a part's vectors in the transformed group.
func (b *lanesGroup) columns(first, n int) []place {
	step3 := b.g.GP64()
	b.g.LEAQ(operand.Mem{Base: b.step, Index: b.step, Scale: 2}, step3)
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
		p[h] = place{complexMem{at(b.x.re, h), at(b.x.im, h)}, 16 * (h*b.rows + first), 4 * n}
	}
	return p
}

// vectors returns the places of a part's vectors, one per register.
func (b *lanesGroup) vectors(first, n int) []place {
	var p []place
	for v := first; v < first+n; v++ {
		for disp := 64 * v; disp < 64*(v+1); disp += 4 * b.g.lanes {
			p = append(p, place{b.x.at(disp), disp, b.g.lanes})
		}
	}
	return p
}

// distribute is the inverse of quarters. It also computes the pass of radix 2 if the stage includes
// that.
func (b *lanesGroup) distribute(x [4]complexVec) [4]complexVec {
	x = b.quartersBack(x)
	if b.radix == 2 && b.g.wide() {
		b.pairs(&x)
	} else if b.radix == 2 && !b.separatePass() { // two registers per vector
		x[0], x[2] = b.g.sumDiff(x[0], x[2])
		x[1], x[3] = b.g.sumDiff(x[1], x[3])
	}
	return x
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
		x[h] = b.g.product(x[h], load(p), factor(b.kind != inverseLanesMul))
	}
	return x
}

// loadFirst and storeFirst move the first floats of a register, a multiple of four.
func (b *lanesGroup) loadFirst(src operand.Mem, floats int) reg.VecVirtual {
	v := b.g.vec()
	switch {
	case floats == b.g.lanes:
		b.g.VMOVUPS(src, v)
	case floats == 4 && b.g.wide():
		b.g.VBROADCASTF32X4(src, v) // the other lanes are not used
	case floats == 4:
		b.g.VBROADCASTF128(src, v)
	default:
		b.g.loadMasked(b.firstFloats(floats), src, v)
	}
	return v
}

func (b *lanesGroup) storeFirst(v reg.VecVirtual, dst operand.Mem, floats int) {
	switch {
	case floats == b.g.lanes:
		b.g.VMOVUPS(v, dst)
	case floats == 4:
		b.g.VMOVUPS(v.AsX(), dst)
	default:
		b.g.storeMasked(b.firstFloats(floats), v, dst)
	}
}

func (b *lanesGroup) firstFloats(n int) mask {
	count := b.g.GP64()
	b.g.MOVQ(operand.U32(n), count)
	return b.g.firstLanes(count)
}
