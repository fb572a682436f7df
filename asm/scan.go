package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scan generates diagonal recurrences over the rows of a matrix, vectorised across the modes. The
// states of a few vectors of modes stay in registers for all rows, which hides latency.
func scan(f *file) {
	f.kernel("scanRows", "func(x []float32, first, stride, rows int, h, lambda []float32, lo, modes int)",
		func(g *gen) { g.scan("x", asIs) })
	f.kernel("scanGradRows", "func(s []float32, first, stride int, past []float32, from, step, rows int, "+
		"h, lambda, dLambda []float32, lo, modes int)", func(g *gen) { g.scan("s", conjugated) })
}

// scan writes scanRows or, with the rows in s and the conjugates of the poles, scanGradRows.
func (g *gen) scan(rows string, poles factor) {
	saved := g.flushDenormals()
	vecs := 2
	if g.manyRegisters() {
		vecs = 4
	}
	g.each(g.arg("modes"), vecs, func(r *run) { g.scanStrip(r, rows, poles) })
	g.LDMXCSR(saved)
}

// scanStrip runs the modes of r over all rows.
func (g *gen) scanStrip(r *run, rows string, poles factor) {
	vectors := func(p complexPtr) []complexVec {
		list := make([]complexVec, r.vecs)
		for u := range list {
			list[u] = r.loadComplex(p, u)
		}
		return list
	}
	h, lambda := vectors(g.modeParts("h")), vectors(g.modeParts("lambda"))
	var d []complexVec
	var past complexPtr
	var step reg.Register
	if poles == conjugated {
		d = vectors(g.modeParts("dLambda"))
		past, step = g.rowParts("past", "from"), g.stride("step")
	}
	x, stride := g.rowParts(rows, "first"), g.stride("stride")
	g.times(g.arg("rows"), func() {
		for u := range r.vecs {
			next := r.loadComplex(x, u)
			g.scanAdvance(next, lambda[u], h[u], poles)
			r.storeComplex(next, x, u)
			g.move(next, h[u])
			if poles == conjugated {
				g.addConjProduct(d[u], r.loadComplex(past, u), next)
			}
		}
		g.advance(x, stride)
		if poles == conjugated {
			g.advance(past, step)
		}
	})
	write := func(list []complexVec, p complexPtr) {
		for u, v := range list {
			r.storeComplex(v, p, u)
		}
	}
	write(h, g.modeParts("h"))
	if poles == conjugated {
		write(d, g.modeParts("dLambda"))
	}
}

// scanAdvance adds λ·h to x, or conj(λ)·h.
func (g *gen) scanAdvance(x, lambda, h complexVec, pole factor) {
	if pole == conjugated {
		g.addConjProduct(x, lambda, h)
		return
	}
	g.VFMADD231PS(lambda.re, h.re, x.re)
	g.VFMADD231PS(lambda.re, h.im, x.im)
	g.VFNMADD231PS(lambda.im, h.im, x.re)
	g.VFMADD231PS(lambda.im, h.re, x.im)
}

// modeParts returns the addresses of the real and imaginary parts of mode lo in a slice of the
// length of h. rowParts returns those in the row of a matrix that starts at the index in an
// argument.
func (g *gen) modeParts(name string) complexPtr {
	p := complexPtr{g.ptr(name), g.GP64()}
	lo, length := g.arg("lo"), g.length("h")
	g.LEAQ(operand.Mem{Base: p.re, Index: lo, Scale: 4}, p.re)
	g.LEAQ(operand.Mem{Base: p.re, Index: length, Scale: 2}, p.im) // half of length, in floats
	return p
}

func (g *gen) rowParts(name, start string) complexPtr {
	p := g.modeParts(name)
	g.advance(p, g.stride(start))
	return p
}
