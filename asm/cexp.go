package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cexp generates complex exponentials. A multiple of π/2 is subtracted from the angle to leave at
// most π/4, where cos and sin are polynomials. The multiple decides which of them is the real part,
// and the signs. The modulus is the real exponential.
func cexp(f *file) {
	f.elementwise("cexp", "func(dRe, dIm, re, im []float32)", func(g *gen) {
		dRe, dIm, re, im := g.ptr("dRe"), g.ptr("dIm"), g.ptr("re"), g.ptr("im")
		g.each(g.length("dRe"), 2, func(r *run) {
			for u := range r.vecs {
				angle, quarter := g.reduceRadians(r.load(im, u))
				z := g.expRotated(r.load(re, u), angle, quarter)
				r.store(z.re, dRe, u)
				r.store(z.im, dIm, u)
			}
		})
	})
	f.elementwise("cexpTurns", "func(dRe, dIm, re []float32, turns []float64)", func(g *gen) {
		dRe, dIm, re, turns := g.ptr("dRe"), g.ptr("dIm"), g.ptr("re"), g.ptr("turns")
		g.each(g.length("dRe"), 1, func(r *run) {
			angle, quarter := g.reduceTurns(r, turns)
			z := g.expRotated(r.load(re, 0), angle, quarter)
			r.store(z.re, dRe, 0)
			r.store(z.im, dIm, 0)
		})
	})
}

// reduceRadians returns im − quarter·π/2, and quarter in the low bits of a float.
func (g *gen) reduceRadians(im reg.VecVirtual) (angle, quarter reg.VecVirtual) {
	quarter = g.broadcast(magic)
	g.addMul(quarter, im, 2/math.Pi)
	whole := g.addConst(quarter, -magic)
	angle = im
	g.addMul(angle, whole, -math.Pi/2)
	g.addMul(angle, whole, -roundingLoss(math.Pi/2))
	return g.clamp(angle, -1, 1), quarter // beyond 4e6 float32 does not resolve angles: only bounds
}

// reduceTurns does the same for a run's angles in turns, in float64.
func (g *gen) reduceTurns(r *run, turns reg.Register) (angle, quarter reg.VecVirtual) {
	angle, quarter = g.vec(), g.vec()
	var angles, quarters [2]reg.VecVirtual
	for half := range angles {
		x := r.loadDoubles(turns, half)
		n := g.broadcastDouble(magicDouble)
		x = g.mulDouble(x, 4)
		g.VADDPD(x, n, n)
		whole, magic := g.vec(), g.broadcastDouble(magicDouble)
		g.VSUBPD(magic, n, whole)
		g.VSUBPD(whole, x, x)
		angles[half], quarters[half] = g.mulDouble(x, math.Pi/2), n
	}
	if g.wide() {
		high, bits := g.vec(), g.vec()
		g.VCVTPD2PS(angles[0], angle.AsY())
		g.VCVTPD2PS(angles[1], high.AsY())
		g.VINSERTF32X8(operand.U8(1), high.AsY(), angle, angle)
		g.VPMOVQD(quarters[0], quarter.AsY())
		g.VPMOVQD(quarters[1], bits.AsY())
		g.VINSERTI32X8(operand.U8(1), bits.AsY(), quarter, quarter)
		return angle, quarter
	}
	if g.neon() {
		high := g.vec()
		g.VCVTPD2PSX(angles[0], angle)
		g.VCVTPD2PSX(angles[1], high)
		g.VUNPCKLPD(high, angle, angle)
		g.VSHUFPS(operand.U8(0x88), quarters[1], quarters[0], quarter)
		return angle, quarter
	}
	high := g.XMM()
	g.VCVTPD2PSY(angles[0], angle.AsX())
	g.VCVTPD2PSY(angles[1], high)
	g.VINSERTF128(operand.U8(1), high, angle, angle)
	g.VSHUFPS(operand.U8(0x88), quarters[1], quarters[0], quarter) // low halves: 0 1 4 5, 2 3 6 7
	g.VPERMQ(operand.U8(0xD8), quarter, quarter)
	return angle, quarter
}

// loadDoubles loads the float64s that belong to the lower or upper half of the run's floats.
func (r *run) loadDoubles(base reg.Register, half int) reg.VecVirtual {
	g, v := r.g, r.g.vec()
	at := operand.Mem{Base: base, Index: r.index, Scale: 8, Disp: 4 * g.lanes * half}
	switch {
	case r.mask == nil:
		g.VMOVUPD(at, v)
	case g.wide():
		k := r.mask.k
		if half == 1 {
			k = g.K()
			g.KSHIFTRW(operand.U8(8), r.mask.k, k)
		}
		g.VMOVUPD_Z(at, k, v)
	case g.neon():
		floats := g.GP64()
		g.LEAQ(operand.Mem{Base: r.mask.n, Index: r.mask.n, Scale: 1, Disp: -4 * half}, floats)
		g.loadMasked(mask{n: floats}, at, v)
	default:
		m := g.vec()
		if half == 0 {
			g.VPMOVSXDQ(r.mask.v.AsX(), m)
		} else {
			g.VEXTRACTI128(operand.U8(1), r.mask.v, m.AsX())
			g.VPMOVSXDQ(m.AsX(), m)
		}
		g.VMASKMOVPD(at, m, v)
	}
	return v
}

