package ssm

import (
	"math"
	"math/cmplx"
	"slices"
)

// Response returns the frequency response of a row at an angle θ in radians per sample (paper, eq. 8),
//
//	H(e^{iθ}) = Σ_n W_n/(1 − λ̄_n e^{−iθ}) + conj(W_n)/(1 − conj(λ̄_n) e^{−iθ}).
//
// It is the transform of Kernel's row without its end; D is no part of it.
func (d *Discrete) Response(row int, theta float64) complex128 {
	var sum complex128
	for n := range d.M {
		w, a := d.W[row*d.M+n], d.LogLambda[row%d.H*d.M+n]
		sum += w / oneMinusExp(a-complex(0, theta))
		sum += cmplx.Conj(w) / oneMinusExp(cmplx.Conj(a)-complex(0, theta))
	}
	return sum
}

// oneMinusExp returns 1 − e^z, correct to the last digits where z is near 0.
func oneMinusExp(z complex128) complex128 {
	// e^{x+iy} − 1 = (e^x − 1)·cos y + (cos y − 1) + i·e^x·sin y
	x, y := real(z), math.Remainder(imag(z), 2*math.Pi)
	grow, half := math.Expm1(x), math.Sin(y/2)
	return complex(-(grow*math.Cos(y) - 2*half*half), -(grow+1)*math.Sin(y))
}

// angle returns the folded angle of a pole, in [0, π]: with real kernels Ω and −Ω are one frequency.
func folded(logLambda complex128) float64 {
	return math.Abs(math.Remainder(imag(logLambda), 2*math.Pi))
}

// Coverage returns the largest gap in radians per sample between neighbours among the folded angles of all poles.
// DFouT's grid has 2π/(NH).
func (d *Discrete) Coverage() float64 {
	var angles []float64
	for _, a := range d.LogLambda {
		angles = append(angles, folded(a))
	}
	slices.Sort(angles)
	gap := 0.0
	for i := 1; i < len(angles); i++ {
		gap = max(gap, angles[i]-angles[i-1])
	}
	return gap
}

// Aliased returns how many modes of channel h turn by π or more a sample (paper, Lemma 1). Bilinear poles never do.
func (d *Discrete) Aliased(h int) (n int) {
	for _, a := range d.LogLambda[h*d.M : (h+1)*d.M] {
		if math.Abs(imag(a)) >= math.Pi {
			n++
		}
	}
	return n
}
