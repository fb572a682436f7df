package ssm

import (
	"math"
	"math/cmplx"
)

// scanGain returns a function that computes the largest singular value of the frequency response of
// S5 or an LRU, without D. The response of a direction is the matrix [H][H]
//
//	H(e^{iθ}) = ½κ·Σ_n (C_n·B̄_nᵀ/(1 − λ̄_n e^{−iθ}) + conj(C_n·B̄_nᵀ)/(1 − conj(λ̄_n) e^{−iθ}))
//
// of the columns C_n of C and the rows B̄_n of B̄.
func (p *Params) scanGain(stepScale float64) func(direction int, theta float64) float64 {
	s, h, modes, poles := NewScan(p.Config), p.DModel, p.Modes(), []pole{}
	p.DiscretizeScan(s, stepScale, 0, modes)
	for n := range modes {
		poles = append(poles, poleOf(p.scanMode(n, stepScale).logLambda()))
	}
	return func(direction int, theta float64) float64 {
		sum, c := make([]complex128, h*h), p.C[direction*h*modes:]
		for n, q := range poles {
			own, mirrored := 1/q.distance(theta), 1/pole{q.growth, -q.angle}.distance(theta)
			for i := range h {
				w := c[i*modes+n] * complex(s.Factor/2, 0)
				first, second := w*own, cmplx.Conj(w)*mirrored
				for j, b := range s.BBar[n*h : (n+1)*h] {
					if w == 0 || b == 0 {
						continue // 0·∞ for a pole at θ itself
					}
					sum[i*h+j] += first*b + second*cmplx.Conj(b)
				}
			}
		}
		return largestSingular(sum, h)
	}
}

// largestSingular returns the largest singular value of a matrix [h][h], +Inf if the matrix is not
// finite, or NaN if the value does not converge. X + iY has the singular values of the real matrix
// [X −Y; Y X].
func largestSingular(x []complex128, h int) float64 {
	both := newMatrix(2 * h)
	for i, v := range x {
		row, column := i/h, i%h
		both.set(row, column, real(v))
		both.set(row, h+column, -imag(v))
		both.set(h+row, column, imag(v))
		both.set(h+row, h+column, real(v))
	}
	if !both.isFinite() {
		return math.Inf(1)
	}
	values, _, _, ok := both.singularValues(false)
	if !ok {
		return math.NaN()
	}
	return values[0]
}
