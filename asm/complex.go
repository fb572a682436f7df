package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// complexVec is a vector of complex numbers: the real parts in one register, the imaginary parts in
// another. complexMem is such a vector in memory, and complexPtr the addresses of two arrays.
type (
	complexVec struct{ re, im reg.VecVirtual }
	complexMem struct{ re, im operand.Mem }
	complexPtr struct{ re, im reg.Register }
)

// complexVec returns new registers.
func (g *gen) complexVec() complexVec { return complexVec{g.vec(), g.vec()} }

// parts returns the real and the imaginary part.
func (x complexVec) parts() [2]reg.VecVirtual { return [2]reg.VecVirtual{x.re, x.im} }

func (m complexMem) parts() [2]operand.Mem { return [2]operand.Mem{m.re, m.im} }

// slot is vector number k in a function's local memory.
func (g *gen) slot(local operand.Mem, k int) complexMem {
	re := local.Offset(2 * k * 4 * g.lanes)
	return complexMem{re, re.Offset(4 * g.lanes)}
}

// complexPtr loads the addresses of two slice parameters.
func (g *gen) complexPtr(re, im string) complexPtr { return complexPtr{g.ptr(re), g.ptr(im)} }

// at is the vector at a distance in bytes.
func (p complexPtr) at(disp int) complexMem {
	return complexMem{operand.Mem{Base: p.re, Disp: disp}, operand.Mem{Base: p.im, Disp: disp}}
}

// places are four vectors: the first one at a distance in bytes, the others step further each.
func (p complexPtr) places(first, step int) []complexMem {
	m := make([]complexMem, 4)
	for i := range m {
		m[i] = p.at(first + step*i)
	}
	return m
}

// copyPtr returns p in new registers.
func (g *gen) copyPtr(p complexPtr) complexPtr {
	c := complexPtr{g.GP64(), g.GP64()}
	g.MOVQ(p.re, c.re)
	g.MOVQ(p.im, c.im)
	return c
}

// advance adds a number of bytes to p.
func (g *gen) advance(p complexPtr, bytes operand.Op) {
	g.ADDQ(bytes, p.re)
	g.ADDQ(bytes, p.im)
}

// loadComplex returns the run's u-th vector of two arrays, and storeComplex stores it.
func (r *run) loadComplex(p complexPtr, u int) complexVec {
	return complexVec{r.load(p.re, u), r.load(p.im, u)}
}

func (r *run) storeComplex(x complexVec, p complexPtr, u int) {
	r.store(x.re, p.re, u)
	r.store(x.im, p.im, u)
}

func (g *gen) load(m complexMem) complexVec {
	return complexVec{g.fetch(m.re), g.fetch(m.im)}
}

func (g *gen) store(x complexVec, m complexMem) {
	g.VMOVUPS(x.re, m.re)
	g.VMOVUPS(x.im, m.im)
}

// broadcastComplex fills a vector with one number in memory.
func (g *gen) broadcastComplex(m complexMem) complexVec {
	return complexVec{g.spread(m.re), g.spread(m.im)}
}

// move copies x to y's registers, copied to new ones.
func (g *gen) move(x, y complexVec) {
	g.VMOVAPS(x.re, y.re)
	g.VMOVAPS(x.im, y.im)
}

func (g *gen) copied(x complexVec) complexVec {
	y := g.complexVec()
	g.move(x, y)
	return y
}

// add sets x = x + y.
func (g *gen) add(x, y complexVec) {
	g.VADDPS(y.re, x.re, x.re)
	g.VADDPS(y.im, x.im, x.im)
}

// sumDiff returns x + y in x's registers, and x − y in new ones.
func (g *gen) sumDiff(x, y complexVec) (sum, diff complexVec) {
	diff = g.complexVec()
	g.VSUBPS(y.re, x.re, diff.re)
	g.VADDPS(y.re, x.re, x.re)
	g.VSUBPS(y.im, x.im, diff.im)
	g.VADDPS(y.im, x.im, x.im)
	return x, diff
}

