package fftkernel

import (
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Vandermonde is a plan for kernels k[l] = 2·Re Σ_n w_n·λ_n^l, 0 ≤ l < length.
//
// With l = a·block + b the kernel is a small real matrix product,
//
//	K[a][b] = Σ_n [2·Re(w_n λ_n^{a·block}), −2·Im(w_n λ_n^{a·block})] · [Re(λ_n^b); Im(λ_n^b)],
//
// whose factors are filled by products of exact powers in float64 and rounded once, so that the error does not
// grow with the length.
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

// vandermondeScratch is the plan's scratch, cut up.
type vandermondeScratch struct {
	table, weighted vek.Matrix // [2·modes][block] [Re; Im](λ^b), and the same times b
	anchors, sums   vek.Matrix // [rows][2·modes]
	taps            vek.Matrix // [rows][block]
	gemm            []float32
}

func (v *Vandermonde) gemmScratch() int {
	return max(vek.GemmScratch(v.rows, v.block, 2*v.modes), vek.GemmScratch(v.rows, 2*v.modes, v.block))
}

// ScratchLen returns the floats of scratch that both methods need.
func (v *Vandermonde) ScratchLen() int {
	return 2*(2*v.modes*v.block) + 2*(v.rows*2*v.modes) + v.rows*v.block + v.gemmScratch()
}

func (v *Vandermonde) cut(scratch []float32) vandermondeScratch {
	take := func(rows, cols int) vek.Matrix {
		m := vek.Matrix{Data: scratch[: rows*cols : rows*cols], Rows: rows, Cols: cols, Stride: cols}
		scratch = scratch[rows*cols:]
		return m
	}
	s := vandermondeScratch{
		table: take(2*v.modes, v.block), weighted: take(2*v.modes, v.block),
		anchors: take(v.rows, 2*v.modes), sums: take(v.rows, 2*v.modes),
		taps: take(v.rows, v.block),
	}
	s.gemm = scratch
	return s
}

// fillTable writes row 2n, 2n+1: Re and Im of λ_n^b.
func (v *Vandermonde) fillTable(table vek.Matrix, logLambda []complex128) {
	for n, l := range logLambda {
		vek.Powers(table.Row(2*n), table.Row(2*n+1), v.block, 1, 1, power(l, 1))
	}
}

// power returns λ^l. A decay beyond float32's range counts as none left, which keeps denormals out.
func power(logLambda complex128, l int) complex128 {
	re := real(logLambda) * float64(l)
	if re < -150 {
		return 0
	}
	turns := imag(logLambda) / (2 * math.Pi) * float64(l)
	turns -= math.Round(turns)
	return cmplx.Rect(math.Exp(re), 2*math.Pi*turns)
}

// Kernel writes k[l] for 0 ≤ l < len(k) ≤ length. logLambda is log λ (real part ≤ 0), w the weights.
func (v *Vandermonde) Kernel(k []float32, logLambda, w []complex128, scratch []float32) {
	if len(k) > v.length || len(logLambda) != v.modes || len(w) != v.modes {
		panic("fftkernel: Vandermonde.Kernel: lengths do not match the plan")
	}
	s := v.cut(scratch)
	v.fillTable(s.table, logLambda)
	for n, l := range logLambda {
		anchor := s.anchors.Data[2*n:]
		// conj: the imaginary column enters with a minus.
		vek.Powers(anchor, anchor[1:], v.rows, s.anchors.Stride, 2*cmplx.Conj(w[n]), cmplx.Conj(power(l, v.block)))
	}
	vek.Gemm(s.taps, s.anchors, s.table, false, false, false, s.gemm)
	copy(k, s.taps.Data)
}

// Grad writes G_n = Σ_l dk[l]·λ_n^l and M_n = Σ_l l·dk[l]·λ_n^l (spec §7); len(dk) ≤ length.
func (v *Vandermonde) Grad(g, m []complex128, dk []float32, logLambda []complex128, scratch []float32) {
	if len(dk) > v.length || len(logLambda) != v.modes || len(g) != v.modes || len(m) != v.modes {
		panic("fftkernel: Vandermonde.Grad: lengths do not match the plan")
	}
	s := v.cut(scratch)
	v.fillTable(s.table, logLambda)
	for i := range s.table.Rows {
		row := s.weighted.Row(i)
		for b, x := range s.table.Row(i) {
			row[b] = float32(b) * x
		}
	}
	clear(s.taps.Data[copy(s.taps.Data, dk):])
	// S_a = Σ_b dk[a·block+b]·λ^b and T_a = Σ_b b·dk[a·block+b]·λ^b.
	vek.Gemm(s.sums, s.taps, s.table, false, true, false, s.gemm)
	vek.Gemm(s.anchors, s.taps, s.weighted, false, true, false, s.gemm)
	for n, l := range logLambda {
		g[n], m[n] = v.combine(s.sums, s.anchors, n, power(l, v.block))
	}
}

// combine returns Σ_a r^a·S_a and Σ_a r^a·(a·block·S_a + T_a) for mode n, r = λ^block, by Horner's rule.
func (v *Vandermonde) combine(sums, weighted vek.Matrix, n int, r complex128) (g, m complex128) {
	for a := v.rows - 1; a >= 0; a-- {
		i := a*sums.Stride + 2*n
		s := complex(float64(sums.Data[i]), float64(sums.Data[i+1]))
		t := complex(float64(weighted.Data[i]), float64(weighted.Data[i+1]))
		g = g*r + s
		m = m*r + complex(float64(a*v.block), 0)*s + t
	}
	return g, m
}
