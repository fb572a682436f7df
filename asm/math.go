package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mathematics generates the functions that are computed from an exponential. The formulas are those
// of plain Go (internal/vek/exp.go, gelu.go, glu.go). Plain Go computes in float64. These kernels
// compute in float32 and keep the low part of a product with fused operations.
func mathematics(f *file) {
	f.elementwise("glu", "func(dst, a, b []float32)", func(g *gen) {
		dst, a, b := g.ptr("dst"), g.ptr("a"), g.ptr("b")
		g.eachVec(g.length("dst"), 2, func(r *run, u int) {
			p, scale := g.exponential(r.load(b, u))
			d, y := g.mulAdd(p, scale, 1), g.vec()
			g.VDIVPS(d, r.load(a, u), y)
			r.store(y, dst, u)
		})
	})
	f.elementwise("gluGrad", "func(da, db, a, b, dy []float32)", gluGrad)
	f.elementwise("gelu", "func(dst, x []float32)", func(g *gen) {
		g.function(2, func(x reg.VecVirtual) reg.VecVirtual {
			t := g.normalTail(x)
			return g.geluOf(x, t)
		})
	})
	f.elementwise("geluSlope", "func(y, slope, x []float32)", func(g *gen) {
		y, slope, x := g.ptr("y"), g.ptr("slope"), g.ptr("x")
		g.eachVec(g.length("y"), 2, func(r *run, u int) {
			v := r.load(x, u)
			t := g.normalTail(v)
			r.store(g.geluOf(v, t), y, u)
			r.store(g.geluSlope(v, t), slope, u)
		})
	})
	tanhForms(f)
}

const magic = 3 << 22 // x + magic rounds x to an integer, |x| < 2²²

// biased rounds x to an integer n, as magic does. The lowest bits of x + biased are n + 127.
// Shifted to the left by 23 bits, they are the float32 2ⁿ for −127 < n < 128, 0 for n = −127 and ∞
// for n = 128.
const biased = magic + 127

// exponential returns p and 2ⁿ, whose product is exp(−x). The product is 0 for x > 87.7, ∞ for x <
// −88.4 and NaN for NaN.
func (g *gen) exponential(x reg.VecVirtual) (p, scale reg.VecVirtual) {
	x = g.clamp(x, -88.5, 88)
	n := g.broadcast(biased)
	g.addMul(n, x, -math.Log2E)
	f := g.fraction(x, g.addConst(n, -biased), -math.Log2E)
	g.VPSLLD(operand.Imm(23), n, n)
	return g.horner(f, exp2Poly), n
}

// fraction returns x·c − whole with the error of one rounding.
func (g *gen) fraction(x, whole reg.VecVirtual, c float64) reg.VecVirtual {
	f := g.broadcast(c)
	g.VFMSUB213PS(whole, x, f)
	g.addMul(f, x, roundingLoss(c))
	return f
}

// gluGrad: da = dy·σ(b) and db = dy·a·σ(b)·(1 − σ(b)), with 1 − σ(b) = exp(−b)·σ(b).
func gluGrad(g *gen) {
	da, db, a, b, dy := g.ptr("da"), g.ptr("db"), g.ptr("a"), g.ptr("b"), g.ptr("dy")
	g.eachVec(g.length("da"), 2, func(r *run, u int) {
		p, scale := g.exponential(r.load(b, u))
		g.VMULPS(scale, p, p)
		s := g.broadcast(1)
		g.VDIVPS(g.addConst(p, 1), s, s)
		e := g.broadcast(math.MaxFloat32)
		g.VMINPS(p, e, e) // avoids ∞·0, which is NaN
		v, y := r.load(a, u), r.load(dy, u)
		g.VMULPS(s, y, y) // dy·σ
		g.VMULPS(s, e, e) // 1 − σ
		r.store(y, da, u)
		g.VMULPS(v, y, y)
		g.VMULPS(e, y, y)
		r.store(y, db, u)
	})
}

// tail holds what GELU and its slope share: a = min(|x|, geluMax), e = exp(−a²/2)/2 and r = R(a) =
// 2·(1 − Φ(a))·exp(a²/2). At geluMax, e is 0. For smaller a neither e nor the result is denormal.
type tail struct{ a, e, r reg.VecVirtual }

func (g *gen) normalTail(x reg.VecVirtual) tail {
	a := g.broadcast(geluMax)
	g.VMINPS(g.and(x, 0x7FFFFFFF), a, a) // NaN stays

	// exp(−a²/2) = 2ⁿ·exp(−s/2) with s = a² + n·2·ln 2. period is 2·ln 2, rounded so that its
	// product with n is exact. The shift below gives 2ⁿ⁻², which is 0 for n = −125.
	const period, bias = 0x1.62e4p+0, biased - 2
	n := g.broadcast(bias)
	g.VFMADD231PS(a, g.mulConst(a, -0.5*math.Log2E), n)
	whole := g.addConst(n, -bias)
	s := g.mulConst(whole, period)
	g.VFMADD231PS(a, a, s)
	g.addMul(s, whole, 2*math.Ln2-period)
	e := g.horner(s, scaled(append([]float64{1, 1}, growthPoly...), 2, -0.5)) // 2·exp(−s/2)
	g.VPSLLD(operand.Imm(23), n, n)
	g.VMULPS(n, e, e)

	// R(a) = Q/(Q + a·(√(π/2)·Q + P)). The rounding error of Q cancels for small and for large a.
	q, d := g.addConst(a, tailQ[3]), g.horner(a, tailP)
	for k := 2; k >= 0; k-- {
		q = g.mulAdd(q, a, tailQ[k])
	}
	g.addMul(d, q, sqrtHalfPi)
	g.VFMADD213PS(q, a, d)
	g.VDIVPS(d, q, q)
	return tail{a, e, q}
}

// geluOf returns max(x, 0) − a·(1 − Φ(a)).
func (g *gen) geluOf(x reg.VecVirtual, t tail) reg.VecVirtual {
	q, y := g.vec(), g.zero()
	g.VMULPS(t.a, t.e, q)
	g.VMAXPS(x, y, y) // NaN stays
	g.VFNMADD231PS(t.r, q, y)
	return y
}

// geluSlope returns 1 + w for x ≥ 0 and −w for x < 0, with w = a·φ(a) − (1 − Φ(a)).
func (g *gen) geluSlope(x reg.VecVirtual, t tail) reg.VecVirtual {
	w, sign := g.broadcast(1/sqrtHalfPi), g.vec()
	g.VFMSUB213PS(t.r, t.a, w)
	g.VPBROADCASTD(g.repeated(0x80000000), sign)
	g.flip(w, x, sign)
	negative, y := g.vec(), g.broadcast(1)
	g.VPSRAD(operand.Imm(31), x, negative)
	if g.wide() {
		g.VPANDND(y, negative, y)
	} else {
		g.VPANDN(y, negative, y)
	}
	g.VFMADD231PS(t.e, w, y)
	return y
}