// expRotated returns exp(x)·e^{i·(angle + quarter·π/2)}. With exp(x) = 2ⁿ·(1 + m), it adds m·cos to
// cos, so that 1 + m is not rounded. It also adds the rounding error of cos. Then the error of the
// larger part stays below two units in its last place.
func (g *gen) expRotated(x, angle, quarter reg.VecVirtual) complexVec {
	n, whole, m := g.expm1(x)
	square, cubic, sin := g.vec(), g.vec(), angle
	g.VMULPS(angle, angle, square)
	g.VMULPS(square, angle, cubic)
	cos, lost := g.cosine(angle, square)
	g.VFMADD231PS(g.horner(square, sinPoly), cubic, sin)
	g.VFMADD231PS(m, sin, sin)
	g.VFMADD231PS(m, cos, lost)
	g.VADDPS(lost, cos, cos)
	z := g.rotateQuarters(cos, sin, quarter)
	g.scale(z, x, n, whole)
	return z
}

// expm1 returns n and m with exp(x) = 2ⁿ·(1 + m). x is clamped to where exp(x) is a normal number.
// whole is n as a float; n itself is an integer in the low bits of a float.
func (g *gen) expm1(x reg.VecVirtual) (n, whole, m reg.VecVirtual) {
	rest := g.clamp(x, expMin, expMax)
	n = g.broadcast(magic)
	g.addMul(n, rest, math.Log2E)
	whole = g.addConst(n, -magic)
	g.addMul(rest, whole, -math.Ln2)
	g.addMul(rest, whole, -roundingLoss(math.Ln2))
	square := g.vec()
	g.VMULPS(rest, rest, square)
	p := g.horner(rest, growthPoly)
	g.VFMADD213PS(rest, square, p)
	return n, whole, p
}

// cosine returns the cosine and its rounding error.
func (g *gen) cosine(angle, square reg.VecVirtual) (cos, lost reg.VecVirtual) {
	p := g.horner(square, append([]float64{-0.5}, cosPoly...))
	one, squareLost := g.broadcast(1), g.vec()
	cos, lost = g.vec(), g.vec()
	g.VMOVAPS(p, cos)
	g.VFMADD213PS(one, square, cos)
	g.VSUBPS(cos, one, lost)
	g.VFMADD231PS(p, square, lost)
	g.VMOVAPS(square, squareLost)
	g.VFMSUB231PS(angle, angle, squareLost) // angle² − square
	g.addMul(lost, squareLost, -0.5)
	return cos, lost
}

// rotateQuarters returns (cos + i·sin)·i^quarter.
func (g *gen) rotateQuarters(cos, sin, quarter reg.VecVirtual) complexVec {
	z := complexVec{g.vec(), g.vec()}
	next, one, bits, sign := g.vec(), g.vec(), g.vec(), g.vec()
	g.VPBROADCASTD(g.repeated(1), one)
	if g.wide() {
		odd := g.K()
		g.VPTESTMD(one, quarter, odd)
		g.VBLENDMPS(sin, cos, odd, z.re)
		g.VBLENDMPS(cos, sin, odd, z.im)
	} else {
		odd := g.vec()
		g.VPSLLD(operand.Imm(31), quarter, odd)
		g.VBLENDVPS(odd, sin, cos, z.re)
		g.VBLENDVPS(odd, cos, sin, z.im)
	}
	g.VPADDD(one, quarter, next) // cos(q + 1/4) = −sin q
	g.VPSLLD(operand.Imm(30), next, next)
	g.VPSLLD(operand.Imm(30), quarter, bits)
	g.VPBROADCASTD(g.repeated(1<<31), sign)
	g.flip(z.re, next, sign)
	g.flip(z.im, bits, sign)
	return z
}

// scale multiplies z by 2ⁿ, with n and whole as expm1 returns them. Where exp(x) is 0 or infinite,
// so is the result.
func (g *gen) scale(z complexVec, x, n, whole reg.VecVirtual) {
	small, large := g.compare(notBelow, x, expMin), g.compare(above, x, expMax)
	if g.wide() {
		whole = g.blend(small, whole, g.broadcast(math.Inf(-1)))
		whole = g.blend(large, g.broadcast(math.Inf(1)), whole)
		g.VSCALEFPS(whole, z.re, z.re)
		g.VSCALEFPS(whole, z.im, z.im)
		return
	}
	// two factors, since 2¹²⁸ is not a float32
	half, rest := g.vec(), n
	g.VPSUBD(g.float(magic), n, n)
	g.VPSRAD(operand.Imm(1), n, half)
	g.VPSUBD(half, n, rest)
	for _, v := range []reg.VecVirtual{half, rest} {
		g.VPSLLD(operand.Imm(23), v, v)
		g.VPADDD(g.float(1), v, v)
	}
	g.keep(rest, small)
	rest = g.blend(large, g.broadcast(math.Inf(1)), rest)
	for _, v := range []reg.VecVirtual{z.re, z.im} {
		g.VMULPS(half, v, v)
		g.VMULPS(rest, v, v)
	}
}
