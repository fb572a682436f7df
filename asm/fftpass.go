package asm

import "github.com/mmcloughlin/avo/operand"

// A pass of radix 2 or 4 with q = 1 has no twiddles and stays within a group. So the stage over
// the lanes includes it: a forward stage begins with it, an inverse one ends with it. Radix 2
// takes place in the registers of AVX2 and AVX-512. Otherwise the pass is a loop of its own. In
// AVX-512 this is faster than in registers, because its butterflies depend on nothing else; in
// AVX2 the difference is at most 4 %.

// separatePass reports whether the stage includes a pass that is a loop of its own.
func (b *lanesGroup) separatePass() bool { return b.radix == 4 || b.radix == 2 && b.g.neon() }

// pass transforms each b.radix consecutive vectors in place.
func (b *lanesGroup) pass() {
	x, left := b.g.complexPtr("re", "im"), b.g.length("re")
	b.g.SHRQ(operand.Imm(uint64(4+b.radix/2)), left) // blocks of 16·radix floats
	b.g.times(left, func() {
		for disp := 0; disp < 64; disp += 4 * b.g.lanes {
			var y [4]complexVec
			for k := range b.radix {
				y[k] = b.g.load(x.at(disp + 64*k))
			}
			if b.radix == 4 {
				y = b.g.dft4(y, direction(b.kind != forwardLanes))
			} else {
				y[0], y[1] = b.g.sumDiff(y[0], y[1])
			}
			for k := range b.radix {
				b.g.store(y[k], x.at(disp+64*k))
			}
		}
		b.g.advance(x, operand.U32(64*b.radix))
	})
}

// pairs transforms pairs of vectors, one per register.
func (b *lanesGroup) pairs(x *[4]complexVec) {
	for i := 0; i < len(x); i += 2 {
		x[i], x[i+1] = b.g.sumDiff(x[i], x[i+1])
	}
}
