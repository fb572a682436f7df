package vek

import "math"

// The factors of a Vandermonde product are powers of complex numbers λ_n, one row or one column a number, filled
// by products from a few exact ones in float64 and rounded once. |λ_n| ≤ 1.

// faded is the modulus, relative to the first, below which powers are written as zero: a product of two such
// factors is then no denormal number, which a processor would take a hundred times longer for.
const faded = 0x1p-50

// ComplexPowers sets re + i·im = exp(l·(logRe + i·logIm)), element for element; a power below e⁻¹⁵⁰ is zero. The
// phase is reduced modulo one turn before it is rounded, so that the error does not grow with l.
func ComplexPowers(re, im, logRe, logIm []float64, l int) {
	if len(im) != len(re) || len(logRe) != len(re) || len(logIm) != len(re) {
		panic("vek: ComplexPowers: lengths differ")
	}
	complexPowersGeneric(re, im, logRe, logIm, l)
}

func complexPowersGeneric(re, im, logRe, logIm []float64, l int) {
	for n := range re {
		decay := logRe[n] * float64(l)
		if decay < -150 {
			re[n], im[n] = 0, 0
			continue
		}
		turns := logIm[n] / (2 * math.Pi) * float64(l)
		turns -= math.Round(turns)
		r := math.Exp(decay)
		sin, cos := math.Sincos(2 * math.Pi * turns)
		re[n], im[n] = r*cos, r*sin
	}
}

// size is |z| within a factor of √2.
func size(z complex128) float64 { return math.Abs(real(z)) + math.Abs(imag(z)) }

// PowerRows fills row n of re and im with λ_n^b, b < Cols.
func PowerRows(re, im Matrix, lamRe, lamIm []float64) {
	checkPowers("PowerRows", re, im, re.Rows, lamRe, lamIm)
	powerRowsGeneric(re, im, lamRe, lamIm)
}

// Four interleaved chains hide the latency of the products.
func powerRowsGeneric(re, im Matrix, lamRe, lamIm []float64) {
	for n := range lamRe {
		rowRe, rowIm := re.Row(n), im.Row(n) // of one length
		lam := complex(lamRe[n], lamIm[n])
		two := lam * lam
		four := two * two
		p0, p1, p2, p3 := 1+0i, lam, two, two*lam
		for len(rowRe) >= 4 && size(p3) >= faded {
			re, im := (*[4]float32)(rowRe), (*[4]float32)(rowIm)
			re[0], im[0] = float32(real(p0)), float32(imag(p0))
			re[1], im[1] = float32(real(p1)), float32(imag(p1))
			re[2], im[2] = float32(real(p2)), float32(imag(p2))
			re[3], im[3] = float32(real(p3)), float32(imag(p3))
			p0, p1, p2, p3 = p0*four, p1*four, p2*four, p3*four
			rowRe, rowIm = rowRe[4:], rowIm[4:]
		}
		for i := range rowRe {
			if size(p0) < faded {
				p0 = 0
			}
			rowRe[i], rowIm[i] = float32(real(p0)), float32(imag(p0))
			p0 *= lam
		}
	}
}

// PowerColumns fills column n of re and im with w_n·λ_n^a, a < Rows.
func PowerColumns(re, im Matrix, wRe, wIm, lamRe, lamIm []float64) {
	checkPowers("PowerColumns", re, im, re.Cols, lamRe, lamIm)
	if len(wRe) != len(lamRe) || len(wIm) != len(lamRe) {
		panic("vek: PowerColumns: lengths differ")
	}
	powerColumnsGeneric(re, im, wRe, wIm, lamRe, lamIm)
}

func powerColumnsGeneric(re, im Matrix, wRe, wIm, lamRe, lamIm []float64) {
	for n := range lamRe {
		p, lam := complex(wRe[n], wIm[n]), complex(lamRe[n], lamIm[n])
		least := faded * size(p)
		for a := range re.Rows {
			if size(p) < least {
				p = 0
			}
			re.Data[a*re.Stride+n], im.Data[a*im.Stride+n] = float32(real(p)), float32(imag(p))
			p *= lam
		}
	}
}

// PowerSums sets sum_n = Σ_a λ_n^a·x_{an}, the sum over the rows of x = re + i·im.
func PowerSums(sumRe, sumIm []float64, re, im Matrix, lamRe, lamIm []float64) {
	checkPowers("PowerSums", re, im, re.Cols, lamRe, lamIm)
	if len(sumRe) != len(lamRe) || len(sumIm) != len(lamRe) {
		panic("vek: PowerSums: lengths differ")
	}
	powerSumsGeneric(sumRe, sumIm, re, im, lamRe, lamIm)
}

// Horner's rule, row by row for all n: s ← s·λ + x_a.
func powerSumsGeneric(sumRe, sumIm []float64, re, im Matrix, lamRe, lamIm []float64) {
	clear(sumRe)
	clear(sumIm)
	sumIm, lamRe, lamIm = sumIm[:len(sumRe)], lamRe[:len(sumRe)], lamIm[:len(sumRe)]
	for a := re.Rows - 1; a >= 0; a-- {
		xr, xi := re.Row(a)[:len(sumRe)], im.Row(a)[:len(sumRe)]
		for n := range sumRe {
			sr, si, lr, li := sumRe[n], sumIm[n], lamRe[n], lamIm[n]
			sumRe[n] = float64(sr*lr) - float64(si*li) + float64(xr[n])
			sumIm[n] = float64(sr*li) + float64(si*lr) + float64(xi[n])
		}
	}
}

// MulIndex sets dst[l] = l·x[l]; dst may be x.
func MulIndex(dst, x []float32) {
	if len(dst) != len(x) {
		panic("vek: MulIndex: lengths differ")
	}
	mulIndexGeneric(dst, x)
}

func mulIndexGeneric(dst, x []float32) {
	dst = dst[:len(x)]
	for l, v := range x {
		dst[l] = float32(l) * v
	}
}

func checkPowers(name string, re, im Matrix, n int, lamRe, lamIm []float64) {
	re.check(name)
	im.check(name)
	if im.Rows != re.Rows || im.Cols != re.Cols || len(lamRe) != n || len(lamIm) != n {
		panic("vek: " + name + ": shapes do not match")
	}
}
