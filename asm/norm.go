package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm generates LayerNorm over [rows][columns] tiles: vectors along the columns, sums down the rows.
func norm(f *file) {
	f.kernel("layerNorm", "func(y, x []float32, yStride, xStride int, gamma, beta, mean, rstd []float32, share, eps float32)",
		(*gen).layerNorm)
}

// layerNorm takes strips of a few vectors of columns: their sums stay in registers, and their elements, read three
// times, in the nearest cache.
func (g *gen) layerNorm() {
	y, x, rows := g.ptr("y"), g.ptr("x"), g.length("gamma")
	yStep, xStep := g.stride("yStride"), g.stride("xStride")
	g.each(g.length("mean"), 4, func(r *run) {
		sum := g.columnSums(r, x, xStep, rows)
		mean, rstd := g.moments(r, sum, x, xStep, rows)
		g.normalise(r, mean, rstd, y, x, yStep, xStep, rows)
	})
}

// stride loads a matrix's stride in bytes.
func (g *gen) stride(name string) reg.Register {
	s := g.arg(name)
	g.SHLQ(operand.Imm(2), s)
	return s
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

// fetch is load for any address.
func (r *run) fetch(m operand.Mem) reg.VecVirtual {
	v := r.g.vec()
	if r.mask != nil {
		r.g.loadMasked(*r.mask, m, v)
	} else {
		r.g.VMOVUPS(m, v)
	}
	return v
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

// moments stores and returns mean and 1/√(variance + eps) of columns whose sums are given. The mean of the deviations
// is what rounding left in the first mean, and corrects it.
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
	eps, one := g.broadcastArg("eps"), g.inRegister(1)
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
		scale, shift := g.vec(), g.vec()
		g.VBROADCASTSS(operand.Mem{Base: gamma, Index: h, Scale: 4}, scale)
		g.VBROADCASTSS(operand.Mem{Base: beta, Index: h, Scale: 4}, shift)
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

// put is store for any address.
func (r *run) put(v reg.VecVirtual, m operand.Mem) {
	if r.mask != nil {
		r.g.storeMasked(*r.mask, v, m)
	} else {
		r.g.VMOVUPS(v, m)
	}
}

// zeros returns n registers of zeros.
func (g *gen) zeros(n int) []reg.VecVirtual {
	v := g.vecs(n)
	for _, r := range v {
		g.clear(r)
	}
	return v
}
