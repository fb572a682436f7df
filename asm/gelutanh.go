package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tanhForms adds GELU's tanh form to the functions that are computed from an exponential.
func tanhForms(f *file) {
	f.elementwise("geluTanh", "func(dst, x []float32)", func(g *gen) {
		g.function(2, func(x reg.VecVirtual) reg.VecVirtual {
			t := g.tanhGate(x)
			y := g.vec()
			g.VDIVPS(g.addConst(t.e, 1), t.x, y)
			return y
		})
	})
	f.elementwise("geluTanhSlope", "func(y, slope, x []float32)", func(g *gen) {
		y, slope, x := g.ptr("y"), g.ptr("slope"), g.ptr("x")
		g.eachVec(g.length("y"), 1, func(r *run, u int) {
			t := g.tanhGate(r.load(x, u))
			d, v := g.addConst(t.e, 1), g.vec()
			g.VDIVPS(d, t.x, v)
			r.store(v, y, u)
			s := g.broadcast(1)
			g.VDIVPS(d, s, s) // σ
			rest := g.broadcast(math.MaxFloat32)
			g.VMINPS(t.e, rest, rest) // avoids ∞·0, which is NaN
			g.VMULPS(s, rest, rest)   // 1 − σ
			w := g.broadcast(tanhA)
			g.addMul(w, t.square, 3*tanhB)
			g.VMULPS(t.v, w, w)
			w = g.mulAdd(w, rest, 1)
			g.VMULPS(s, w, w)
			r.store(w, slope, u)
		})
	})
}

// tanhGate holds what GELU's tanh form and its slope share: max(x, −10.06), v = x clamped to
// [−10.06, 10], v² and e = exp(−w), where the tanh form is x·σ(w). At −10.06, e is ∞.
type tanhGate struct{ x, v, square, e reg.VecVirtual }

func (g *gen) tanhGate(x reg.VecVirtual) tanhGate {
	low, v, e := g.broadcast(geluTanhMin), g.broadcast(geluTanhMax), g.vec()
	g.VMAXPS(x, low, low) // NaN stays
	g.VMINPS(low, v, v)

	// exp(−w) = 2ᵗ with t = v·(q + rest), where q + rest = −log₂e·(tanhA + tanhB·v²) and rest is
	// what rounding loses in v², in the constants and in their sum (Knuth's two-sum).
	const a, b = -math.Log2E * tanhA, -math.Log2E * tanhB
	square, squareLost := g.vec(), g.vec()
	g.VMULPS(v, v, square)
	g.VMOVAPS(v, squareLost)
	g.VFMSUB213PS(square, v, squareLost)
	q := g.broadcast(a)
	g.addMul(q, square, b)
	sum := g.addConst(q, -float64(float32(a))) // q − a
	rest, other := g.vec(), g.broadcast(b)
	g.VSUBPS(sum, q, rest) // q − (q − a)
	last := rest
	rest = g.broadcast(a)
	g.VSUBPS(last, rest, rest)        // a − (q − (q − a))
	g.VFMSUB213PS(sum, square, other) // b·v² − (q − a)
	g.VADDPS(other, rest, rest)
	g.addMul(rest, squareLost, b)
	g.addMul(rest, square, roundingLoss(b))
	rest = g.addConst(rest, roundingLoss(a))

	n := g.broadcast(biased)
	g.VFMADD231PS(q, v, n)
	whole := g.addConst(n, -biased)
	g.VFMSUB213PS(whole, v, q) // v·q − n
	g.VFMADD231PS(rest, v, q)
	g.VPSLLD(operand.Imm(23), n, n)
	g.VMULPS(n, g.horner(q, exp2Poly), e)
	return tanhGate{low, v, square, e}
}
