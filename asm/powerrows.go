package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// powers is the state of powerRows.
type powers struct {
	*gen
	// kept has w·λ^j for j < 4 (in AVX-512 mode by mode), the power between two vectors of a row
	// and, in AVX-512, λ⁴. At level neon it has w, w·λ, λ², λ⁴ and λ⁸.
	kept   operand.Mem
	to     complexPtr // the current row
	upper  reg.OpmaskVirtual
	l, lIm reg.GPVirtual
	lam    complexVec // λ of the next modes
}

const (
	stepSlot   = 4            // of kept, the power between two vectors of a row
	fourthSlot = stepSlot + 1 // λ⁴
)

// powerRows fills row n with w_n·λ_n^b for b < cols, where λ_n = exp(l·log.re + i·lIm·log.im). The
// start values are computed for as many modes at once as a vector has float64s. Then each mode
// fills its row. Denormal results are 0.
func (g *gen) powerRows() {
	saved := g.flushDenormals()
	p := &powers{gen: g, kept: g.AllocLocal((fourthSlot + 1) * 2 * 4 * g.lanes)}
	p.to = g.complexPtr("re", "im")
	step := g.stride("stride")
	if g.wide() {
		p.upper = g.upperHalf()
	}
	p.l, p.lIm = g.GP64(), g.GP64()
	g.MOVQ(g.paramAddr("l"), p.l)
	g.MOVQ(g.paramAddr("lIm"), p.lIm)
	p.lam = g.complexVec()
	number, zero := g.length("log"), g.GP64()
	g.XORQ(zero, zero)
	p.lambda(zero, number)
	g.eachGroup(number, func(at, n reg.Register) {
		p.startValues(at, n)
		p.rows(at, n, step)
	})
	g.LDMXCSR(saved)
}

// lambda sets lam to λ = exp(l·log.re + i·lIm·log.im) of the n modes from at on.
func (p *powers) lambda(at, n reg.Register) {
	log := p.loadInterleaved("log", at, n)
	p.moveDouble(p.complexPower(log, p.broadcastFrom(p.l), p.broadcastFrom(p.lIm)), p.lam)
}

// startValues fills kept for the n modes from at on: w·λ^j for j < 4, and λ⁴ (in AVX-512 λ⁸), the
// power between two vectors of a row. At level neon, where a vector has two float64s and four
// vectors are computed at a time: w, w·λ, λ², λ⁴ and λ⁸.
func (p *powers) startValues(at, n reg.Register) {
	keep := func(k int, z complexVec) { p.storeDouble(z, p.slot(p.kept, k)) }
	w := p.loadInterleaved("w", at, n)
	next, power := p.productDouble(w, p.lam), p.productDouble(p.lam, p.lam) // w·λ and λ²
	switch {
	case p.neon():
		keep(0, w)
		keep(1, next)
		keep(2, power)
		power = p.productDouble(power, power)
		keep(3, power)
	case p.wide():
		p.keepByMode(p.kept, [4]complexVec{w, next, p.productDouble(w, power), p.productDouble(next, power)})
		power = p.productDouble(power, power)
		keep(fourthSlot, power)
	default:
		keep(0, w)
		keep(1, next)
		keep(2, p.productDouble(w, power))
		keep(3, p.productDouble(next, power))
	}
	keep(stepSlot, p.productDouble(power, power))
}

