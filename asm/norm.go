package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm generates LayerNorm over [rows][columns] tiles, which sums down the rows. A vector holds
// adjacent columns.
func norm(f *file) {
	f.kernel("layerNorm", "func(y, x []float32, yStride, xStride int, gamma, beta, mean, rstd []float32, share, eps float32)",
		(*gen).layerNorm)
	f.kernel("layerNormGrad", "func(dx, dy, x []float32, dxStride, dyStride, xStride int, "+
		"gamma, mean, rstd, dgamma, dbeta, sum, dot []float32, share float32)", (*gen).layerNormGrad)
}

// layerNorm works on strips of a few vectors of columns. Their sums stay in registers. Their
// elements are read three times and stay in the L1 cache.
func (g *gen) layerNorm() {
	y, x, rows := g.ptr("y"), g.ptr("x"), g.length("gamma")
	yStep, xStep := g.stride("yStride"), g.stride("xStride")
	g.each(g.length("mean"), 4, func(r *run) {
		sum := g.columnSums(r, x, xStep, rows)
		mean, rstd := g.moments(r, sum, x, xStep, rows)
		g.normalise(r, mean, rstd, y, x, yStep, xStep, rows)
	})
}

// top returns the address of the run's first element in a matrix's first row.
func (r *run) top(base reg.Register) reg.Register {
	p := r.g.GP64()
	r.g.LEAQ(r.at(base, 0), p)
	return p
}

// row returns the address of the run's u-th vector, scale rows below p.
func (r *run) row(p, step reg.Register, scale uint8, u int) operand.Mem {
	m := operand.Mem{Base: p, Disp: 4 * r.g.lanes * u}
	if scale > 0 {
		m.Index, m.Scale = step, scale
	}
	return m
}

// down covers the rows, first `rows` of them at a time, then one at a time.
func (g *gen) down(count reg.Register, rows []int, body func(rows int)) {
	left := g.GP64()
	g.MOVQ(count, left)
	for _, n := range rows {
		loop, done := g.label("rows"), g.label("rowsDone")
		g.SUBQ(operand.Imm(uint64(n)), left)
		g.JL(operand.LabelRef(done))
		g.Label(loop)
		body(n)
		g.SUBQ(operand.Imm(uint64(n)), left)
		g.JGE(operand.LabelRef(loop))
		g.Label(done)
		g.ADDQ(operand.Imm(uint64(n)), left)
	}
}

// columnSums returns the columns' sums, four rows at a time.
func (g *gen) columnSums(r *run, x, step, rows reg.Register) []reg.VecVirtual {
	sum := g.zeros(r.vecs)
	p, step3 := r.top(x), g.GP64()
	g.LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, step3)
	g.down(rows, []int{4, 1}, func(n int) {
		for u := range sum {
			a := r.fetch(r.row(p, step, 0, u))
			if n == 4 {
				b, c, d := r.fetch(r.row(p, step, 1, u)), r.fetch(r.row(p, step, 2, u)), r.fetch(r.row(p, step3, 1, u))
				g.VADDPS(b, a, a)
				g.VADDPS(d, c, c)
				g.VADDPS(c, a, a)
			}
			g.VADDPS(a, sum[u], sum[u])
		}
		g.nextRows(p, step, n)
	})
	return sum
}

// nextRows moves p down by n rows, 1, 2 or 4.
func (g *gen) nextRows(p, step reg.Register, n int) {
	g.LEAQ(operand.Mem{Base: p, Index: step, Scale: uint8(n)}, p)
}

