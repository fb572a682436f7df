package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// part transforms the lanes of a vector that fit in a register.
func (b *butterfly) part() {
	switch {
	case b.radix == 3:
		b.three()
	case b.radix == 4:
		b.four()
	case b.radix == 5:
		b.five()
	case b.direction == inverse:
		b.eightInverse()
	default:
		b.eightForward()
	}
}

// three: y_0 = x_0 + x_1 + x_2 and y_{1,2} = m ∓ i·d, where m = x_0 − (x_1 + x_2)/2 and
// d = sin(2π/3)·(x_1 − x_2).
func (b *butterfly) three() {
	x := b.input(0)
	s, d := b.g.sumDiff(b.input(1), b.input(2))
	m := b.g.copied(x)
	b.g.addScaled(m, s, -0.5)
	b.g.add(x, s)
	b.output(0, x)
	minus, plus := b.scaledSumDiffI(m, d, math.Sqrt(3)/2)
	b.ordered(1, 2, minus, plus)
}

func (b *butterfly) four() {
	if b.half && b.direction == forward { // x_2 = x_3 = 0
		x0, x1 := b.raw(0), b.raw(1)
		plus := func(re, im func(...operand.Op), x complexVec) complexVec {
			y := b.g.complexVec()
			re(x.re, x0.re, y.re)
			im(x.im, x0.im, y.im)
			return y
		}
		add, sub, turned := b.g.VADDPS, b.g.VSUBPS, complexVec{x1.im, x1.re} // ±i·x1 with opposite signs
		y := [4]complexVec{plus(add, add, x1), plus(add, sub, turned), plus(sub, sub, x1), plus(sub, add, turned)}
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
	y := b.g.dft4(x, b.direction)
	for k := range outputs {
		b.output(k, y[k])
	}
}

// five: y_0 = x_0 + a + b, y_{1,4} = m ∓ i·u and y_{2,3} = n ∓ i·v, where a = x_1 + x_4, b = x_2 +
// x_3, c = x_1 − x_4, d = x_2 − x_3 and
//
//	m = x_0 + a·cos 2π/5 + b·cos 4π/5,  n = x_0 + a·cos 4π/5 + b·cos 2π/5,
//	u = c·sin 2π/5 + d·sin 4π/5,        v = c·sin 4π/5 − d·sin 2π/5.
func (b *butterfly) five() {
	s1, c1 := math.Sincos(2 * math.Pi / 5)
	s2, c2 := math.Sincos(4 * math.Pi / 5)
	x := b.input(0)
	a, c := b.g.sumDiff(b.input(1), b.input(4))
	e, d := b.g.sumDiff(b.input(2), b.input(3)) // e is the formula's b
	combine := func(c1, c2 float64) complexVec {
		m := b.g.copied(x)
		b.g.addScaled(m, a, c1)
		b.g.addScaled(m, e, c2)
		return m
	}
	m, n := combine(c1, c2), combine(c2, c1)
	b.g.add(a, e)
	b.g.add(x, a)
	b.output(0, x)

	// With r = sin 4π/5 / sin 2π/5: u/sin 2π/5 = c + r·d and v/sin 2π/5 = r·c − d.
	r := s2 / s1
	u, v := b.g.copied(c), c
	b.g.addScaled(u, d, r)
	b.g.mulRealLess(v, b.g.broadcast(r), d)
	minus, plus := b.scaledSumDiffI(m, u, s1)
	b.ordered(1, 4, minus, plus)
	minus, plus = b.scaledSumDiffI(n, v, s1)
	b.ordered(2, 3, minus, plus)
}

// eightForward: the even outputs are the transform of x_m + x_{m+4}, the odd ones the transform of
// (x_m − x_{m+4})·w_8^m.
func (b *butterfly) eightForward() {
	sums, differences := b.eightInputs()
	even := b.g.dft4(sums, forward)
	for k := 1; k < 4; k++ {
		even[k] = b.twiddle(even[k], 2*k)
	}
	if b.half {
		b.save(even)
	} else {
		b.storeEven(even)
	}
	var x [4]complexVec
	for m := range x {
		x[m] = differences(m)
	}
	// f·w_8 + h·w_8³ = (u − i·v)/√2 and f·w_8³ + h·w_8 = −(u + i·v)/√2 with u = f − h, v = f + h
	v, u := b.g.sumDiff(x[1], x[3])
	p, q := b.g.sumDiffI(u, v)
	s1, s3 := b.g.sumDiffI(x[0], x[2])
	b.oddPair(1, 5, s1, p, 1)
	b.oddPair(3, 7, s3, q, -1)

	if b.half {
		for k := range even {
			even[k] = b.saved(even, k)
		}
		b.storeEven(even)
	}
}

func (b *butterfly) storeEven(even [4]complexVec) {
	for k, y := range even {
		b.g.store(y, b.at(b.to, 2*k))
	}
}

// eightInputs returns x_m + x_{m+4}, and a function that returns x_m − x_{m+4}. With few registers,
// the differences are in the places of the odd inputs meanwhile.
func (b *butterfly) eightInputs() (sums [4]complexVec, differences func(m int) complexVec) {
	if b.half { // x_{m+4} = 0
		for m := range sums {
			sums[m] = b.raw(m)
		}
		return sums, b.raw
	}
	var d [4]complexVec
	kept := [4]int{1, 5, 3, 7}
	for _, m := range []int{1, 3, 0, 2} { // the places of these inputs are not needed any more
		sums[m], d[m] = b.g.sumDiff(b.raw(m), b.raw(m+4))
		if !b.g.manyRegisters() {
			b.g.store(d[m], b.at(b.to, kept[m]))
		}
	}
	return sums, func(m int) complexVec {
		if b.g.manyRegisters() {
			return d[m]
		}
		return b.g.load(b.at(b.to, kept[m]))
	}
}

// eightInverse: y_m = A_m + w_8^{−m}·B_m and y_{m+4} = A_m − w_8^{−m}·B_m, where A and B are the
// transforms of the even and the odd inputs.
func (b *butterfly) eightInverse() {
	var x [4]complexVec
	for k := range x {
		x[k] = b.input(2 * k)
	}
	even := b.g.dft4(x, inverse)
	b.save(even)
	for k := range x {
		x[k] = b.input(2*k + 1)
	}
	s0, s1 := b.g.sumDiff(x[0], x[2])
	s2, s3 := b.g.sumDiff(x[1], x[3])
	b0, b2 := b.g.sumDiff(s0, s2)
	// With u = s1 − s3 and v = s1 + s3: (1+i)/√2·(s1 + i·s3) = (u + i·v)/√2 and
	// (−1+i)/√2·(s1 − i·s3) = −(u − i·v)/√2.
	v, u := b.g.sumDiff(s1, s3)
	b3, b1 := b.g.sumDiffI(u, v)
	b.last(0, even, func(a complexVec) (complexVec, complexVec) { return b.g.sumDiff(a, b0) })
	b.last(1, even, func(a complexVec) (complexVec, complexVec) { return b.halves(a, b1, 1) })
	b.last(2, even, func(a complexVec) (complexVec, complexVec) {
		minus, plus := b.g.sumDiffI(a, b2)
		return plus, minus
	})
	b.last(3, even, func(a complexVec) (complexVec, complexVec) { return b.halves(a, b3, -1) })
}

// oddPair stores s + sign·p/√2 as output k and s − sign·p/√2 as output l.
func (b *butterfly) oddPair(k, l int, s, p complexVec, sign float64) {
	plus, minus := b.halves(s, p, sign)
	b.output(k, plus)
	b.output(l, minus)
}

// halves returns s + sign·p/√2 and s − sign·p/√2.
func (b *butterfly) halves(s, p complexVec, sign float64) (plus, minus complexVec) {
	c := sign * math.Sqrt2 / 2
	if b.g.neon() { // a product and two sums take no longer than a copy and two multiply-adds
		b.g.mulReal(p, b.g.broadcast(c))
		return b.g.sumDiff(s, p)
	}
	plus = b.g.copied(s)
	b.g.addScaled(plus, p, c)
	b.g.addScaled(s, p, -c)
	return plus, s
}

// scaledSumDiffI returns x − i·c·y and x + i·c·y.
func (b *butterfly) scaledSumDiffI(x, y complexVec, c float64) (minus, plus complexVec) {
	if b.g.neon() { // as in halves
		b.g.mulReal(y, b.g.broadcast(c))
		return b.g.sumDiffI(x, y)
	}
	minus = b.g.copied(x)
	b.g.addScaledI(minus, y, -c)
	b.g.addScaledI(x, y, c)
	return minus, x
}

// ordered stores x as output k and y as output l, exchanged if the pass is inverse.
func (b *butterfly) ordered(k, l int, x, y complexVec) {
	if b.direction == inverse {
		x, y = y, x
	}
	b.output(k, x)
	b.output(l, y)
}

// save stores four vectors on the stack, and saved loads one of them. With 32 registers both do
// nothing.
func (b *butterfly) save(x [4]complexVec) {
	if b.g.manyRegisters() {
		return
	}
	for k, v := range x {
		b.g.store(v, b.g.slot(b.spill, k))
	}
}

func (b *butterfly) saved(x [4]complexVec, k int) complexVec {
	if b.g.manyRegisters() {
		return x[k]
	}
	return b.g.load(b.g.slot(b.spill, k))
}

// last stores outputs m and m+4.
func (b *butterfly) last(m int, even [4]complexVec, sums func(a complexVec) (y, opposite complexVec)) {
	y, opposite := sums(b.saved(even, m))
	b.output(m, y)
	if !b.half {
		b.output(m+4, opposite)
	}
}