// sumDiffI returns x − i·y in new registers, and x + i·y in x's.
func (g *gen) sumDiffI(x, y complexVec) (minus, plus complexVec) {
	minus = g.complexVec()
	g.VADDPS(y.im, x.re, minus.re)
	g.VSUBPS(y.im, x.re, x.re)
	g.VSUBPS(y.re, x.im, minus.im)
	g.VADDPS(y.re, x.im, x.im)
	return minus, x
}

// mulReal sets x = c·x for a real c.
func (g *gen) mulReal(x complexVec, c reg.VecVirtual) {
	g.VMULPS(c, x.re, x.re)
	g.VMULPS(c, x.im, x.im)
}

// mulRealLess sets x = c·x − y for a real c.
func (g *gen) mulRealLess(x complexVec, c reg.VecVirtual, y complexVec) {
	g.VFMSUB213PS(y.re, c, x.re)
	g.VFMSUB213PS(y.im, c, x.im)
}

// addScaled sets x = x + c·y, and addScaledI x = x + i·c·y, for a real constant c.
func (g *gen) addScaled(x, y complexVec, c float64) {
	g.addMul(x.re, y.re, c)
	g.addMul(x.im, y.im, c)
}

func (g *gen) addScaledI(x, y complexVec, c float64) {
	g.addMul(x.re, y.im, -c)
	g.addMul(x.im, y.re, c)
}

// factor says whether a product has w or conj(w).
type factor bool

const (
	asIs       factor = false
	conjugated factor = true
)

// product returns x·w or x·conj(w); x is used up.
func (g *gen) product(x, w complexVec, how factor) complexVec {
	if g.neon() {
		y, add, sub := g.complexVec(), g.VFMADD231PS, g.VFNMADD231PS
		if how == conjugated {
			add, sub = sub, add
		}
		g.VMULPS(w.re, x.re, y.re)
		g.VMULPS(w.re, x.im, y.im)
		sub(w.im, x.im, y.re)
		add(w.im, x.re, y.im)
		return y
	}
	t, u, add, sub := g.vec(), g.vec(), g.VFMADD213PS, g.VFMSUB213PS
	if how == conjugated {
		add, sub = sub, add
	}
	g.VMULPS(w.im, x.im, t)
	g.VMULPS(w.im, x.re, u)
	sub(t, w.re, x.re)
	add(u, w.re, x.im)
	return x
}

// productByElements is product at level neon, where w is the first two elements of a vector.
func (g *gen) productByElements(x complexVec, w reg.VecVirtual, how factor) complexVec {
	y, add, sub := g.complexVec(), opAddLane, opSubLane
	if how == conjugated {
		add, sub = sub, add
	}
	g.lane(opMulLane, 0, w, x.re, y.re)
	g.lane(opMulLane, 0, w, x.im, y.im)
	g.lane(sub, 1, w, x.im, y.re)
	g.lane(add, 1, w, x.re, y.im)
	return y
}

// lane writes an instruction by element i of m, at level neon.
func (g *gen) lane(opcode string, i int, m, n, d reg.VecVirtual) {
	g.custom(opcode, output(opcode != opMulLane), operand.Imm(uint64(i)), m, n, d)
}

// addConjProduct sets d = d + conj(a)·b.
func (g *gen) addConjProduct(d, a, b complexVec) {
	g.VFMADD231PS(a.re, b.re, d.re)
	g.VFMADD231PS(a.re, b.im, d.im)
	g.VFMADD231PS(a.im, b.im, d.re)
	g.VFNMADD231PS(a.im, b.re, d.im)
}

// direction is that of a transform.
type direction bool

const (
	forward direction = false
	inverse direction = true
)

// dft4 returns the transform of four numbers, y_k = Σ_m x_m·exp(∓2πi·km/4); the sign is + if
// inverse.
func (g *gen) dft4(x [4]complexVec, d direction) (y [4]complexVec) {
	s0, s1 := g.sumDiff(x[0], x[2])
	s2, s3 := g.sumDiff(x[1], x[3])
	y[0], y[2] = g.sumDiff(s0, s2)
	y[1], y[3] = g.sumDiffI(s1, s3)
	if d == inverse {
		y[1], y[3] = y[3], y[1]
	}
	return y
}