// rows fills the rows of the n modes from at on, at most as many as a vector has float64s: row[b] =
// w·λ^b. λ of the next modes takes long and is computed while rows are stored.
func (p *powers) rows(at, n, step reg.Register) {
	count, after, rest := p.GP64(), p.GP64(), p.GP64()
	p.MOVQ(n, count)
	enough, modes := p.label("enough"), p.label("modes")
	half := p.lanes / 2
	p.CMPQ(count, operand.Imm(uint64(half)))
	p.JLE(operand.LabelRef(enough))
	p.MOVQ(operand.U32(half), count)
	p.LEAQ(operand.Mem{Base: at, Disp: half}, after)
	p.LEAQ(operand.Mem{Base: n, Disp: -half}, rest)
	p.lambda(after, rest)
	p.Label(enough)
	mode, quad := p.GP64(), p.GP64() // the number of a mode, and the bytes of four float64s per mode
	p.XORQ(mode, mode)
	p.XORQ(quad, quad)
	p.Label(modes)
	z := p.rowStart(mode, quad)
	if p.neon() {
		next := p.productDouble(z, p.power(2, mode))
		fourth := p.power(3, mode)
		start := [4]complexVec{z, next, p.productDouble(z, fourth), p.productDouble(next, fourth)}
		p.powerRowByFour(start, p.power(stepSlot, mode), p.to)
	} else {
		p.powerRow(z, p.power(stepSlot, mode), p.to)
	}
	p.advance(p.to, step)
	p.INCQ(mode)
	p.CMPQ(mode, count)
	p.JL(operand.LabelRef(modes))
}

// rowStart returns the first vector of a mode's row, w·λ^j in lane j. In AVX-512 the lanes from 4
// on are the first four times λ⁴.
func (p *powers) rowStart(mode, quad reg.Register) complexVec {
	half := p.lanes / 2
	z := p.complexVec()
	for part, v := range z.parts() {
		if p.wide() {
			p.VBROADCASTF64X4(p.kept.Offset(32*half*part).Idx(quad, 1), v)
			continue
		}
		p.spreadDouble(p.keptOf(0, mode).parts()[part], v)
		for j := 1; j < half; j++ {
			p.insertDouble(j, p.keptOf(j, mode).parts()[part], v)
		}
	}
	if p.wide() {
		p.ADDQ(operand.Imm(32), quad)
		x, fourth := complexVec{p.broadcastDouble(1), p.zero()}, p.keptOf(fourthSlot, mode)
		p.VBROADCASTSD(fourth.re, p.upper, x.re)
		p.VBROADCASTSD(fourth.im, p.upper, x.im)
		p.rotateDouble(z, x)
	}
	return z
}

// keptOf is a mode's number in slot k of kept, and power a vector full of it.
func (p *powers) keptOf(k int, mode reg.Register) complexMem {
	m := p.slot(p.kept, k)
	return complexMem{m.re.Idx(mode, 8), m.im.Idx(mode, 8)}
}

func (p *powers) power(k int, mode reg.Register) complexVec {
	return p.spreadComplexDouble(p.keptOf(k, mode))
}

// keepByMode stores four numbers per mode next to each other, first the real parts of all modes,
// then the imaginary ones.
func (g *gen) keepByMode(kept operand.Mem, x [4]complexVec) {
	mix := func(name string, index [8]uint32, a, b reg.VecVirtual) reg.VecVirtual {
		bits := make([]uint32, 16) // each of 64 bits; those of b follow those of a
		for i, v := range index {
			bits[2*i] = v
		}
		dst := g.vec()
		g.VMOVUPD(g.table(name, bits), dst)
		g.VPERMI2PD(b, a, dst)
		return dst
	}
	for part := range 2 {
		v := func(j int) reg.VecVirtual { return x[j].parts()[part] }
		for half := range 2 { // of the modes
			name := []string{"low", "high"}[half]
			first := uint32(4 * half)
			pairs := [8]uint32{first, first + 8, first + 1, first + 9, first + 2, first + 10, first + 3, first + 11}
			a, b := mix(name+"pairs", pairs, v(0), v(1)), mix(name+"pairs", pairs, v(2), v(3))
			at := kept.Offset(256*part + 128*half)
			g.VMOVUPD(mix("lowquads", [8]uint32{0, 1, 8, 9, 2, 3, 10, 11}, a, b), at)
			g.VMOVUPD(mix("highquads", [8]uint32{4, 5, 12, 13, 6, 7, 14, 15}, a, b), at.Offset(64))
		}
	}
}

// upperHalf selects the upper half of an AVX-512 vector's float64s.
func (g *gen) upperHalf() reg.OpmaskVirtual {
	k, r := g.K(), g.GP32()
	g.MOVL(operand.U32(0xF0), r)
	g.KMOVW(r, k)
	return k
}

