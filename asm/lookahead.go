package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lookAhead generates the step of diagonal systems whose states advance by AheadSamples samples at
// a time. Lanes are channels, so that the sums over the modes need no sums over lanes.
func lookAhead(f *file) {
	f.kernel("lookAhead", "func(y, x []float32, stride, samples, phase, apart, modes int, slots, taps, hRe, hIm, terms []float32)", (*gen).lookAhead)
}

// lookAhead processes the groups of channels one after the other.
func (g *gen) lookAhead() {
	saved := g.flushDenormals()
	left, group := g.length("slots"), g.label("group")
	g.Label(group)
	ahead{g: g, slots: g.ptr("slots"), taps: g.ptr("taps")}.group()
	row := g.GP64()
	g.XORQ(row, row)
	g.ADDQ(operand.Imm(4*GroupChannels), row)
	states := g.arg("modes")
	g.IMULQ(row, states)
	for _, p := range []struct {
		name  string
		rows  int
		bytes reg.Register
	}{
		{"y", 1, row}, {"x", 1, row}, {"slots", AheadSamples, row}, {"taps", 2 * AheadSamples, row},
		{"hRe", 1, states}, {"hIm", 1, states}, {"terms", AheadTerms, states},
	} {
		at, size := g.ptr(p.name), g.GP64()
		g.IMUL3Q(operand.U32(p.rows), p.bytes, size)
		g.ADDQ(size, at)
		g.MOVQ(at, placeOf(g.Param(p.name).Base()))
	}
	phase, within := g.arg("phase"), g.label("within")
	g.ADDQ(g.arg("apart"), phase)
	g.CMPQ(phase, operand.Imm(AheadSamples))
	g.JL(operand.LabelRef(within))
	g.SUBQ(operand.Imm(AheadSamples), phase)
	g.Label(within)
	g.MOVQ(phase, g.paramAddr("phase"))
	g.SUBQ(operand.U32(AheadSamples*GroupChannels), left)
	g.JG(operand.LabelRef(group))
	g.LDMXCSR(saved)
}

// ahead generates the code for a group of channels.
type ahead struct {
	g           *gen
	slots, taps reg.Register
}

func (a ahead) vecs() int { return GroupChannels / a.g.lanes }

// at is vector v of row i of an array [][GroupChannels].
func (a ahead) at(p reg.Register, i, v int) operand.Mem {
	return operand.Mem{Base: p, Disp: 4 * (GroupChannels*i + a.g.lanes*v)}
}

// group processes the samples.
func (a ahead) group() {
	y, x, stride, phase := a.g.ptr("y"), a.g.ptr("x"), a.g.stride("stride"), a.g.arg("phase")
	a.g.SHLQ(operand.Imm(6), phase) // to bytes of slots
	a.g.times(a.g.arg("samples"), func() {
		row := a.g.GP64()
		a.g.LEAQ(operand.Mem{Base: a.taps, Index: phase, Scale: 1}, row)
		for v := range a.vecs() {
			in, sum := a.g.fetch(a.at(x, 0, v)), a.g.vec()
			a.g.VMULPS(a.at(a.taps, 2*AheadSamples-1, v), in, sum)
			for i := range AheadSamples {
				a.g.VFMADD231PS(a.at(row, AheadSamples-1-i, v), a.g.fetch(a.at(a.slots, i, v)), sum)
			}
			a.g.VMOVUPS(sum, a.at(y, 0, v))
			slot := a.at(a.slots, 0, v)
			slot.Index, slot.Scale = phase, 1
			a.g.VMOVUPS(in, slot)
		}
		next := a.g.label("next")
		a.g.ADDQ(operand.Imm(4*GroupChannels), phase)
		a.g.CMPQ(phase, operand.U32(4*GroupChannels*AheadSamples))
		a.g.JL(operand.LabelRef(next))
		a.g.XORQ(phase, phase)
		for v := range a.vecs() {
			a.turn(v)
		}
		a.g.Label(next)
		a.g.ADDQ(stride, x)
		a.g.ADDQ(stride, y)
	})
}

// turn advances the states of vector v of the channels by the samples in the slots, two at a time,
// and sets the slots to the outputs of the next samples without their input.
func (a ahead) turn(v int) {
	out := a.g.zeros(AheadSamples)
	re, im, terms, modes := a.g.ptr("hRe"), a.g.ptr("hIm"), a.g.ptr("terms"), a.g.arg("modes")
	a.g.times(modes, func() {
		lambda, square := a.constant(terms, 0, v), complexVec{a.g.fetch(a.at(terms, 2, v)), a.g.fetch(a.at(terms, 3, v))}
		weights := [2]constant{a.constant(terms, 4, v), a.constant(terms, 6, v)}
		h := complexVec{a.g.fetch(a.at(re, 0, v)), a.g.fetch(a.at(im, 0, v))}
		for i := 0; i < AheadSamples; i += 2 {
			first, next := a.g.fetch(a.at(a.slots, i, v)), complexVec{a.g.fetch(a.at(a.slots, i+1, v)), a.g.vec()}
			a.g.VFMADD231PS(lambda.re, first, next.re)
			a.g.VMULPS(lambda.im, first, next.im)
			a.addProduct(next, square, h)
			h = next
		}
		a.g.VMOVUPS(h.re, a.at(re, 0, v))
		a.g.VMOVUPS(h.im, a.at(im, 0, v))
		for i := 0; i < AheadSamples; i += 2 {
			for j, w := range weights {
				a.g.VFMADD231PS(w.re, h.re, out[i+j])
				a.g.VFNMADD231PS(w.im, h.im, out[i+j])
			}
			if i < AheadSamples-2 {
				next := a.g.complexVec()
				a.g.VMULPS(square.re, h.re, next.re)
				a.g.VMULPS(square.im, h.re, next.im)
				a.g.VFNMADD231PS(square.im, h.im, next.re)
				a.g.VFMADD231PS(square.re, h.im, next.im)
				h = next
			}
		}
		a.g.ADDQ(operand.Imm(4*GroupChannels), re)
		a.g.ADDQ(operand.Imm(4*GroupChannels), im)
		a.g.ADDQ(operand.U32(4*GroupChannels*AheadTerms), terms)
	})
	for i, s := range out {
		a.g.VMOVUPS(s, a.at(a.slots, i, v))
	}
}

// constant is a vector of one parameter, in registers, or in memory if there are too few.
type constant struct{ re, im operand.Op }

// constant returns rows i and i+1 of the terms.
func (a ahead) constant(terms reg.Register, i, v int) constant {
	re, im := a.at(terms, i, v), a.at(terms, i+1, v)
	if a.g.manyRegisters() {
		return constant{a.g.fetch(re), a.g.fetch(im)}
	}
	return constant{re, im}
}

// addProduct adds c·h to s.
func (a ahead) addProduct(s, c, h complexVec) {
	a.g.VFNMADD231PS(c.im, h.im, s.re)
	a.g.VFMADD231PS(c.re, h.re, s.re)
	a.g.VFMADD231PS(c.im, h.re, s.im)
	a.g.VFMADD231PS(c.re, h.im, s.im)
}
