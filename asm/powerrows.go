package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// powers is the state of powerRows.
type powers struct {
	g *gen
	// kept has w·λ^j for j < 4, mode by mode (at level neon for j < 2, as slots), and powers of λ.
	kept  operand.Mem
	to    complexPtr // the current row
	upper reg.OpmaskVirtual
	lam   complexVec // λ of the next modes
}

// Slots of kept: the powers by which one, two and four vectors of a row differ, and λ⁴. AVX-512 has
// λ⁴ instead of the second and third, which would not fit on the stack.
const (
	vectorSlot = 4 + iota
	twoSlot
	fourSlot
	fourthSlot = twoSlot
)

// powerRows fills row n with w_n·λ_n^b for b < cols, where λ_n = exp(l·log.re + i·lIm·log.im). The
// start values are computed for as many modes at once as a vector has float64s. Then each mode
// fills its row. Denormal results are 0.
func (g *gen) powerRows() {
	saved := g.flushDenormals()
	slots := fourSlot + 1
	if g.wide() {
		slots = fourthSlot + 1
	}
	p := &powers{g: g, kept: g.AllocLocal(slots * 2 * 4 * g.lanes)}
	p.to = g.complexPtr("re", "im")
	step := g.stride("stride")
	if g.wide() {
		p.upper = g.upperHalf()
	}
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
	log := p.g.loadInterleaved("log", at, n)
	l, lIm := p.g.spreadDouble(p.g.paramAddr("l")), p.g.spreadDouble(p.g.paramAddr("lIm"))
	p.g.move(p.g.complexPower(log, l, lIm), p.lam)
}

// startValues fills kept for the n modes from at on.
func (p *powers) startValues(at, n reg.Register) {
	keep := func(k int, z complexVec) { p.g.store(z, p.g.slot(p.kept, k)) }
	w := p.g.loadInterleaved("w", at, n)
	next, power := p.g.productDouble(w, p.lam), p.g.productDouble(p.lam, p.lam) // w·λ and λ²
	if p.g.neon() {
		keep(0, w)
		keep(1, next)
	} else {
		p.g.keepByMode(p.kept, [4]complexVec{w, next, p.g.productDouble(w, power), p.g.productDouble(next, power)})
		power = p.g.productDouble(power, power)
	}
	if p.g.wide() {
		keep(fourthSlot, power)
		keep(vectorSlot, p.g.productDouble(power, power))
		return
	}
	for slot := vectorSlot; slot <= fourSlot; slot++ {
		keep(slot, power)
		if slot < fourSlot {
			power = p.g.productDouble(power, power)
		}
	}
}

// rows fills the rows of the n modes from at on, at most as many as a vector has float64s: row[b] =
// w·λ^b. λ of the next modes takes long and is computed while rows are stored.
func (p *powers) rows(at, n, step reg.Register) {
	count, after, rest := p.g.GP64(), p.g.GP64(), p.g.GP64()
	p.g.MOVQ(n, count)
	enough, modes := p.g.label("enough"), p.g.label("modes")
	half := p.g.lanes / 2
	p.g.CMPQ(count, operand.Imm(uint64(half)))
	p.g.JLE(operand.LabelRef(enough))
	p.g.MOVQ(operand.U32(half), count)
	p.g.LEAQ(operand.Mem{Base: at, Disp: half}, after)
	p.g.LEAQ(operand.Mem{Base: n, Disp: -half}, rest)
	p.lambda(after, rest)
	p.g.Label(enough)
	mode := p.g.GP64()
	p.g.XORQ(mode, mode)
	p.g.Label(modes)
	p.row(mode)
	p.g.advance(p.to, step)
	p.g.INCQ(mode)
	p.g.CMPQ(mode, count)
	p.g.JL(operand.LabelRef(modes))
}

// rowStart returns the first four vectors of a mode's row. step returns the power between them and
// the next four. In AVX-512 it stores a short row itself and jumps to end.
func (p *powers) rowStart(mode, cols reg.Register, end string) (z [4]complexVec, step func() complexVec) {
	z[0] = p.g.complexVec()
	quad := p.g.GP64()
	if !p.g.neon() {
		p.g.MOVQ(mode, quad)
		p.g.SHLQ(operand.Imm(5), quad)
	}
	for part, v := range z[0].parts() {
		at := p.kept.Offset(16*p.g.lanes*part).Idx(quad, 1) // of four float64s per mode
		switch {
		case p.g.wide():
			p.g.VBROADCASTF64X4(at, v)
		case p.g.neon():
			p.g.VMOVDDUP(p.keptOf(0, mode).parts()[part], v)
			p.g.VMOVHPD(p.keptOf(1, mode).parts()[part], v, v) // lane 1
		default:
			p.g.VMOVUPD(at, v)
		}
	}
	if p.g.wide() { // the lanes from 4 on are the first four times λ⁴
		x, fourth := complexVec{p.g.broadcastDouble(1), p.g.zero()}, p.keptOf(fourthSlot, mode)
		p.g.VBROADCASTSD(fourth.re, p.upper, x.re)
		p.g.VBROADCASTSD(fourth.im, p.upper, x.im)
		p.g.rotateDouble(z[0], x)
	}
	one := p.power(vectorSlot, mode)
	z[1] = p.g.productDouble(z[0], one)
	if p.g.wide() {
		long := p.g.label("long") // two vectors are enough for a short row
		p.g.CMPQ(cols, operand.Imm(uint64(p.g.lanes)))
		p.g.JG(operand.LabelRef(long))
		p.g.put(z[:2], p.to, cols)
		p.g.JMP(operand.LabelRef(end))
		p.g.Label(long)
		z[2] = p.g.productDouble(z[1], one)
		z[3] = p.g.productDouble(z[2], one)
		return z, func() complexVec {
			two := p.g.productDouble(one, one)
			return p.g.productDouble(two, two)
		}
	}
	two := p.power(twoSlot, mode)
	z[2], z[3] = p.g.productDouble(z[0], two), p.g.productDouble(z[1], two)
	return z, func() complexVec { return p.power(fourSlot, mode) }
}

