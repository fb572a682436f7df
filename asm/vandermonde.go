package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vandermonde generates what fills the factors of a Vandermonde product and sums up its gradient, in float64. (The
// product itself is gemm's.)
func vandermonde(f *file) {
	f.kernel("complexPowers", "func(re, im, logRe, logIm []float64, l float64)", complexPowers)
	f.kernel("powerRows", "func(re, im []float32, reStride, imStride, cols int, wRe, wIm, lamRe, lamIm []float64)", (*gen).powerRows)
	f.kernel("powerSums", "func(sumRe, sumIm []float64, re, im []float32, reStride, imStride, rows int, lamRe, lamIm []float64)",
		(*gen).powerSums)
	f.kernel("mulIndex", "func(dst, x []float32)", mulIndex)
}

// Powers below e⁻¹⁵⁰ are 0.
const powerMin = -150

// complexPowers: re + i·im = exp(l·(logRe + i·logIm)).
func complexPowers(g *gen) {
	re, im, logRe, logIm := g.ptr("re"), g.ptr("im"), g.ptr("logRe"), g.ptr("logIm")
	l := g.vec()
	g.VBROADCASTSD(g.paramAddr("l"), l)
	n := g.length("re")
	g.SHLQ(operand.Imm(1), n) // a float64 takes the place of two floats
	g.each(n, 1, func(r *run) {
		decay, turns := r.load(logRe, 0), g.mulDouble(r.load(logIm, 0), 1/(2*math.Pi))
		g.VMULPD(l, decay, decay)
		g.VMULPD(l, turns, turns)
		live := g.compareDouble(notBelow, decay, powerMin)
		floor := g.broadcastDouble(powerMin)
		g.VMAXPD(decay, floor, decay)
		size := g.exponentialDouble(decay)
		g.keepDouble(size, live)
		z := g.rotation(turns)
		g.VMULPD(size, z.re, z.re)
		g.VMULPD(size, z.im, z.im)
		r.store(z.re, re, 0)
		r.store(z.im, im, 0)
	})
}

// powerRows fills row n with w_n·λ_n^b, b < cols. As many modes as a vector has float64s are squared together; then
// each makes its row, a vector of columns from the one before, by one power of λ. Results that would be denormal
// numbers are 0.
func (g *gen) powerRows() {
	saved := g.flushDenormals()
	half := g.lanes / 2
	squares := 2 // λ, λ² and λ⁴; and λ⁸ where vectors are that long
	if g.wide() {
		squares = 3
	}
	kept := g.AllocLocal((squares + 1) * 2 * 4 * g.lanes)
	power := func(s, part int) operand.Mem { return kept.Offset((2*s + part) * 4 * g.lanes) }

	re, im, reStep, imStep := g.ptr("re"), g.ptr("im"), g.stride("reStride"), g.stride("imStride")
	odd := g.oddLanes(squares)
	n, at := g.length("lamRe"), g.GP64()
	g.XORQ(at, at)
	group, end := g.label("group"), g.label("end")
	g.Label(group)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(end))
	g.keepSquares(n, at, squares, power)

	count := g.GP64()
	g.MOVQ(n, count)
	enough, modes := g.label("enough"), g.label("modes")
	g.CMPQ(count, operand.Imm(uint64(half)))
	g.JLE(operand.LabelRef(enough))
	g.MOVQ(operand.U32(half), count)
	g.Label(enough)
	g.SUBQ(count, n)
	which := g.GP64()
	g.XORQ(which, which)
	g.Label(modes)
	z := g.firstPowers(which, odd, power)
	w := complexVec{g.vec(), g.vec()}
	wRe, wIm := g.ptr("wRe"), g.ptr("wIm")
	g.VBROADCASTSD(operand.Mem{Base: wRe, Index: at, Scale: 8}, w.re)
	g.VBROADCASTSD(operand.Mem{Base: wIm, Index: at, Scale: 8}, w.im)
	g.rotateDouble(z, w.re, w.im)
	step := complexVec{g.vec(), g.vec()}
	g.VBROADCASTSD(power(squares, 0).Idx(which, 8), step.re)
	g.VBROADCASTSD(power(squares, 1).Idx(which, 8), step.im)
	g.powerRow(z, step, re, im)
	g.ADDQ(reStep, re)
	g.ADDQ(imStep, im)
	g.INCQ(at)
	g.INCQ(which)
	g.CMPQ(which, count)
	g.JL(operand.LabelRef(modes))
	g.JMP(operand.LabelRef(group))
	g.Label(end)
	g.LDMXCSR(saved)
}

