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
		if w := d.W[row*d.M+n]; w != 0 { // else a pole at θ itself would make it 0/0
			sum += poleOf(d.LogLambda[row%d.H*d.M+n]).answer(w, theta)
		}
	}
	return sum
}

// pole is what a frequency response asks of λ̄.
type pole struct {
	growth float64 // |λ̄| − 1
	angle  float64 // in [−π, π]
}

func poleOf(logLambda complex128) pole {
	return pole{growth: math.Expm1(real(logLambda)), angle: math.Remainder(imag(logLambda), 2*math.Pi)}
}

// answer returns what the pole of weight w and its conjugate add to the response at θ.
func (p pole) answer(w complex128, theta float64) complex128 {
	return w/p.away(theta) + cmplx.Conj(w)/pole{p.growth, -p.angle}.away(theta)
}

// away returns 1 − λ̄ e^{−iθ}, correct to the last digits where it is near 0.
func (p pole) away(theta float64) complex128 {
	// with s, c = sin, cos of y/2, and 1 + g the modulus: 1 − (1+g)·e^{iy} = −g·(1 − 2s²) + 2s² − i·(1+g)·2sc
	s, c := math.Sincos((p.angle - theta) / 2)
	square := 2 * s * s
	return complex(square-p.growth*(1-square), -(p.growth+1)*2*s*c)
}

// folded returns the folded angle of a pole, in [0, π]: with real kernels Ω and −Ω are one frequency.
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

// Aliased returns how many modes of channel h turn by π or more a sample (paper, Lemma 1). Bilinear poles never do. Of
// schemes that place angles on the full circle (Token, RndImag, grids b and c) it counts those of the lower half: they come from
// no faster oscillation, and stand for their mirror images in the upper half.
func (d *Discrete) Aliased(h int) (n int) {
	for _, a := range d.LogLambda[h*d.M : (h+1)*d.M] {
		if math.Abs(imag(a)) >= math.Pi {
			n++
		}
	}
	return n
}