// keptOf is a mode's number in slot k of kept, and power a vector full of it.
func (p *powers) keptOf(k int, mode reg.Register) complexMem {
	m := p.g.slot(p.kept, k)
	return complexMem{m.re.Idx(mode, 8), m.im.Idx(mode, 8)}
}

func (p *powers) power(k int, mode reg.Register) complexVec {
	return p.g.spreadComplexDouble(p.keptOf(k, mode))
}

// keepByMode stores four numbers per mode next to each other, first the real parts of all modes,
// then the imaginary ones.
func (g *gen) keepByMode(kept operand.Mem, x [4]complexVec) {
	if !g.wide() {
		for part := range 2 {
			v := func(j int) reg.VecVirtual { return x[j].parts()[part] }
			for odd := range 2 { // of the modes
				a, b := g.vec(), g.vec()
				for i, dst := range []reg.VecVirtual{a, b} {
					if odd == 0 {
						g.VUNPCKLPD(v(2*i+1), v(2*i), dst)
					} else {
						g.VUNPCKHPD(v(2*i+1), v(2*i), dst)
					}
				}
				for high := range 2 {
					quad := g.vec()
					g.VPERM2F128(operand.U8(0x20+0x11*high), b, a, quad)
					g.VMOVUPD(quad, kept.Offset(128*part+64*high+32*odd))
				}
			}
		}
		return
	}
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

// row stores a mode's row as floats, four vectors at a time: they hide the latency of the products.
func (p *powers) row(mode reg.Register) {
	cols, to := p.g.arg("cols"), p.g.copyPtr(p.to)
	loop, tail, end := p.g.label("columns"), p.g.label("tail"), p.g.label("rowEnd")
	z, step := p.rowStart(mode, cols, end)
	all := uint64(2 * p.g.lanes)
	putAll := func() {
		p.g.SUBQ(operand.Imm(all), cols)
		p.g.JL(operand.LabelRef(tail))
		p.g.put(z[:], to, nil)
		p.g.CMPQ(cols, operand.Imm(0)) // the last products are not needed
	}
	putAll()
	p.g.JE(operand.LabelRef(end))
	y := step()
	p.g.Label(loop)
	for _, x := range z {
		p.g.rotateDouble(x, y)
	}
	p.g.advance(to, operand.Imm(4*all))
	putAll()
	p.g.JNE(operand.LabelRef(loop))
	p.g.JMP(operand.LabelRef(end))
	p.g.Label(tail)
	p.g.ADDQ(operand.Imm(all), cols)
	p.g.put(z[:], to, cols)
	p.g.Label(end)
}

// put stores vectors as floats, or only cols floats of them; cols is used up.
func (g *gen) put(z []complexVec, to complexPtr, cols reg.Register) {
	stored := g.lanes / 2 // floats at a time
	if g.neon() {
		stored = 4
	}
	for i := range len(z) * g.lanes / 2 / stored {
		var m mask
		if cols != nil {
			if i > 0 {
				g.SUBQ(operand.Imm(uint64(stored)), cols)
			}
			m = g.firstLanes(cols)
		}
		for part, base := range []reg.Register{to.re, to.im} {
			f, at := g.vec(), operand.Mem{Base: base, Disp: 4 * stored * i}
			var half reg.Register = f
			switch {
			case g.wide():
				half = f.AsY()
				g.VCVTPD2PS(z[i].parts()[part], half)
			case g.neon():
				g.VCVTPD2PSX(z[2*i].parts()[part], f)
				g.custom(opNarrowUpper, accumulated, z[2*i+1].parts()[part], f)
			default:
				half = f.AsX()
				g.VCVTPD2PSY(z[i].parts()[part], half)
			}
			switch {
			case cols == nil:
				g.VMOVUPS(half, at)
			case g.wide():
				g.VMOVUPS(half, m.k, at)
			case g.neon():
				g.storeMasked(m, f, at)
			default:
				g.VMASKMOVPS(half, m.v.AsX(), at)
			}
		}
	}
}