// moments stores and returns mean and 1/√(variance + eps) of columns whose sums are given. The mean
// of the deviations is the rounding error of the first mean, and is added to it.
func (g *gen) moments(r *run, sum []reg.VecVirtual, x, step, rows reg.Register) (mean, rstd []reg.VecVirtual) {
	mean = sum
	share := g.broadcastArg("share")
	for _, m := range mean {
		g.VMULPS(share, m, m)
	}
	dev, squares := g.zeros(r.vecs), g.zeros(r.vecs)
	p := r.top(x)
	g.down(rows, []int{2, 1}, func(n int) {
		for u, m := range mean {
			var d [2]reg.VecVirtual
			for i := range n {
				d[i] = r.fetch(r.row(p, step, uint8(i), u))
				g.VSUBPS(m, d[i], d[i])
				g.VFMADD231PS(d[i], d[i], squares[u])
			}
			if n == 2 {
				g.VADDPS(d[1], d[0], d[0])
			}
			g.VADDPS(d[0], dev[u], dev[u])
		}
		g.nextRows(p, step, n)
	})
	share = g.broadcastArg("share")
	eps, one := g.broadcastArg("eps"), g.broadcast(1)
	meanOut, rstdOut := g.ptr("mean"), g.ptr("rstd")
	for u, m := range mean {
		d, v := dev[u], squares[u]
		g.VMULPS(share, d, d)
		g.VADDPS(d, m, m)
		r.store(m, meanOut, u)
		g.VMULPS(share, v, v)
		g.VFNMADD231PS(d, d, v)
		g.VADDPS(eps, v, v)
		g.VSQRTPS(v, v)
		g.VDIVPS(v, one, v)
		r.store(v, rstdOut, u)
	}
	return mean, squares
}

// normalise writes y = (x − mean)·rstd·gamma + beta.
func (g *gen) normalise(r *run, mean, rstd []reg.VecVirtual, y, x, yStep, xStep, rows reg.Register) {
	in, out, h := r.top(x), r.top(y), g.GP64()
	gamma, beta := g.ptr("gamma"), g.ptr("beta")
	g.XORQ(h, h)
	g.down(rows, []int{1}, func(int) {
		scale := g.spread(operand.Mem{Base: gamma, Index: h, Scale: 4})
		shift := g.spread(operand.Mem{Base: beta, Index: h, Scale: 4})
		for u := range mean {
			v := r.fetch(r.row(in, xStep, 0, u))
			g.VSUBPS(mean[u], v, v)
			g.VMULPS(rstd[u], v, v)
			g.VFMADD213PS(shift, scale, v)
			r.put(v, r.row(out, yStep, 0, u))
		}
		g.ADDQ(xStep, in)
		g.ADDQ(yStep, out)
		g.INCQ(h)
	})
}

// layerNormGrad reads the tile twice: for the sums along rows and columns, then for dx.
func (g *gen) layerNormGrad() {
	g.normGradSums()
	unroll := 2
	if g.manyRegisters() {
		unroll = 4
	}
	g.each(g.length("mean"), unroll, g.normGradStrip)
}

// normGradSums takes two rows at a time along the columns. With c = x − mean it adds gamma·dy to
// sum and gamma·dy·c to dot, and the rows' sums of dy·c·rstd and dy to dgamma and dbeta.
func (g *gen) normGradSums() {
	x, dy, xStep, dyStep := g.ptr("x"), g.ptr("dy"), g.stride("xStride"), g.stride("dyStride")
	mean, rstd, sum, dot := g.ptr("mean"), g.ptr("rstd"), g.ptr("sum"), g.ptr("dot")
	h := g.GP64()
	g.XORQ(h, h)
	g.down(g.length("gamma"), []int{2, 1}, func(rows int) {
		dgamma, dbeta, scale := g.zeros(rows), g.zeros(rows), g.vecs(rows)
		gamma := g.ptr("gamma")
		for i := range rows {
			g.VBROADCASTSS(operand.Mem{Base: gamma, Index: h, Scale: 4, Disp: 4 * i}, scale[i])
		}
		g.each(g.length("mean"), 1, func(r *run) {
			m, rs, s, d := r.load(mean, 0), r.load(rstd, 0), r.load(sum, 0), r.load(dot, 0)
			for i := range rows {
				in, c := r.fetch(r.along(dy, dyStep, i)), r.fetch(r.along(x, xStep, i))
				g.VSUBPS(m, c, c)
				g.VMULPS(in, c, c)
				g.VADDPS(in, dbeta[i], dbeta[i])
				g.VFMADD231PS(in, scale[i], s)
				g.VFMADD231PS(rs, c, dgamma[i])
				g.VFMADD231PS(c, scale[i], d)
			}
			r.store(s, sum, 0)
			r.store(d, dot, 0)
		})
		g.addPairs(dgamma, dbeta, h)
		g.nextRows(x, xStep, rows)
		g.nextRows(dy, dyStep, rows)
		g.ADDQ(operand.Imm(uint64(rows)), h)
	})
}

// along returns the address of the run's vector i rows below p, the start of a row.
func (r *run) along(p, step reg.Register, i int) operand.Mem {
	if i == 0 {
		return r.at(p, 0)
	}
	below := r.g.GP64()
	r.g.LEAQ(operand.Mem{Base: p, Index: step, Scale: uint8(i)}, below)
	return r.at(below, 0)
}