// keepSquares stores λ, λ², λ⁴ … of the modes from at on, of which there are n.
func (g *gen) keepSquares(n, at reg.Register, squares int, power func(s, part int) operand.Mem) {
	twice := g.GP64()
	g.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1}, twice)
	m := g.firstLanes(twice)
	p := complexVec{g.vec(), g.vec()}
	lamRe, lamIm := g.ptr("lamRe"), g.ptr("lamIm")
	g.loadMasked(m, operand.Mem{Base: lamRe, Index: at, Scale: 8}, p.re)
	g.loadMasked(m, operand.Mem{Base: lamIm, Index: at, Scale: 8}, p.im)
	for s := 0; ; s++ {
		g.VMOVUPD(p.re, power(s, 0))
		g.VMOVUPD(p.im, power(s, 1))
		if s == squares {
			return
		}
		q := complexVec{g.vec(), g.vec()}
		g.VMOVAPD(p.re, q.re)
		g.VMOVAPD(p.im, q.im)
		g.rotateDouble(q, p.re, p.im)
		p = q
	}
}

// lanes selects some lanes of float64s.
type lanes struct {
	k   reg.OpmaskVirtual
	imm uint8
}

// oddLanes selects, for each of the first bits, the lanes whose number has it.
func (g *gen) oddLanes(bits int) []lanes {
	odd := make([]lanes, bits)
	for s := range odd {
		for i := range g.lanes / 2 {
			odd[s].imm |= uint8(i >> s & 1 << i)
		}
		if g.wide() {
			odd[s].k = g.K()
			r := g.GP32()
			g.MOVL(operand.U32(odd[s].imm), r)
			g.KMOVW(r, odd[s].k)
		}
	}
	return odd
}

// firstPowers returns λ^0, λ^1, λ^2 …, a lane each, of one of the kept modes: the product of the squares whose bits a
// lane's number has.
func (g *gen) firstPowers(which reg.Register, odd []lanes, power func(s, part int) operand.Mem) complexVec {
	var z complexVec
	for s, l := range odd {
		x := complexVec{g.broadcastDouble(1), g.zero()}
		re, im := power(s, 0).Idx(which, 8), power(s, 1).Idx(which, 8)
		if g.wide() {
			g.VBROADCASTSD(re, l.k, x.re)
			g.VBROADCASTSD(im, l.k, x.im)
		} else {
			v := complexVec{g.vec(), g.vec()}
			g.VBROADCASTSD(re, v.re)
			g.VBROADCASTSD(im, v.im)
			g.VBLENDPD(operand.U8(l.imm), v.re, x.re, x.re)
			g.VBLENDPD(operand.U8(l.imm), v.im, x.im, x.im)
		}
		if s == 0 {
			z = x
		} else {
			g.rotateDouble(z, x.re, x.im)
		}
	}
	return z
}

