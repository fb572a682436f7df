package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cauchy generates the sums of S4's kernel and of its gradient. Lanes are nodes.
func cauchy(f *file) {
	f.kernel("cauchySums", "func(sums []float64, stride int, zeta, terms []float64, modes int)", (*gen).cauchySums)
	f.kernel("cauchyGrad", "func(sums, by []float64, stride int, zeta, poles []float64, modes int)", (*gen).cauchyGrad)
}

// strideDouble loads a stride of float64s, in bytes, and three times it.
func (g *gen) strideDouble() (stride, stride3 reg.Register) {
	stride, stride3 = g.arg("stride"), g.GP64()
	g.SHLQ(operand.Imm(3), stride)
	g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	return stride, stride3
}

// cauchyPoint holds the values of a mode at a vector of nodes that all its sums use: d·r, e·r and
// ζ²·e·r, where d = |a|² − ζ², e = −2·Re a and r = 1/(d² + ζ²·e²).
type cauchyPoint struct{ x, y, zy reg.VecVirtual }

func (g *gen) cauchyPoint(terms reg.Register, z2 reg.VecVirtual) cauchyPoint {
	spread := func(i int) reg.VecVirtual { return g.spreadDouble(operand.Mem{Base: terms, Disp: 8 * i}) }
	d, e2, den := spread(0), spread(2), g.vec()
	g.VSUBPD(z2, d, d)
	g.VMULPD(d, d, den)
	g.VFMADD231PD(z2, e2, den)
	r := g.broadcastDouble(1)
	g.VDIVPD(den, r, r)
	y, zy := spread(1), g.vec()
	g.VMULPD(r, d, d)
	g.VMULPD(r, y, y)
	g.VMULPD(z2, y, zy)
	return cauchyPoint{d, y, zy}
}

// cauchySums computes all sums of one or two vectors of nodes at a time. The number of nodes is a
// multiple of CauchyNodes, so all vectors are full.
func (g *gen) cauchySums() {
	vecs := 1
	if g.manyRegisters() {
		vecs = 2
	}
	sums, zeta, n := g.ptr("sums"), g.ptr("zeta"), g.length("zeta")
	stride, stride3 := g.strideDouble()
	g.while("nodes", n, func() {
		z2 := g.vecs(vecs)
		for u, v := range z2 {
			g.VMOVUPD(operand.Mem{Base: zeta, Disp: 4 * g.lanes * u}, v)
			g.VMULPD(v, v, v)
		}
		g.storeCauchySums(g.cauchyModes(z2), zeta, sums, stride, stride3)
		step := operand.Imm(uint64(4 * g.lanes * vecs))
		g.ADDQ(step, sums)
		g.ADDQ(step, zeta)
		g.SUBQ(operand.Imm(uint64(g.lanes/2*vecs)), n)
	})
}

// cauchySum holds a vector of each sum at some nodes: the real parts, and the imaginary parts
// divided by ζ.
type cauchySum struct{ re, im []reg.VecVirtual }

// cauchyModes returns the sums over all modes for each vector of nodes. z2 has their ζ².
func (g *gen) cauchyModes(z2 []reg.VecVirtual) []cauchySum {
	all := make([]cauchySum, len(z2))
	for u := range all {
		all[u] = cauchySum{g.zeros(CauchyPairs), g.zeros(CauchyPairs)}
	}
	terms := g.ptr("terms")
	g.times(g.arg("modes"), func() {
		points := make([]cauchyPoint, len(z2))
		for u := range points {
			points[u] = g.cauchyPoint(terms, z2[u])
		}
		for i := range CauchyPairs {
			p := g.spreadDouble(operand.Mem{Base: terms, Disp: 8 * (3 + 2*i)})
			q := g.spreadDouble(operand.Mem{Base: terms, Disp: 8 * (4 + 2*i)})
			for u, at := range points { // iζ·p − q over the denominator
				g.VFMADD231PD(at.zy, p, all[u].re[i])
				g.VFMADD231PD(at.x, p, all[u].im[i])
				g.VFNMADD231PD(at.x, q, all[u].re[i])
				g.VFMADD231PD(at.y, q, all[u].im[i])
			}
		}
		g.ADDQ(operand.Imm(8*CauchyTerms), terms)
	})
	return all
}

// storeCauchySums multiplies the imaginary parts by ζ and stores the sums, from sums on.
func (g *gen) storeCauchySums(all []cauchySum, zeta, sums, stride, stride3 reg.Register) {
	upper := g.GP64()
	g.LEAQ(operand.Mem{Base: sums, Index: stride, Scale: 4}, upper) // row 4
	for u, s := range all {
		z := g.vec()
		g.VMOVUPD(operand.Mem{Base: zeta, Disp: 4 * g.lanes * u}, z)
		for i := range CauchyPairs {
			base := []reg.Register{sums, upper}[i/2]
			g.VMULPD(z, s.im[i], s.im[i])
			for part, v := range []reg.VecVirtual{s.re[i], s.im[i]} {
				g.VMOVUPD(v, below(operand.Mem{Base: base}, stride, stride3, i%2*2+part).Offset(4*g.lanes*u))
			}
		}
	}
}