// insertDouble writes a float64 to lane i of v, in AVX2 and NEON.
func (g *gen) insertDouble(i int, src operand.Mem, v reg.VecVirtual) {
	if g.neon() {
		g.VMOVHPD(src, v, v) // lane 1
		return
	}
	x := g.vec()
	g.VBROADCASTSD(src, x)
	g.VBLENDPD(operand.U8(1<<i), x, v, v)
}

// broadcastFrom returns a vector of the float64 whose bits are in r.
func (g *gen) broadcastFrom(r reg.GPVirtual) reg.VecVirtual {
	v := g.vec()
	g.VMOVQ(r, v.AsX())
	g.spreadDouble(v.AsX(), v)
	return v
}

// powerRow stores z, z·step, z·step² … as floats.
func (g *gen) powerRow(z, step complexVec, row complexPtr) {
	half := uint64(g.lanes / 2)
	cols, to := g.arg("cols"), g.copyPtr(row)
	loop, tail, end := g.label("columns"), g.label("tail"), g.label("rowEnd")
	floats := func(v reg.VecVirtual) reg.VecVirtual {
		f := g.vec()
		if g.wide() {
			g.VCVTPD2PS(v, f.AsY())
		} else {
			g.VCVTPD2PSY(v, f.AsX())
		}
		return f
	}
	narrow := func(v reg.VecVirtual) reg.Register {
		if g.wide() {
			return v.AsY()
		}
		return v.AsX()
	}
	g.Label(loop)
	g.SUBQ(operand.Imm(half), cols)
	g.JL(operand.LabelRef(tail))
	g.VMOVUPS(narrow(floats(z.re)), operand.Mem{Base: to.re})
	g.VMOVUPS(narrow(floats(z.im)), operand.Mem{Base: to.im})
	g.JE(operand.LabelRef(end)) // the last product is not needed
	g.rotateDouble(z, step)
	g.advance(to, operand.Imm(4*half))
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.ADDQ(operand.Imm(half), cols)
	m := g.firstLanes(cols)
	for part, to := range []reg.Register{to.re, to.im} {
		v := floats(z.parts()[part])
		if g.wide() {
			g.VMOVUPS(v.AsY(), m.k, operand.Mem{Base: to})
		} else {
			g.VMASKMOVPS(v.AsX(), m.v.AsX(), operand.Mem{Base: to})
		}
	}
	g.Label(end)
}

// powerRowByFour is powerRow at level neon, whose vectors have two float64s. Four vectors at a time
// hide the latency of the products.
func (g *gen) powerRowByFour(z [4]complexVec, step complexVec, row complexPtr) {
	cols, to := g.arg("cols"), g.copyPtr(row)
	floats := func(low, high reg.VecVirtual) reg.VecVirtual {
		f := g.vec()
		g.VCVTPD2PSX(low, f)
		g.custom(opNarrowUpper, true, high, f)
		return f
	}
	each := func(put func(v reg.VecVirtual, at operand.Mem)) {
		for i := 0; i < len(z); i += 2 {
			put(floats(z[i].re, z[i+1].re), operand.Mem{Base: to.re, Disp: 8 * i})
			put(floats(z[i].im, z[i+1].im), operand.Mem{Base: to.im, Disp: 8 * i})
		}
	}
	loop, tail, end := g.label("columns"), g.label("tail"), g.label("rowEnd")
	g.Label(loop)
	g.SUBQ(operand.Imm(8), cols)
	g.JL(operand.LabelRef(tail))
	each(func(v reg.VecVirtual, at operand.Mem) { g.VMOVUPS(v, at) })
	g.CMPQ(cols, operand.Imm(0))
	g.JE(operand.LabelRef(end)) // the last products are not needed
	for _, x := range z {
		g.moveDouble(g.productDouble(x, step), x)
	}
	g.advance(to, operand.Imm(32))
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.ADDQ(operand.Imm(8), cols)
	masks := []mask{g.firstLanes(cols), {}}
	g.SUBQ(operand.Imm(4), cols)
	masks[1] = g.firstLanes(cols)
	each(func(v reg.VecVirtual, at operand.Mem) { g.storeMasked(masks[at.Disp/16], v, at) })
	g.Label(end)
}
