package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rankOne generates the step of systems whose matrices are diagonal minus rank one. Lanes are
// channels, so that the sums over the modes need no sums over lanes.
func rankOne(f *file) {
	f.kernel("rankOne", "func(y, x []float32, stride, samples int, d, hRe, hIm, terms []float32)", (*gen).rankOne)
}

// rankOne keeps w, x and the sums of a group of channels in registers. States and parameters are
// read from the L1 cache for every sample.
func (g *gen) rankOne() {
	saved := g.flushDenormals()
	vecs := GroupChannels / g.lanes
	y, x, stride := g.ptr("y"), g.ptr("x"), g.stride("stride")
	samples, d, modes := g.arg("samples"), g.ptr("d"), g.GP64()
	w := g.zeros(vecs)
	term := func(p reg.Register, j, v int) operand.Mem {
		return operand.Mem{Base: p, Disp: 4 * (GroupChannels*j + g.lanes*v)}
	}
	// eachMode runs body for the modes, with the addresses of their states and parameters.
	eachMode := func(body func(re, im, terms reg.Register)) {
		re, im, terms := g.ptr("hRe"), g.ptr("hIm"), g.ptr("terms")
		g.MOVQ(g.length("hRe"), modes)
		g.SHRQ(operand.Imm(4), modes) // GroupChannels
		g.times(modes, func() {
			body(re, im, terms)
			g.ADDQ(operand.Imm(4*GroupChannels), re)
			g.ADDQ(operand.Imm(4*GroupChannels), im)
			g.ADDQ(operand.U32(4*GroupChannels*RankOneTerms), terms)
		})
	}
	// add sets s = s + Re(c·h) for the parameter c in terms j and j+1.
	add := func(s reg.VecVirtual, terms reg.Register, j, v int, re, im reg.VecVirtual) {
		g.VFMADD231PS(term(terms, j, v), re, s)
		g.VFNMADD231PS(term(terms, j+1, v), im, s)
	}
	eachMode(func(re, im, terms reg.Register) {
		for v := range vecs {
			r, i := g.fetch(term(re, 0, v)), g.fetch(term(im, 0, v))
			add(w[v], terms, termU, v, r, i)
		}
	})
	g.times(samples, func() {
		in, sum, next := g.vecs(vecs), g.vecs(vecs), g.zeros(vecs)
		for v := range vecs {
			g.VMOVUPS(term(x, 0, v), in[v])
			g.VMULPS(term(d, 0, v), in[v], sum[v])
		}
		eachMode(func(re, im, terms reg.Register) {
			for v := range vecs {
				r, i, r1, i1 := g.fetch(term(re, 0, v)), g.fetch(term(im, 0, v)), g.vec(), g.vec()
				g.VMULPS(term(terms, termE, v), r, r1)
				g.VMULPS(term(terms, termE, v), i, i1)
				g.VFNMADD231PS(term(terms, termE+1, v), i, r1)
				g.VFMADD231PS(term(terms, termE+1, v), r, i1)
				g.VFNMADD231PS(term(terms, termP, v), w[v], r1)
				g.VFNMADD231PS(term(terms, termP+1, v), w[v], i1)
				g.VFMADD231PS(term(terms, termB, v), in[v], r1)
				g.VFMADD231PS(term(terms, termB+1, v), in[v], i1)
				g.VMOVUPS(r1, term(re, 0, v))
				g.VMOVUPS(i1, term(im, 0, v))
				add(sum[v], terms, termC, v, r1, i1)
				add(next[v], terms, termU, v, r1, i1)
			}
		})
		for v := range vecs {
			g.VMOVUPS(sum[v], term(y, 0, v))
			g.VMOVAPS(next[v], w[v])
		}
		g.ADDQ(stride, x)
		g.ADDQ(stride, y)
	})
	g.LDMXCSR(saved)
}
