package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Limits, as in plain Go.
// cexp generates complex exponentials. A multiple of π/2 is subtracted from the angle to leave at
// most π/4, where cos and sin are polynomials. The multiple decides which of them is the real part,
// and the signs. The modulus is the real exponential.
func cexp(f *file) {
	f.elementwise("cexp", "func(dRe, dIm, re, im []float32)", func(g *gen) {
		d, re, im := g.complexPtr("dRe", "dIm"), g.ptr("re"), g.ptr("im")
		g.eachVec(g.length("dRe"), 2, func(r *run, u int) {
			angle, quarter := g.reduceRadians(r.load(im, u))
			r.storeComplex(g.expRotated(r.load(re, u), angle, quarter), d, u)
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
	z := g.complexVec()
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
	for _, v := range z.parts() {
		g.VMULPS(half, v, v)
		g.VMULPS(rest, v, v)
	}
}
