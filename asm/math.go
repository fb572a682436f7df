package asm

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mathematics generates the functions that are computed from an exponential. The formulas and
// limits are those of the plain Go (internal/vek/exp.go, gelu.go, glu.go). What is float64 there is
// float32 here, with the low part of a product carried along by fused operations.
func mathematics(f *file) {
	f.elementwise("glu", "func(dst, a, b []float32)", func(g *gen) {
		dst, a, b := g.ptr("dst"), g.ptr("a"), g.ptr("b")
		g.eachVec(g.length("dst"), 2, func(r *run, u int) {
			y, _ := g.logistic(r.load(b, u))
			g.VMULPS(r.load(a, u), y, y)
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
	f.elementwise("geluGrad", "func(dx, x, dy []float32)", func(g *gen) {
		dx, x, dy := g.ptr("dx"), g.ptr("x"), g.ptr("dy")
		g.eachVec(g.length("dx"), 2, func(r *run, u int) {
			v := r.load(x, u)
			y := g.geluSlope(v, g.normalTail(v))
			g.VMULPS(r.load(dy, u), y, y)
			r.store(y, dx, u)
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
}

// Limits, as in plain Go.
const (
	expMax  = 88.72283
	expMin  = -87.33654
	geluMax = 13
)

const magic = 3 << 22 // x + magic rounds x to an integer, |x| < 2²²

// power returns 2^(n+f) by adding n to the exponent of 2^f. n is an integer in the low bits of a
// float, and whole is the same number as a float. NaN stays NaN.
func (g *gen) power(n, whole, f reg.VecVirtual) reg.VecVirtual {
	p := g.horner(f, exp2Poly)
	if g.wide() {
		g.VSCALEFPS(whole, p, p)
		return p
	}
	// A NaN's bits in n would change those of p.
	const low = magic - 1<<21
	if g.neon() {
		g.atLeast(opMaxNumber, n, g.broadcast(low))
	} else {
		g.VMAXPS(g.float(low), n, n)
	}
	g.VPSLLD(operand.Imm(23), n, n)
	g.VPADDD(n, p, p)
	return p
}

// exponential returns exp(sign·x), with x clamped to where the result is a normal number.
func (g *gen) exponential(x reg.VecVirtual, sign float64) reg.VecVirtual {
	lo, hi := expMin, expMax
	if sign < 0 {
		lo, hi = -hi, -lo
	}
	x = g.clamp(x, lo, hi)
	n := g.broadcast(magic)
	g.addMul(n, x, sign*math.Log2E)
	whole := g.addConst(n, -magic)
	return g.power(n, whole, g.fraction(x, whole, sign*math.Log2E))
}

// fraction returns x·c − whole with the error of one rounding.
func (g *gen) fraction(x, whole reg.VecVirtual, c float64) reg.VecVirtual {
	f := g.broadcast(c)
	g.VFMSUB213PS(whole, x, f)
	g.addMul(f, x, roundingLoss(c))
	return f
}

// logistic returns σ(x) and exp(−x), the latter 0 below 2⁻¹²⁶.
func (g *gen) logistic(x reg.VecVirtual) (s, e reg.VecVirtual) {
	e = g.exponential(x, -1)
	s = g.reciprocal(g.addConst(e, 1))
	g.keep(s, g.compare(notBelow, x, expMin))
	return s, e
}

// gluGrad: da = dy·σ(b) and db = dy·a·σ(b)·(1 − σ(b)), with 1 − σ(b) = exp(−b)·σ(b).
func gluGrad(g *gen) {
	da, db, a, b, dy := g.ptr("da"), g.ptr("db"), g.ptr("a"), g.ptr("b"), g.ptr("dy")
	g.eachVec(g.length("da"), 2, func(r *run, u int) {
		x := r.load(b, u)
		s, e := g.logistic(x)
		g.keep(e, g.compare(notAbove, x, -expMin))
		v, y := r.load(a, u), r.load(dy, u)
		g.VMULPS(s, y, y) // dy·σ
		g.VMULPS(s, e, e) // 1 − σ
		r.store(y, da, u)
		g.VMULPS(v, y, y)
		g.VMULPS(e, y, y)
		r.store(y, db, u)
	})
}

// tail holds what GELU and its slope share: a = min(|x|, 13), exp(−a²/2) and R(a) = (1 −
// Φ(a))·exp(a²/2).
type tail struct{ a, e, r reg.VecVirtual }

func (g *gen) normalTail(x reg.VecVirtual) tail {
	const c = -0.5 * math.Log2E
	a := g.and(x, 0x7FFFFFFF)
	top := g.broadcast(geluMax)
	g.VMINPS(a, top, top) // NaN stays
	a = top

	// a² = s + rest, exactly
	s, rest := g.vec(), g.vec()
	g.VMULPS(a, a, s)
	g.VMOVAPS(s, rest)
	g.VFMSUB231PS(a, a, rest)
	n := g.broadcast(magic)
	g.addMul(n, s, c)
	whole := g.addConst(n, -magic)
	f := g.fraction(s, whole, c)
	g.addMul(f, rest, c)
	e := g.power(n, whole, f)

	return tail{a, e, g.tailRatio(a)}
}

// tailRatio returns R(a) for 0 ≤ a ≤ 13. The number of the piece is the last two bits of the
// exponent and the first two of the mantissa of a + 1: 12 … 15 in [1, 2), then 0 … 3, 4 … 7 and 8 …
// 11.
func (g *gen) tailRatio(a reg.VecVirtual) reg.VecVirtual {
	piece := g.addConst(a, 1)
	g.VPSRLD(operand.Imm(21), piece, piece)
	upper := g.vec() // the sign is the fourth bit of piece
	if !g.wide() && !g.neon() {
		g.VPSLLD(operand.Imm(28), piece, upper)
	}
	if g.neon() {
		return g.tailRows(a, piece)
	}
	d := g.lookup("place", tailPlaces, piece, upper)
	g.VSUBPS(d, a, d)
	top := len(tailPolys) - 1
	r := g.lookup(fmt.Sprint("tail", top), tailPolys[top], piece, upper)
	for k := top - 1; k >= 0; k-- {
		g.VFMADD213PS(g.lookup(fmt.Sprint("tail", k), tailPolys[k], piece, upper), d, r)
	}
	return r
}

// tailRows is the last step of tailRatio for NEON. Each lane loads the place and the coefficients
// of its piece as a row, and the rows are transposed.
func (g *gen) tailRows(a, piece reg.VecVirtual) reg.VecVirtual {
	columns := append([][]float64{tailPlaces}, tailPolys...)
	var bits []uint32
	for row := range 16 {
		for column := range 8 {
			v := 0.0
			if column < len(columns) {
				v = columns[column][(row+4)%16]
			}
			bits = append(bits, math.Float32bits(float32(v)))
		}
	}
	table := g.GP64()
	g.LEAQ(g.table("tailRows", bits), table)
	var low, high [4]reg.VecVirtual
	for lane := range low {
		row := g.GP64()
		g.VPEXTRD(operand.Imm(uint64(lane)), piece, row.As32())
		g.ANDL(operand.Imm(15), row.As32())
		g.SHLQ(operand.Imm(5), row)
		low[lane], high[lane] = g.vec(), g.vec()
		g.ADDQ(table, row)
		g.VMOVUPS(operand.Mem{Base: row}, low[lane])
		g.VMOVUPS(operand.Mem{Base: row, Disp: 16}, high[lane])
	}
	first, second := g.transposeQuarters(low), g.transposeQuarters(high)
	c := append(first[:], second[:]...)
	d, r := c[0], c[len(columns)-1]
	g.VSUBPS(d, a, d)
	for k := len(columns) - 2; k >= 1; k-- {
		g.VFMADD231PS(d, r, c[k])
		r = c[k]
	}
	return r
}

// lookup returns the entries of a table of 16 for the pieces.
func (g *gen) lookup(name string, values []float64, piece, upper reg.VecVirtual) reg.VecVirtual {
	bits := make([]uint32, 16)
	for i, v := range values {
		bits[(i+12)%16] = math.Float32bits(float32(v))
	}
	entries, v := g.table(name, bits), g.vec()
	g.VPERMPS(entries, piece, v)
	if !g.wide() {
		high := g.vec()
		g.VPERMPS(entries.Offset(32), piece, high)
		g.VBLENDVPS(upper, high, v, v)
	}
	return v
}

// geluOf returns max(x, 0) − a·(1 − Φ(a)), and 0 from −13 downwards.
func (g *gen) geluOf(x reg.VecVirtual, t tail) reg.VecVirtual {
	q, y := g.vec(), g.zero()
	g.VMULPS(t.e, t.r, q)
	g.VMAXPS(x, y, y) // NaN stays
	g.VFNMADD231PS(t.a, q, y)
	g.keep(y, g.compare(notAtMost, x, -geluMax))
	return y
}

// geluSlope returns 1 + w for x ≥ 0 and −w for x < 0, w = a·φ(a) − (1 − Φ(a)), and 0 from −13
// downwards.
func (g *gen) geluSlope(x reg.VecVirtual, t tail) reg.VecVirtual {
	w := g.broadcast(1 / math.Sqrt(2*math.Pi))
	g.VFMSUB213PS(t.r, t.a, w)
	g.VMULPS(t.e, w, w)
	negative := g.vec()
	g.VPSRAD(operand.Imm(31), x, negative)
	g.xor(w, g.and(x, 0x80000000))
	one := g.broadcast(1)
	if g.wide() {
		g.VPANDND(one, negative, one)
	} else {
		g.VPANDN(one, negative, one)
	}
	g.VADDPS(one, w, w)
	g.keep(w, g.compare(notAtMost, x, -geluMax))
	return w
}
