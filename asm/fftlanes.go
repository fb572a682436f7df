package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The stage over the lanes processes groups of four vectors. In AVX-512 a group takes four steps:
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
	g.SHRQ(operand.Imm(6), left)
	g.times(left, func() {
		b.group()
		g.advance(b.x, operand.U32(256))
		if product {
			g.advance(b.kernel, operand.U32(256))
		}
		g.ADDQ(operand.U32(4*FFTGroup*FFTLaneTable), b.tw)
	})
}

// group transforms four vectors, in parts that fit in four registers. Results that would overwrite
// the inputs of later parts are kept on the stack until the end.
func (b *lanesGroup) group() {
	n := b.g.lanes / 4
	var kept []complexMem
	for first := 0; first < 4; first += n {
		y, to := b.part(first)
		for i, to := range to {
			if b.overwrites(to.re.Disp, first+n) {
				b.g.store(y[i], b.g.slot(b.spill, len(kept)))
				kept = append(kept, to)
			} else {
				b.g.store(y[i], to)
			}
		}
	}
	for i, to := range kept {
		b.g.store(b.g.load(b.g.slot(b.spill, i)), to)
	}
}

// overwrites reports whether a store at a distance from the start of the group would overwrite
// inputs of vector next or of later ones. In a forward stage these inputs begin at vector next. In
// an inverse stage they begin at float 4·next of each of the four columns.
func (b *lanesGroup) overwrites(distance, next int) bool {
	end := distance + 4*b.g.lanes
	if b.kind == forwardLanes {
		return end > 64*next
	}
	for at := distance; at < end; at += 16 {
		if at%64 >= 16*next {
			return true
		}
	}
	return false
}

// part transforms the vectors of a part from first on. It returns the results and where they go.
func (b *lanesGroup) part(first int) (y [4]complexVec, to []complexMem) {
	if b.kind == forwardLanes {
		y = eachPart(b.twiddledDFT4(0, b.quarters(first), first), b.g.transposeQuarters)
		return b.twiddledDFT4(1, y, first), columns(b.x, first)
	}
	y = b.dft4Twiddled(1, b.spectrum(first), first)
	y = b.dft4Twiddled(0, eachPart(y, b.g.transposeQuarters), first)
	return b.distribute(y), b.vectors(first)
}

// columns returns the places of outputs h = 0 … 3 of a part's vectors in the transformed group at
// x.
func columns(x complexPtr, first int) []complexMem { return x.places(16*first, 64) }

// vectors returns the places of a part's vectors, one per register.
func (b *lanesGroup) vectors(first int) []complexMem { return b.x.places(64*first, 4*b.g.lanes) }

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
func (b *lanesGroup) spectrum(first int) (x [4]complexVec) {
	for h, at := range columns(b.x, first) {
		x[h] = b.g.load(at)
		if b.kind >= inverseLanesMul {
			x[h] = b.g.product(x[h], b.g.load(columns(b.kernel, first)[h]), factor(b.kind != inverseLanesMul))
		}
	}
	return x
}
