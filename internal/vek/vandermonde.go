package vek

import "math"

// The factors of a Vandermonde product are powers of complex numbers λ_n, |λ_n| ≤ 1, one row per
// number. They are products, in float64, of a few powers that are computed exactly, and are rounded
// once (docs/maths.md §9.3).

// faded is the modulus, relative to the first power, below which plain Go writes zero. Then no
// product of two factors is a denormal number, which would take a processor a hundred times longer.
// (Assembly makes the processor treat denormal numbers as zero.)
const faded = 0x1p-50

// ComplexPowers sets re + i·im = exp(l·log), element by element. Powers below e⁻¹⁵⁰ are zero. The
// phase is reduced modulo one turn before it is rounded, so the error does not grow with l.
func ComplexPowers(re, im []float64, log []complex128, l int) {
	require("ComplexPowers", len(re) == len(log) && len(im) == len(log))
	complexPowers(re, im, log, float64(l))
}

func complexPowersGeneric(re, im []float64, log []complex128, l float64) {
	for n, z := range log {
		power := complexPower(z, l, l)
		re[n], im[n] = real(power), imag(power)
	}
}

// complexPower returns exp(l·Re log + i·lIm·Im log).
func complexPower(log complex128, l, lIm float64) complex128 {
	decay := real(log) * l
	if decay < -150 {
		return 0
	}
	turns := imag(log) / (2 * math.Pi) * lIm
	turns -= math.Round(turns)
	r := math.Exp(decay)
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return complex(r*cos, r*sin)
}

// size returns |z| within a factor of √2.
func size(z complex128) float64 { return math.Abs(real(z)) + math.Abs(imag(z)) }

// mulUnfused returns a·b without fusing products into sums.
func mulUnfused(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}

// Factor says whether a complex factor is taken as it is, or its conjugate.
type Factor bool

// The values of Factor.
const (
	AsIs       Factor = false
	Conjugated Factor = true
)

// PowerRows fills row n of rows with Re w_n·λ_n^b for b < Cols, and row len(w) + n with the
// imaginary parts. λ_n is exp(l·log_n) or its complex conjugate. Re log_n ≤ 0. Powers
// below 2⁻⁵⁰·|w_n| may be zero; none is a denormal number. A row is one call of assembly, so more
// than 2¹⁸ columns would delay the scheduler.
func PowerRows(rows Matrix, w, log []complex128, l int, how Factor) {
	rows.check("PowerRows")
	require("PowerRows", len(w) == len(log) && rows.Rows == 2*len(log))
	lIm := float64(l)
	if how == Conjugated {
		lIm = -lIm
	}
	most := max(1, longestRun/max(1, rows.Cols))
	for at := 0; at < len(log); at += most {
		n := min(most, len(log)-at)
		re, im := rows.Data[at*rows.Stride:], rows.Data[(len(log)+at)*rows.Stride:]
		powerRows(re, im, rows.Stride, rows.Cols, w[at:at+n], log[at:at+n], float64(l), lIm)
	}
}

// re[n][b] + i·im[n][b] = w_n·λ_n^b for b < cols, where λ_n = exp(l·Re log_n + i·lIm·Im log_n)
func powerRowsGeneric(re, im []float32, stride, cols int, w, log []complex128, l, lIm float64) {
	for n := range log {
		powerRow(re[n*stride:][:cols], im[n*stride:][:cols], w[n], complexPower(log[n], l, lIm))
	}
}

// powerRow runs four interleaved chains, which hide the latency of the products.
func powerRow(rowRe, rowIm []float32, w, lam complex128) {
	two := mulUnfused(lam, lam)
	four := mulUnfused(two, two)
	p0, p1, p2 := w, mulUnfused(w, lam), mulUnfused(w, two)
	p3 := mulUnfused(p1, two)
	least := faded * size(w)
	for len(rowRe) >= 4 && size(p3) >= least {
		re, im := (*[4]float32)(rowRe), (*[4]float32)(rowIm)
		re[0], im[0] = float32(real(p0)), float32(imag(p0))
		re[1], im[1] = float32(real(p1)), float32(imag(p1))
		re[2], im[2] = float32(real(p2)), float32(imag(p2))
		re[3], im[3] = float32(real(p3)), float32(imag(p3))
		p0, p1, p2, p3 = mulUnfused(p0, four), mulUnfused(p1, four), mulUnfused(p2, four), mulUnfused(p3, four)
		rowRe, rowIm = rowRe[4:], rowIm[4:]
	}
	for i := range rowRe {
		if size(p0) < least {
			p0 = 0
		}
		rowRe[i], rowIm[i] = float32(real(p0)), float32(imag(p0))
		p0 = mulUnfused(p0, lam)
	}
}