// rotateDouble multiplies x by w.
func (g *gen) rotateDouble(x complexVec, wRe, wIm reg.VecVirtual) {
	t, u := g.vec(), g.vec()
	g.VMULPD(wIm, x.im, t)
	g.VMULPD(wIm, x.re, u)
	g.VFMSUB213PD(t, wRe, x.re)
	g.VFMADD213PD(u, wRe, x.im)
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
	g.rotateDouble(z, step.re, step.im)
	g.ADDQ(operand.Imm(4*half), toRe)
	g.ADDQ(operand.Imm(4*half), toIm)
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.ADDQ(operand.Imm(half), cols)
	g.JLE(operand.LabelRef(end))
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

// powerSums: sum_n = Σ_a λ_n^a·x_{an}, by Horner's rule from the last row up, strips of modes side by side.
func (g *gen) powerSums() {
	n, at := g.length("lamRe"), g.GP64()
	g.XORQ(at, at)
	half := g.lanes / 2
	widest := 2
	if g.wide() {
		widest = 4
	}
	for _, vecs := range []int{widest, 1} {
		loop, done := g.label("strips"), g.label("done")
		g.Label(loop)
		g.CMPQ(n, operand.U32(vecs*half))
		g.JL(operand.LabelRef(done))
		g.sumStrip(at, vecs, nil)
		g.ADDQ(operand.U32(vecs*half), at)
		g.SUBQ(operand.U32(vecs*half), n)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
	end := g.label("end")
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(end))
	g.sumStrip(at, 1, n)
	g.Label(end)
}

// sumStrip sums up the modes from at on, whole vectors or the n of a last one.
func (g *gen) sumStrip(at reg.Register, vecs int, n reg.Register) {
	var doubles, floats mask
	if n != nil {
		twice := g.GP64()
		g.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1}, twice)
		doubles, floats = g.firstLanes(twice), g.firstLanes(n)
	}
	load := func(name string) []reg.VecVirtual {
		p, v := g.ptr(name), g.vecs(vecs)
		for u := range v {
			m := operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u}
			if n != nil {
				g.loadMasked(doubles, m, v[u])
			} else {
				g.VMOVUPS(m, v[u])
			}
		}
		return v
	}
	lamRe, lamIm, sRe, sIm := load("lamRe"), load("lamIm"), g.zeros(vecs), g.zeros(vecs)
	re, im, reStep, imStep, rows := g.ptr("re"), g.ptr("im"), g.stride("reStride"), g.stride("imStride"), g.arg("rows")
	g.LEAQ(operand.Mem{Base: re, Index: at, Scale: 4}, re)
	g.LEAQ(operand.Mem{Base: im, Index: at, Scale: 4}, im)
	for _, p := range [][2]reg.Register{{re, reStep}, {im, imStep}} { // one row past the last
		last := g.GP64()
		g.MOVQ(rows, last)
		g.IMULQ(p[1], last)
		g.ADDQ(last, p[0])
	}
	widen := func(p reg.Register, u int) reg.VecVirtual {
		v, m := g.vec(), operand.Mem{Base: p, Disp: 2 * g.lanes * u}
		var src operand.Op = m
		if n != nil {
			low := g.vec()
			if g.wide() {
				g.VMOVUPS_Z(m, floats.k, low.AsY())
				src = low.AsY()
			} else {
				g.VMASKMOVPS(m, floats.v.AsX(), low.AsX())
				src = low.AsX()
			}
		}
		g.VCVTPS2PD(src, v)
		return v
	}
	g.times(rows, func() {
		g.SUBQ(reStep, re)
		g.SUBQ(imStep, im)
		for u := range vecs {
			nextRe, nextIm := widen(re, u), widen(im, u)
			g.VFMADD231PD(sRe[u], lamRe[u], nextRe)
			g.VFMADD231PD(sRe[u], lamIm[u], nextIm)
			g.VFNMADD231PD(sIm[u], lamIm[u], nextRe)
			g.VFMADD231PD(sIm[u], lamRe[u], nextIm)
			g.VMOVAPD(nextRe, sRe[u])
			g.VMOVAPD(nextIm, sIm[u])
		}
	})
	store := func(name string, s []reg.VecVirtual) {
		p := g.ptr(name)
		for u, v := range s {
			m := operand.Mem{Base: p, Index: at, Scale: 8, Disp: 4 * g.lanes * u}
			if n != nil {
				g.storeMasked(doubles, v, m)
			} else {
				g.VMOVUPS(v, m)
			}
		}
	}
	store("sumRe", sRe)
	store("sumIm", sIm)
}

// mulIndex: dst[l] = l·x[l].
func mulIndex(g *gen) {
	lanes := make([]uint32, 16)
	for i := range lanes {
		lanes[i] = math.Float32bits(float32(i))
	}
	index, step := g.vec(), g.broadcast(float64(g.lanes))
	g.VMOVUPS(g.table("indices", lanes), index)
	dst, x := g.ptr("dst"), g.ptr("x")
	g.each(g.length("dst"), 2, func(r *run) {
		for u := range r.vecs {
			v := r.load(x, u)
			g.VMULPS(index, v, v)
			r.store(v, dst, u)
			g.VADDPS(step, index, index)
		}
	})
}