// addPairs adds the lanes' sums of one or two rows to dgamma[h:] and dbeta[h:].
func (g *gen) addPairs(dgamma, dbeta []reg.VecVirtual, h reg.Register) {
	rows := len(dgamma)
	last := rows - 1
	s := g.foldFour(dgamma[0], dgamma[last], dbeta[0], dbeta[last])
	g.addPair(s, g.ptr("dgamma"), h, rows)
	g.VUNPCKHPD(s, s, s)
	g.addPair(s, g.ptr("dbeta"), h, rows)
}

// addPair adds the first lanes of s, one or two, to dst[h:].
func (g *gen) addPair(s, dst, h reg.Register, lanes int) {
	at, v := operand.Mem{Base: dst, Index: h, Scale: 4}, g.XMM()
	if lanes == 2 {
		g.VMOVSD(at, v)
		g.VADDPS(s, v, v)
		g.VMOVSD(v, at)
	} else {
		g.VMOVSS(at, v)
		g.VADDSS(s, v, v)
		g.VMOVSS(v, at)
	}
}

// foldFour returns the sums of the lanes of four vectors.
func (g *gen) foldFour(a, b, c, d reg.VecVirtual) reg.Register {
	low, high, s, t := g.vec(), g.vec(), g.vec(), g.vec()
	g.VUNPCKLPS(b, a, low)
	g.VUNPCKHPS(b, a, high)
	g.VADDPS(high, low, s)
	g.VUNPCKLPS(d, c, low)
	g.VUNPCKHPS(d, c, high)
	g.VADDPS(high, low, t)
	g.VUNPCKLPD(t, s, low)
	g.VUNPCKHPD(t, s, high)
	g.VADDPS(high, low, s)
	if g.wide() {
		g.VEXTRACTF32X8(operand.U8(1), s, t.AsY())
		g.VADDPS(t.AsY(), s.AsY(), s.AsY())
	}
	if !g.neon() {
		g.VEXTRACTF128(operand.U8(1), s.AsY(), t.AsX())
		g.VADDPS(t.AsX(), s.AsX(), s.AsX())
	}
	return s.AsX()
}

// normGradStrip writes dx = rstd·(gamma·dy − mean(gamma·dy) − c·rstd²·mean(gamma·dy·c)) down a
// strip of columns.
func (g *gen) normGradStrip(r *run) {
	share, sum, dot := g.broadcastArg("share"), g.ptr("sum"), g.ptr("dot")
	meanIn, rstdIn := g.ptr("mean"), g.ptr("rstd")
	mean, rstd, s, slope := make([]reg.VecVirtual, r.vecs), make([]reg.VecVirtual, r.vecs), make([]reg.VecVirtual, r.vecs), make([]reg.VecVirtual, r.vecs)
	for u := range r.vecs {
		mean[u], rstd[u], s[u], slope[u] = r.load(meanIn, u), r.load(rstdIn, u), r.load(sum, u), r.load(dot, u)
		g.VMULPS(share, s[u], s[u])
		g.VMULPS(share, slope[u], slope[u])
		g.VMULPS(rstd[u], slope[u], slope[u])
		g.VMULPS(rstd[u], slope[u], slope[u])
	}
	in, dy, dx, gamma := r.top(g.ptr("x")), r.top(g.ptr("dy")), r.top(g.ptr("dx")), g.ptr("gamma")
	xStep, dyStep, dxStep := g.stride("xStride"), g.stride("dyStride"), g.stride("dxStride")
	g.down(g.length("gamma"), []int{1}, func(int) {
		scale := g.spread(operand.Mem{Base: gamma})
		for u := range r.vecs {
			c := r.fetch(r.row(in, xStep, 0, u))
			g.VSUBPS(mean[u], c, c)
			g.VFNMSUB213PS(s[u], slope[u], c)
			g.VFMADD231PS(r.fetch(r.row(dy, dyStep, 0, u)), scale, c)
			g.VMULPS(rstd[u], c, c)
			r.put(c, r.row(dx, dxStep, 0, u))
		}
		g.ADDQ(xStep, in)
		g.ADDQ(dyStep, dy)
		g.ADDQ(dxStep, dx)
		g.ADDQ(operand.Imm(4), gamma)
	})
}