// PowerColumns fills column n of re and im with the parts of λ_n^b in row b, |λ_n| ≤ 1. Powers
// below 2⁻⁵⁰ may be zero; none is a denormal number.
func PowerColumns(re, im Matrix, lamRe, lamIm []float64) {
	re.check("PowerColumns")
	im.check("PowerColumns")
	require("PowerColumns", re.Rows == im.Rows && re.Cols == len(lamRe) && im.Cols == len(lamRe) && re.Stride == im.Stride && len(lamIm) == len(lamRe))
	most := max(32, longestRun/max(1, re.Rows))
	for at := 0; at < len(lamRe) && re.Rows > 0; at += most {
		n := min(most, len(lamRe)-at)
		powerColumns(re.Data[at:], im.Data[at:], re.Stride, re.Rows, lamRe[at:at+n], lamIm[at:at+n])
	}
}

// re[b][n] + i·im[b][n] = λ_n^b for b < rows
func powerColumnsGeneric(re, im []float32, stride, rows int, lamRe, lamIm []float64) {
	for n := range lamRe {
		power, lam := complex128(1), complex(lamRe[n], lamIm[n])
		for b := range rows {
			if size(power) < faded {
				power = 0
			}
			re[b*stride+n], im[b*stride+n] = float32(real(power)), float32(imag(power))
			power = mulUnfused(power, lam)
		}
	}
}

// PowerProduct sets k[a][b] = Σ_q anchors[q][a]·table[q][b]. Denormal sums may be zero. The rows of
// table must extend in memory to a whole number of panels (RoundToPanels), with any contents.
// scratch has GemmScratch(k.Rows, k.Cols, table.Rows) floats.
func PowerProduct(k, anchors, table Matrix, scratch []float32) {
	k.check("PowerProduct")
	anchors.check("PowerProduct")
	table.check("PowerProduct")
	require("PowerProduct", k.Rows == anchors.Cols && k.Cols == table.Cols && anchors.Rows == table.Rows)
	require("PowerProduct", table.Stride >= RoundToPanels(table.Cols) && len(table.Data) >= table.Rows*table.Stride)
	require("PowerProduct", len(scratch) >= GemmScratch(k.Rows, k.Cols, table.Rows))
	powerProduct(k, anchors, table, scratch)
}

// RoundToPanels returns n rounded up to whole panels of every level.
func RoundToPanels(n int) int { return max(roundUp(n, 32), roundUp(n, 12)) }

// PowerSums sets sum_n = Σ_a λ_n^a·x_{an}, the sum over the rows of x = re + i·im.
func PowerSums(sumRe, sumIm []float64, re, im Matrix, lamRe, lamIm []float64) {
	re.check("PowerSums")
	im.check("PowerSums")
	require("PowerSums", im.Rows == re.Rows && im.Cols == re.Cols && re.Cols == len(lamRe))
	require("PowerSums", len(sumRe) == len(lamRe) && len(sumIm) == len(lamRe) && len(lamIm) == len(lamRe))
	most := max(32, longestRun/max(1, re.Rows))
	for at := 0; at < len(lamRe); at += most {
		n := min(most, len(lamRe)-at)
		powerSums(sumRe[at:at+n], sumIm[at:at+n], re.Data[min(at, len(re.Data)):], im.Data[min(at, len(im.Data)):], re.Stride, im.Stride, re.Rows,
			lamRe[at:at+n], lamIm[at:at+n])
	}
}

// sum_n = Σ_a λ_n^a·x_{an}, by Horner's rule from the last row to the first: s ← s·λ + x_a
func powerSumsGeneric(sumRe, sumIm []float64, re, im []float32, reStride, imStride, rows int, lamRe, lamIm []float64) {
	clear(sumRe)
	clear(sumIm)
	sumIm, lamRe, lamIm = sumIm[:len(sumRe)], lamRe[:len(sumRe)], lamIm[:len(sumRe)]
	for a := rows - 1; a >= 0; a-- {
		xr, xi := re[a*reStride:][:len(sumRe)], im[a*imStride:][:len(sumRe)]
		for n := range sumRe {
			sr, si, lr, li := sumRe[n], sumIm[n], lamRe[n], lamIm[n]
			sumRe[n] = float64(sr*lr) - float64(si*li) + float64(xr[n])
			sumIm[n] = float64(sr*li) + float64(si*lr) + float64(xi[n])
		}
	}
}

// MulIndex sets dst[l] = l·x[l]; dst may be x.
func MulIndex(dst, x []float32) {
	sameLen("MulIndex", len(dst), x)
	for at := 0; at < len(x); at += longestRun {
		n := min(longestRun, len(x)-at)
		mulIndex(dst[at:at+n], x[at:at+n], float32(at))
	}
}

// dst[l] = (first + l)·x[l]
func mulIndexGeneric(dst, x []float32, first float32) {
	dst = dst[:len(x)]
	for l, v := range x {
		dst[l] = (first + float32(l)) * v
	}
}
