package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reduceBlock is the number of elements that are summed in float32: 64 per lane with NEON, 32 with
// AVX2, 16 with AVX-512.
const reduceBlock = 2048

// reduce generates sums over a slice: eight vectors of partial sums per block; the blocks are added
// in float64.
func reduce(f *file) {
	f.kernel("sum", "func(x []float32) float64", func(g *gen) {
		x := g.ptr("x")
		g.sumBlocks(g.length("x"), []reg.Register{x}, func(r *run, acc reg.VecVirtual, u int) {
			r.add(r.at(x, u), acc)
		})
	})
	f.kernel("dot", "func(x, y []float32) float64", func(g *gen) {
		x, y := g.ptr("x"), g.ptr("y")
		g.sumBlocks(g.length("x"), []reg.Register{x, y}, func(r *run, acc reg.VecVirtual, u int) {
			if a := r.load(x, u); r.mask == nil {
				g.VFMADD231PS(r.at(y, u), a, acc)
			} else {
				g.VFMADD231PS(r.load(y, u), a, acc)
			}
		})
	})
	f.kernel("centralSquares", "func(x []float32, c float32) float64", func(g *gen) {
		x, c := g.ptr("x"), g.broadcastArg("c")
		g.sumBlocks(g.length("x"), []reg.Register{x}, func(r *run, acc reg.VecVirtual, u int) {
			a := g.lessIn(r, r.load(x, u), c)
			g.VFMADD231PS(a, a, acc)
		})
	})
	f.kernel("centralDot", "func(x, y []float32, c float32) float64", func(g *gen) {
		x, y, c := g.ptr("x"), g.ptr("y"), g.broadcastArg("c")
		g.sumBlocks(g.length("x"), []reg.Register{x, y}, func(r *run, acc reg.VecVirtual, u int) {
			b := g.lessIn(r, r.load(y, u), c)
			g.VFMADD231PS(r.load(x, u), b, acc)
		})
	})
}

// lessIn subtracts c in the lanes that the run covers.
func (g *gen) lessIn(r *run, v, c reg.VecVirtual) reg.VecVirtual {
	g.VSUBPS(c, v, v)
	if r.mask != nil {
		covered := *r.mask
		if g.neon() {
			covered = g.lanesBelow(covered.n)
		}
		g.keep(v, covered)
	}
	return v
}

// sumBlocks returns the sum of n terms. add adds the terms of a run's u-th vector to a vector of
// partial sums. The registers of arrays are changed.
func (g *gen) sumBlocks(n reg.Register, arrays []reg.Register, add func(r *run, acc reg.VecVirtual, u int)) {
	acc := g.vecs(8)
	low, high := g.zero(), g.zero() // float64
	block, last, count := g.label("block"), g.label("last"), g.GP64()
	g.Label(block)
	for _, v := range acc {
		g.clear(v)
	}
	g.MOVQ(n, count)
	g.CMPQ(count, operand.U32(reduceBlock))
	g.JLE(operand.LabelRef(last))
	g.MOVQ(operand.U32(reduceBlock), count)
	g.Label(last)
	g.eachVec(count, len(acc), func(r *run, u int) {
		add(r, acc[u], u)
	})
	for half := len(acc) / 2; half > 0; half /= 2 {
		for i := range half {
			g.VADDPS(acc[i+half], acc[i], acc[i])
		}
	}
	g.addWidened(acc[0], low, high)
	for _, p := range arrays {
		g.ADDQ(operand.U32(4*reduceBlock), p)
	}
	g.SUBQ(operand.U32(reduceBlock), n)
	g.JG(operand.LabelRef(block))
	g.VADDPD(high, low, low)
	g.sumDouble(low)
	g.VMOVSD(low.AsX(), placeOf(g.ReturnIndex(0)))
}

// addWidened adds v's lower and upper half to float64 sums.
func (g *gen) addWidened(v, low, high reg.VecVirtual) {
	part := g.vec()
	switch {
	case g.neon():
		g.VCVTPS2PD(v, part)
		g.VADDPD(part, low, low)
		g.VUNPCKHPD(v, v, part)
		g.VCVTPS2PD(part, part)
	case g.wide():
		g.VCVTPS2PD(v.AsY(), part)
		g.VADDPD(part, low, low)
		g.VEXTRACTF32X8(operand.U8(1), v, v.AsY())
		g.VCVTPS2PD(v.AsY(), part)
	default:
		g.VCVTPS2PD(v.AsX(), part)
		g.VADDPD(part, low, low)
		g.VEXTRACTF128(operand.U8(1), v, v.AsX())
		g.VCVTPS2PD(v.AsX(), part)
	}
	g.VADDPD(part, high, high)
}

// sumDouble sets v's lowest lane to the sum of its float64 lanes, by halves.
func (g *gen) sumDouble(v reg.VecVirtual) {
	half := g.vec()
	if g.wide() {
		g.VEXTRACTF64X4(operand.U8(1), v, half.AsY())
		g.VADDPD(half.AsY(), v.AsY(), v.AsY())
		g.VEXTRACTF64X2(operand.U8(1), v.AsY(), half.AsX()) // of any register
	} else if !g.neon() {
		g.VEXTRACTF128(operand.U8(1), v.AsY(), half.AsX())
	}
	if !g.neon() {
		g.VADDPD(half.AsX(), v.AsX(), v.AsX())
	}
	g.VUNPCKHPD(v.AsX(), v.AsX(), half.AsX())
	g.VADDSD(half.AsX(), v.AsX(), v.AsX())
}
