package fftkernel

import (
	"fmt"
	"math/bits"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Vandermonde is a plan for kernels k[l] = 2·Re Σ_n w_n·λ_n^l, 0 ≤ l < length.
//
// With l = a·block + b the kernel is a small real matrix product,
//
//	K[a][b] = Σ_n [2·Re(w_n λ_n^{a·block}), −2·Im(w_n λ_n^{a·block})] · [Re(λ_n^b); Im(λ_n^b)],
//
// whose factors, anchors and table, are filled by products of exact powers in float64 and rounded once, so that
// the error does not grow with the length. The gradient's sums are the same product backwards.
type Vandermonde struct {
	modes, length int
	block, rows   int // block·rows ≥ length
}

// NewVandermonde plans kernels of modes complex modes and length taps, both at least 1.
func NewVandermonde(modes, length int) *Vandermonde {
	if modes < 1 || length < 1 {
		panic(fmt.Sprintf("fftkernel: NewVandermonde(%d, %d): want at least 1", modes, length))
	}
	block := 1 << ((bits.Len(uint(length-1)) + 1) / 2)
	return &Vandermonde{modes: modes, length: length, block: block, rows: (length + block - 1) / block}
}

// vandermondeScratch is the plan's scratch, cut up. Rows (columns) n and modes+n are a mode's two parts.
type vandermondeScratch struct {
	table   vek.Matrix // [2·modes][block]
	anchors vek.Matrix // [2·rows][2·modes]; Kernel uses the upper half
	taps    vek.Matrix // [2·rows][block]; Kernel uses the upper half
	gemm    []float32
}

// ScratchLen returns the floats of scratch that both methods need.
func (v *Vandermonde) ScratchLen() int {
	gemm := max(vek.GemmScratch(v.rows, v.block, 2*v.modes), vek.GemmScratch(2*v.rows, 2*v.modes, v.block))
	return 2*v.modes*v.block + 4*v.rows*v.modes + 2*v.rows*v.block + gemm
}

func (v *Vandermonde) cut(scratch []float32) vandermondeScratch {
	take := func(rows, cols int) vek.Matrix {
		m := matrix(scratch[:rows*cols:rows*cols], rows, cols)
		scratch = scratch[rows*cols:]
		return m
	}
	s := vandermondeScratch{
		table: take(2*v.modes, v.block), anchors: take(2*v.rows, 2*v.modes), taps: take(2*v.rows, v.block),
	}
	s.gemm = scratch
	return s
}

// Kernel writes k[l] for 0 ≤ l < len(k) ≤ length. logLambda is log λ (real part ≤ 0), w the weights.
func (v *Vandermonde) Kernel(k []float32, logLambda, w []complex128, scratch []float32) {
	if len(k) > v.length || len(logLambda) != v.modes || len(w) != v.modes || len(scratch) < v.ScratchLen() {
		panic("fftkernel: Vandermonde.Kernel: lengths do not match the plan")
	}
	s := v.cut(scratch)
	var p poles
	for at := 0; at < v.modes; at += len(p.re) {
		n := p.load(logLambda[at:])
		v.fillTable(s.table, &p, at, n)
		p.power(v.block, n)
		for i, c := range w[at : at+n] {
			// conj: the imaginary columns enter with a minus.
			p.wRe[i], p.wIm[i] = 2*real(c), -2*imag(c)
			p.im[i] = -p.im[i]
		}
		re, im := columns(s.anchors, v.rows, at, n), columns(s.anchors, v.rows, v.modes+at, n)
		vek.PowerColumns(re, im, p.wRe[:n], p.wIm[:n], p.re[:n], p.im[:n])
	}
	taps := rows(s.taps, 0, v.rows)
	vek.Gemm(taps, rows(s.anchors, 0, v.rows), s.table, false, false, false, s.gemm)
	copy(k, taps.Data)
}

// Grad writes G_n = Σ_l dk[l]·λ_n^l and M_n = Σ_l l·dk[l]·λ_n^l (spec §7); len(dk) ≤ length.
func (v *Vandermonde) Grad(g, m []complex128, dk []float32, logLambda []complex128, scratch []float32) {
	if len(dk) > v.length || len(logLambda) != v.modes || len(g) != v.modes || len(m) != v.modes || len(scratch) < v.ScratchLen() {
		panic("fftkernel: Vandermonde.Grad: lengths do not match the plan")
	}
	s := v.cut(scratch)
	lower, upper := rows(s.taps, 0, v.rows), rows(s.taps, v.rows, v.rows)
	clear(lower.Data[copy(lower.Data, dk):])
	vek.MulIndex(upper.Data, lower.Data)
	var p poles
	for at := 0; at < v.modes; at += len(p.re) {
		v.fillTable(s.table, &p, at, p.load(logLambda[at:]))
	}
	// Σ_b λ^b·dk[a·block+b], and below it the same of l·dk[l]
	vek.Gemm(s.anchors, s.taps, s.table, false, true, false, s.gemm)
	for at := 0; at < v.modes; at += len(p.re) {
		n := p.load(logLambda[at:])
		p.power(v.block, n)
		v.sum(g[at:at+n], rows(s.anchors, 0, v.rows), &p, at)
		v.sum(m[at:at+n], rows(s.anchors, v.rows, v.rows), &p, at)
	}
}

// fillTable writes the rows of modes at … at+n−1: Re and Im of λ^b.
func (v *Vandermonde) fillTable(table vek.Matrix, p *poles, at, n int) {
	p.power(1, n)
	vek.PowerRows(rows(table, at, n), rows(table, v.modes+at, n), p.re[:n], p.im[:n])
}

// sum returns Σ_a λ^{a·block}·S_a for the modes from at on.
func (v *Vandermonde) sum(dst []complex128, s vek.Matrix, p *poles, at int) {
	n := len(dst)
	re, im := columns(s, v.rows, at, n), columns(s, v.rows, v.modes+at, n)
	vek.PowerSums(p.wRe[:n], p.wIm[:n], re, im, p.re[:n], p.im[:n])
	for i := range dst {
		dst[i] = complex(p.wRe[i], p.wIm[i])
	}
}

// poles are a few modes, split: log λ, one power of λ, and weights (or sums).
type poles struct {
	logRe, logIm, re, im, wRe, wIm [16]float64
}

// load takes as many modes as fit.
func (p *poles) load(logLambda []complex128) (n int) {
	n = min(len(logLambda), len(p.logRe))
	for i, l := range logLambda[:n] {
		p.logRe[i], p.logIm[i] = real(l), imag(l)
	}
	return n
}

// power sets re + i·im = λ^l.
func (p *poles) power(l, n int) {
	vek.ComplexPowers(p.re[:n], p.im[:n], p.logRe[:n], p.logIm[:n], l)
}

func matrix(data []float32, rows, cols int) vek.Matrix {
	return vek.Matrix{Data: data, Rows: rows, Cols: cols, Stride: cols}
}

// rows returns rows at … at+n−1 of m.
func rows(m vek.Matrix, at, n int) vek.Matrix {
	m.Data, m.Rows = m.Data[at*m.Stride:(at+n)*m.Stride], n
	return m
}

// columns returns columns at … at+n−1 of m's first rows.
func columns(m vek.Matrix, rows, at, n int) vek.Matrix {
	m.Data, m.Rows, m.Cols = m.Data[at:], rows, n
	return m
}