// cauchyGrad sums over the nodes, mode by mode. It processes as many pairs at a time as the
// registers can hold.
func (g *gen) cauchyGrad() {
	pairs := 2
	if g.manyRegisters() {
		pairs = CauchyPairs
	}
	var kept operand.Mem
	if !g.manyRegisters() {
		kept = g.alignedLocal(5 * 4 * g.lanes)
	}
	sums, poles, modes := g.ptr("sums"), g.ptr("poles"), g.arg("modes")
	stride, stride3 := g.strideDouble()
	g.times(modes, func() {
		var pole [4]reg.VecVirtual
		for i := range pole {
			pole[i] = g.spreadDouble(operand.Mem{Base: poles, Disp: 8 * i})
		}
		square, negative := g.vec(), g.zero()
		g.VMULPD(pole[1], pole[1], square)
		g.VSUBPD(pole[1], negative, negative)
		var consts [5]operand.Op // Re a², −Im a², (Im a²)², Re a, Im a
		for i, v := range []reg.VecVirtual{pole[0], negative, square, pole[2], pole[3]} {
			consts[i] = v
			if !g.manyRegisters() {
				m := kept.Offset(i * 4 * g.lanes)
				g.VMOVUPD(v, m)
				consts[i] = m
			}
		}
		for first := 0; first < CauchyPairs; first += pairs {
			g.cauchyNodes(sums, stride, stride3, consts, first, pairs)
		}
		g.ADDQ(operand.Imm(8*CauchyPoles), poles)
		g.ADDQ(operand.U32(8*CauchyGrads), sums)
	})
}

// cauchyNodes adds the sums of some pairs over all nodes. consts are those of cauchyGrad.
func (g *gen) cauchyNodes(sums, stride, stride3 reg.Register, consts [5]operand.Op, first, pairs int) {
	acc := make([][]reg.VecVirtual, pairs)
	for i := range acc {
		acc[i] = g.zeros(4)
	}
	by, zeta, n := []reg.Register{g.ptr("by")}, g.ptr("zeta"), g.length("zeta")
	if first > 0 {
		g.LEAQ(operand.Mem{Base: by[0], Index: stride, Scale: 4}, by[0])
	}
	if pairs > 2 {
		by = append(by, g.GP64())
		g.LEAQ(operand.Mem{Base: by[0], Index: stride, Scale: 4}, by[1])
	}
	g.while("nodes", n, func() {
		g.cauchyFactors(zeta, consts, func(part int, u, v reg.VecVirtual) {
			for i := range acc {
				base := by[i/2]
				g.VFMADD231PD(below(operand.Mem{Base: base}, stride, stride3, i%2*2), u, acc[i][part])
				g.VFNMADD231PD(below(operand.Mem{Base: base}, stride, stride3, i%2*2+1), v, acc[i][part])
			}
		})
		step := operand.Imm(uint64(4 * g.lanes))
		for _, p := range append(by, zeta) {
			g.ADDQ(step, p)
		}
		g.SUBQ(operand.Imm(uint64(g.lanes/2)), n)
	})
	for i := range acc {
		for part, v := range acc[i] {
			g.addSum(v, operand.Mem{Base: sums, Disp: 8 * (4*(first+i) + part)})
		}
	}
}

// cauchyFactors calls add for each of a pair's four sums, with the vectors by which Re q is
// multiplied and ζ·Im q is multiplied and subtracted: the parts of aG and G, then those of a²G² −
// G/2 and aG². G = 1/(a² + ζ²) = conj(d)/|d|² with d = a² + ζ².
func (g *gen) cauchyFactors(zeta reg.Register, consts [5]operand.Op, add func(part int, u, v reg.VecVirtual)) {
	gr, gi, den := g.vec(), g.vec(), g.vec()
	g.VMOVUPD(operand.Mem{Base: zeta}, gr)
	g.VMULPD(gr, gr, gr)
	g.VADDPD(consts[0], gr, gr)
	g.VMULPD(gr, gr, den)
	g.VADDPD(consts[2], den, den)
	r := g.broadcastDouble(1)
	g.VDIVPD(den, r, r)
	g.VMULPD(r, gr, gr)
	g.VMULPD(consts[1], r, gi)
	ur, ui := g.vec(), g.vec() // aG
	g.VMULPD(consts[3], gr, ur)
	g.VMULPD(consts[3], gi, ui)
	g.VFNMADD231PD(consts[4], gi, ur)
	g.VFMADD231PD(consts[4], gr, ui)
	add(0, ur, gr)
	add(1, ui, gi)
	vr, vi := g.vec(), g.vec() // aG²
	g.VMULPD(gr, ur, vr)
	g.VFNMADD231PD(gi, ui, vr)
	g.VMULPD(gi, ur, vi)
	g.VFMADD231PD(gr, ui, vi)
	half, cross := g.double(0.5), g.vec() // (aG)² − G/2, in place of aG
	g.VMULPD(ur, ui, cross)
	g.VMULPD(ur, ur, ur)
	g.VFNMADD231PD(ui, ui, ur)
	g.VADDPD(cross, cross, ui)
	g.withConst(g.VFNMADD231PD, g.VFNMADD231PD_BCST, half, gr, ur)
	g.withConst(g.VFNMADD231PD, g.VFNMADD231PD_BCST, half, gi, ui)
	add(2, ur, vr)
	add(3, ui, vi)
}

// addSum adds the sum of v's float64 lanes to a number in memory.
func (g *gen) addSum(v reg.VecVirtual, m operand.Mem) {
	old := g.vec()
	g.sumDouble(v)
	g.VMOVSD(m, old.AsX())
	g.VADDSD(old.AsX(), v.AsX(), v.AsX())
	g.VMOVSD(v.AsX(), m)
}
