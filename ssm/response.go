package ssm

import (
	"math"
	"math/cmplx"
)

// Response returns the frequency response of a row at an angle θ in radians per sample (paper, eq.
// 8; docs/maths.md §8),
//
//	H(e^{iθ}) = Σ_n W_n/(1 − λ̄_n e^{−iθ}) + conj(W_n)/(1 − conj(λ̄_n) e^{−iθ}).
//
// It is the transform of Kernel's row, continued without end. D is not included.
func (d *Discrete) Response(row int, theta float64) complex128 {
	var sum complex128
	for n := range d.M {
		if w := d.W[row*d.M+n]; w != 0 { // 0/0 for a pole at θ itself
			sum += poleOf(d.LogLambda[row%d.H*d.M+n]).contribution(w, theta)
		}
	}
	return sum
}

// pole holds λ̄ in the form that frequency responses use.
type pole struct {
	growth float64 // |λ̄| − 1
	angle  float64 // in [−π, π]
}

func poleOf(logLambda complex128) pole {
	return pole{growth: math.Expm1(real(logLambda)), angle: math.Remainder(imag(logLambda), 2*math.Pi)}
}

// contribution returns what a pole of weight w and its conjugate add to the response at θ.
func (p pole) contribution(w complex128, theta float64) complex128 {
	return w/p.distance(theta) + cmplx.Conj(w)/pole{p.growth, -p.angle}.distance(theta)
}

// distance returns 1 − λ̄ e^{−iθ} without cancellation near 0.
func (p pole) distance(theta float64) complex128 {
	// with s, c = sin, cos of y/2, and 1 + g the modulus: 1 − (1+g)·e^{iy} = −g·(1 − 2s²) + 2s² −
	// i·(1+g)·2sc
	s, c := math.Sincos((p.angle - theta) / 2)
	square := 2 * s * s
	return complex(square-p.growth*(1-square), -(p.growth+1)*2*s*c)
}

// folded returns the angle of a pole folded to [0, π]: in a real kernel θ and −θ are one frequency.
func folded(logLambda complex128) float64 {
	return math.Abs(math.Remainder(imag(logLambda), 2*math.Pi))
}
