package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The stage over the lanes computes 16-point transforms as 4×4, with three twiddles w in each of
// two steps. For each w the table (vek.FFTLaneTwiddles) has t = Im w/Re w and c = Re w.
//
// The kernels use w = c·(1 + i·t), because a complex product with 1 + i·t takes two multiply-adds.
// A forward step multiplies its inputs and then adds them, so two of the three factors c take no
// instructions of their own: multiply-adds compute x_0 ± c·x_2 and x_1 ± c·x_3.

// laneTwiddle loads part 0 (t) or 1 (c) of twiddle i of a step, for the vectors from first on.
func (b *lanesGroup) laneTwiddle(step, part, i, first int) reg.VecVirtual {
	return b.g.fetch(operand.Mem{Base: b.tw, Disp: 16 * (FFTGroup*(6*step+3*part+i-1) + first)})
}

// twiddledDFT4 is a forward step: it multiplies x_1, x_2 and x_3 by their twiddles and returns the
// four-point transform.
func (b *lanesGroup) twiddledDFT4(step int, x [4]complexVec, first int) (y [4]complexVec) {
	turn := func(i int) complexVec { return b.turn(x[i], b.laneTwiddle(step, 0, i, first), asIs) }
	factor := func(i int) reg.VecVirtual { return b.laneTwiddle(step, 1, i, first) }
	x3, x1 := turn(3), turn(1)
	b.g.mulReal(x1, factor(1))
	s2, s3 := b.scaledSumDiff(x1, x3, factor(3))
	s0, s1 := b.scaledSumDiff(x[0], turn(2), factor(2))
	y[0], y[2] = b.g.sumDiff(s0, s2)
	y[1], y[3] = b.g.sumDiffI(s1, s3)
	return y
}

// dft4Twiddled is the inverse of twiddledDFT4, up to the factor 4.
func (b *lanesGroup) dft4Twiddled(step int, x [4]complexVec, first int) [4]complexVec {
	y := b.g.dft4(x, inverse)
	for i := 1; i < 4; i++ {
		y[i] = b.turn(y[i], b.laneTwiddle(step, 0, i, first), conjugated)
		b.g.mulReal(y[i], b.laneTwiddle(step, 1, i, first))
	}
	return y
}

// turn returns x·w or x·conj(w) for w = 1 + i·t. It overwrites x.
func (b *lanesGroup) turn(x complexVec, t reg.VecVirtual, how factor) complexVec {
	add, sub := b.g.VFMADD231PS, b.g.VFNMADD231PS
	if how == conjugated {
		add, sub = sub, add
	}
	re := b.g.vec()
	b.g.VMOVAPS(x.re, re)
	sub(t, x.im, re)
	add(t, x.re, x.im)
	return complexVec{re, x.im}
}

// scaledSumDiff returns x + c·y and x − c·y. It overwrites x.
func (b *lanesGroup) scaledSumDiff(x, y complexVec, c reg.VecVirtual) (sum, diff complexVec) {
	sum = b.g.copied(x)
	b.g.VFMADD231PS(c, y.re, sum.re)
	b.g.VFNMADD231PS(c, y.re, x.re)
	b.g.VFMADD231PS(c, y.im, sum.im)
	b.g.VFNMADD231PS(c, y.im, x.im)
	return sum, x
}
