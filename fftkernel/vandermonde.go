package fftkernel

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Vandermonde is a plan for kernels k[l] = 2·Re Σ_n w_n·λ_n^l, 0 ≤ l < length.
//
// With l = a·block + b the kernel is a small real matrix product,
//
//	K[a][b] = 2·Σ_n [Re(w_n λ_n^{a·block}), Im(w_n λ_n^{a·block})] · [Re(λ_n^b); −Im(λ_n^b)],
//
// whose factors, anchors and table, are products of exactly evaluated powers in float64, rounded to
// float32 once. The error therefore does not grow with the length. The gradient's sums over a are
// such a product too, and those over b of its rows are in float64 (docs/maths.md §9.3).
type Vandermonde struct {
	modes, length    int
	block, rows      int          // block·rows ≥ length
	across, gradRows int          // those of the gradient
	scratch          int          // floats that the methods need
	twos             []complex128 // first column of the table, per mode
}

// NewVandermonde plans kernels of modes complex modes and length taps, both at least 1. It panics
// if S4D_LEVEL names a level that is not available.
func NewVandermonde(modes, length int) *Vandermonde {
	if err := vek.StartupErr(); err != nil {
		panic(fmt.Errorf("fftkernel: %w", err))
	}
	if modes < 1 || length < 1 {
		panic(fmt.Sprintf("fftkernel: NewVandermonde(%d, %d): expected at least 1", modes, length))
	}
	block := 1 << ((bits.Len(uint(length-1)) + 1) / 2)
	rows := (length + block - 1) / block
	across := block
	if block > 32 {
		across |= 16 // rows in an odd number of cache lines start at different cache sets
	}
	gradRows := (length + across - 1) / across
	kernel := 2*modes*(padded(block)+padded(rows)) + vek.GemmScratch(rows, block, 2*modes)
	grad := gradRows*(padded(2*modes)+across) + 4*across*modes + vek.GemmScratch(across, 2*modes, gradRows)
	return &Vandermonde{
		modes: modes, length: length, block: block, rows: rows, across: across, gradRows: gradRows,
		scratch: max(kernel, grad),
		twos:    slices.Repeat([]complex128{2}, modes),
	}
}

// padded returns the stride of the factors: whole panels, in an odd number of cache lines so that
// rows start at different cache sets.
func padded(cols int) int { return (vek.RoundToPanels(cols)+15)/16*16 | 16 }

// ScratchLen returns the number of floats of scratch that Kernel and Grad need.
func (v *Vandermonde) ScratchLen() int { return v.scratch }

// take returns a matrix in scratch, and the rest of scratch. Rows (columns) n and modes+n of the
// factors are the two parts of mode n.
func take(scratch []float32, rows, cols, stride int) (m vek.Matrix, rest []float32) {
	return vek.MatrixOf(scratch, rows, stride).Columns(0, cols), scratch[rows*stride:]
}

func (v *Vandermonde) check(name string, taps int, logLambda []complex128, scratch []float32) {
	checkTaps(name, taps, v.length)
	checkLength(name, "logLambda", len(logLambda), v.modes)
	checkScratch(name, len(scratch), v.scratch)
}

// Kernel writes k[l] for 0 ≤ l < len(k) ≤ length. logLambda is log λ (real part ≤ 0), w the
// weights.
func (v *Vandermonde) Kernel(k []float32, logLambda, w []complex128, scratch []float32) {
	v.check("Vandermonde.Kernel", len(k), logLambda, scratch)
	checkLength("Vandermonde.Kernel", "w", len(w), v.modes)
	table, scratch := take(scratch, 2*v.modes, v.block, padded(v.block))
	anchors, scratch := take(scratch, 2*v.modes, v.rows, padded(v.rows))
	vek.PowerRows(table, v.twos, logLambda, 1, vek.Conjugated)
	vek.PowerRows(anchors, w, logLambda, v.block, vek.AsIs)
	whole := len(k) / v.block
	rest := k[whole*v.block:]
	vek.PowerProduct(vek.MatrixOf(k, whole, v.block), anchors.Columns(0, whole), table, scratch)
	if len(rest) > 0 {
		last := anchors.Columns(whole, whole+1)
		vek.PowerProduct(vek.MatrixOf(rest, 1, len(rest)), last, table.Columns(0, len(rest)), scratch)
	}
}

// Grad writes G_n = Σ_l dk[l]·λ_n^l and M_n = Σ_l l·dk[l]·λ_n^l (docs/maths.md §7); len(dk) ≤
// length.
func (v *Vandermonde) Grad(g, m []complex128, dk []float32, logLambda []complex128, scratch []float32) {
	v.check("Vandermonde.Grad", len(dk), logLambda, scratch)
	checkLength("Vandermonde.Grad", "g", len(g), v.modes)
	checkLength("Vandermonde.Grad", "m", len(m), v.modes)
	anchors, scratch := take(scratch, v.gradRows, 2*v.modes, padded(2*v.modes))
	taps, scratch := take(scratch, v.gradRows, v.across, v.across)
	sums, scratch := take(scratch, 2*v.across, 2*v.modes, 2*v.modes)
	var p poles
	for at := 0; at < v.modes; at += len(p.re) {
		n := min(v.modes-at, len(p.re))
		vek.ComplexPowers(p.re[:n], p.im[:n], logLambda[at:at+n], v.across)
		re, im := v.parts(anchors, at, n)
		vek.PowerColumns(re, im, p.re[:n], p.im[:n])
	}
	// Σ_a λ^{a·across}·dk[a·across+b], and in the lower rows the same of l·dk[l].
	clear(taps.Data[copy(taps.Data, dk):])
	vek.PowerProduct(sums.RowRange(0, v.across), taps, anchors, scratch)
	vek.MulIndex(taps.Data, taps.Data)
	vek.PowerProduct(sums.RowRange(v.across, 2*v.across), taps, anchors, scratch)
	for at := 0; at < v.modes; at += len(p.re) {
		n := min(v.modes-at, len(p.re))
		vek.ComplexPowers(p.re[:n], p.im[:n], logLambda[at:at+n], 1)
		v.sum(g[at:at+n], sums.RowRange(0, v.across), &p, at)
		v.sum(m[at:at+n], sums.RowRange(v.across, 2*v.across), &p, at)
	}
}

// parts returns the real and the imaginary parts of n modes from at on, of a matrix with a row for
// all modes.
func (v *Vandermonde) parts(x vek.Matrix, at, n int) (re, im vek.Matrix) {
	return x.Columns(at, at+n), x.Columns(v.modes+at, v.modes+at+n)
}

// poles holds a power of each of a few λ, and the modes' sums.
type poles struct {
	re, im, sumRe, sumIm [32]float64
}

// sum sets dst to Σ_b λ^b·S_b for the modes from at on.
func (v *Vandermonde) sum(dst []complex128, s vek.Matrix, p *poles, at int) {
	n := len(dst)
	re, im := v.parts(s, at, n)
	vek.PowerSums(p.sumRe[:n], p.sumIm[:n], re, im, p.re[:n], p.im[:n])
	for i := range dst {
		dst[i] = complex(p.sumRe[i], p.sumIm[i])
	}
}
