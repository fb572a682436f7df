package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// powerRows fills row n with w_n·λ_n^b for b < cols, where λ_n = exp(l·log.re + i·lIm·log.im). The
// starts of rows are computed for as many modes at once as a vector has float64s. Then each mode
// fills its row: each vector of columns is the previous one times a fixed power of λ. Denormal
// results are 0.
func (g *gen) powerRows() {
	saved := g.flushDenormals()
	half := g.lanes / 2
	// kept has w·λ^j for j < 4 (in AVX-512 mode by mode), the power between two vectors of a row
	// and, in AVX-512, λ⁴. At level neon it has w, w·λ, λ², λ⁴ and λ⁸.
	const last = 4
	kept := g.AllocLocal((last + 2) * 2 * 4 * g.lanes)
	power := func(s, part int) operand.Mem { return kept.Offset((2*s + part) * 4 * g.lanes) }
	keep := func(s int, z complexVec) {
		g.VMOVUPD(z.re, power(s, 0))
		g.VMOVUPD(z.im, power(s, 1))
	}

	re, im, step := g.ptr("re"), g.ptr("im"), g.stride("stride")
	var upper reg.OpmaskVirtual
	if g.wide() {
		upper = g.upperHalf()
	}
	l, lIm := g.GP64(), g.GP64()
	g.MOVQ(g.paramAddr("l"), l)
	g.MOVQ(g.paramAddr("lIm"), lIm)
	// λ of the next modes. It takes long and is computed while rows are stored.
	lam := complexVec{g.vec(), g.vec()}
	lambda := func(at, n reg.Register) {
		z := g.complexPower(g.loadComplex("log", at, n), g.broadcastFrom(l), g.broadcastFrom(lIm))
		g.VMOVAPD(z.re, lam.re)
		g.VMOVAPD(z.im, lam.im)
	}
	number, zero := g.length("log"), g.GP64()
	g.XORQ(zero, zero)
	lambda(zero, number)
	g.eachGroup(number, func(at, n reg.Register) {
		w := g.loadComplex("w", at, n)
		next, onward := g.complexProduct(w, lam), g.complexProduct(lam, lam)
		switch {
		case g.neon():
			keep(0, w)
			keep(1, next)
			keep(2, onward)
			onward = g.complexProduct(onward, onward)
			keep(3, onward)
		case g.wide():
			first := [4]complexVec{w, next, g.complexProduct(w, onward), g.complexProduct(next, onward)}
			g.keepByMode(kept, first)
			onward = g.complexProduct(onward, onward)
			keep(last+1, onward)
		default:
			keep(0, w)
			keep(1, next)
			keep(2, g.complexProduct(w, onward))
			keep(3, g.complexProduct(next, onward))
		}
		onward = g.complexProduct(onward, onward)
		keep(last, onward)

		count, after, rest := g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(n, count)
		enough, modes := g.label("enough"), g.label("modes")
		g.CMPQ(count, operand.Imm(uint64(half)))
		g.JLE(operand.LabelRef(enough))
		g.MOVQ(operand.U32(half), count)
		g.LEAQ(operand.Mem{Base: at, Disp: half}, after)
		g.LEAQ(operand.Mem{Base: n, Disp: -half}, rest)
		lambda(after, rest)
		g.Label(enough)
		which, quad := g.GP64(), g.GP64()
		g.XORQ(which, which)
		g.XORQ(quad, quad)
		g.Label(modes)
		z := complexVec{g.vec(), g.vec()}
		for part, v := range []reg.VecVirtual{z.re, z.im} {
			if g.wide() {
				g.VBROADCASTF64X4(kept.Offset(32*half*part).Idx(quad, 1), v)
				continue
			}
			g.spreadDouble(power(0, part).Idx(which, 8), v)
			for j := 1; j < half; j++ {
				g.insertDouble(j, power(j, part).Idx(which, 8), v)
			}
		}
		if g.wide() {
			g.ADDQ(operand.Imm(32), quad)
			x := complexVec{g.broadcastDouble(1), g.zero()}
			g.VBROADCASTSD(power(last+1, 0).Idx(which, 8), upper, x.re)
			g.VBROADCASTSD(power(last+1, 1).Idx(which, 8), upper, x.im)
			g.rotateDouble(z, x.re, x.im)
		}
		one := func(s int) complexVec {
			v := complexVec{g.vec(), g.vec()}
			g.spreadDouble(power(s, 0).Idx(which, 8), v.re)
			g.spreadDouble(power(s, 1).Idx(which, 8), v.im)
			return v
		}
		if g.neon() {
			next := g.complexProduct(z, one(2))
			square := one(3)
			g.powerRowByFour([4]complexVec{z, next, g.complexProduct(z, square), g.complexProduct(next, square)}, one(last), re, im)
		} else {
			g.powerRow(z, one(last), re, im)
		}
		g.ADDQ(step, re)
		g.ADDQ(step, im)
		g.INCQ(which)
		g.CMPQ(which, count)
		g.JL(operand.LabelRef(modes))
	})
	g.LDMXCSR(saved)
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
		v := func(j int) reg.VecVirtual { return []reg.VecVirtual{x[j].re, x[j].im}[part] }
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
func (g *gen) powerRow(z, step complexVec, re, im reg.Register) {
	half := uint64(g.lanes / 2)
	cols, toRe, toIm := g.arg("cols"), g.GP64(), g.GP64()
	g.MOVQ(re, toRe)
	g.MOVQ(im, toIm)
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
	g.VMOVUPS(narrow(floats(z.re)), operand.Mem{Base: toRe})
	g.VMOVUPS(narrow(floats(z.im)), operand.Mem{Base: toIm})
	g.JE(operand.LabelRef(end)) // the last product is not needed
	g.rotateDouble(z, step.re, step.im)
	g.ADDQ(operand.Imm(4*half), toRe)
	g.ADDQ(operand.Imm(4*half), toIm)
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.ADDQ(operand.Imm(half), cols)
	m := g.firstLanes(cols)
	for part, to := range []reg.Register{toRe, toIm} {
		v := floats([]reg.VecVirtual{z.re, z.im}[part])
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
func (g *gen) powerRowByFour(z [4]complexVec, step complexVec, re, im reg.Register) {
	cols, toRe, toIm := g.arg("cols"), g.GP64(), g.GP64()
	g.MOVQ(re, toRe)
	g.MOVQ(im, toIm)
	floats := func(low, high reg.VecVirtual) reg.VecVirtual {
		f := g.vec()
		g.VCVTPD2PSX(low, f)
		g.custom(opNarrowUpper, true, high, f)
		return f
	}
	each := func(put func(v reg.VecVirtual, at operand.Mem)) {
		for i := 0; i < len(z); i += 2 {
			put(floats(z[i].re, z[i+1].re), operand.Mem{Base: toRe, Disp: 8 * i})
			put(floats(z[i].im, z[i+1].im), operand.Mem{Base: toIm, Disp: 8 * i})
		}
	}
	loop, tail, end := g.label("columns"), g.label("tail"), g.label("rowEnd")
	g.Label(loop)
	g.SUBQ(operand.Imm(8), cols)
	g.JL(operand.LabelRef(tail))
	each(func(v reg.VecVirtual, at operand.Mem) { g.VMOVUPS(v, at) })
	g.CMPQ(cols, operand.Imm(0))
	g.JE(operand.LabelRef(end)) // the last products are not needed
	for i, x := range z {
		y := g.complexProduct(x, step)
		g.VMOVAPD(y.re, z[i].re)
		g.VMOVAPD(y.im, z[i].im)
	}
	g.ADDQ(operand.Imm(32), toRe)
	g.ADDQ(operand.Imm(32), toIm)
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.ADDQ(operand.Imm(8), cols)
	masks := []mask{g.firstLanes(cols), {}}
	g.SUBQ(operand.Imm(4), cols)
	masks[1] = g.firstLanes(cols)
	each(func(v reg.VecVirtual, at operand.Mem) { g.storeMasked(masks[at.Disp/16], v, at) })
	g.Label(end)
}
