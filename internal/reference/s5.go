package reference

import (
	"math"
	"math/cmplx"
)

// S5 is the MIMO layer of S5 (arXiv 2208.04933), or the gradients of its parameters: with Λ =
// LambdaRe + i·LambdaIm and Δ = StepScale·e^LogStep, h[t] = λ⊙h[t−1] + φ⊙(B·x[t]), y[t] =
// 2·Re(C·h[t]) + D⊙x[t]. ZOH: λ = e^(ΔΛ), φ = (λ−1)/Λ. Bilinear: q = 1/(1−ΔΛ/2), λ = q(1+ΔΛ/2),
// φ = qΔ. A mode stands for a conjugate pair.
//
// With two directions, y also has 2·Re(C₁·h₁[t]), where h₁ runs backwards in time. Both states
// contain x[t]. A sequence shorter than the others ends with zeros.
type S5 struct {
	H, P                        int // channels, modes
	Bilinear                    bool
	Clip                        bool         // Re Λ is at most −1e-4
	StepScale                   float64      // training samples per sample
	LambdaRe, LambdaIm, LogStep []float64    // [P]
	B                           []complex128 // [P][H]
	C                           []complex128 // [directions][H][P]
	D                           []float64    // [H]
}

// s5Mode is one mode after discretisation, with the derivatives by Λ (ByL) and Δ (ByStep).
type s5Mode struct {
	lambda, lambdaByL, lambdaByStep complex128
	phi, phiByL, phiByStep          complex128
	step                            float64 // Δ
	clipped                         bool
}

func (l *S5) discretize(p int) s5Mode {
	m := s5Mode{step: l.StepScale * math.Exp(l.LogStep[p])}
	re := l.LambdaRe[p]
	if l.Clip && re > -1e-4 {
		re, m.clipped = -1e-4, true
	}
	a, step := complex(re, l.LambdaIm[p]), complex(m.step, 0) // Λ, Δ
	if l.Bilinear {
		q := 1 / (1 - step*a/2)
		m.lambda, m.lambdaByL, m.lambdaByStep = q*(1+step*a/2), step*q*q, a*q*q
		m.phi, m.phiByL, m.phiByStep = q*step, step*step*q*q/2, q*q
		return m
	}
	f, df := zohFactor(step * a)
	m.lambda = cmplx.Exp(step * a)
	m.lambdaByL, m.lambdaByStep = step*m.lambda, a*m.lambda
	m.phi, m.phiByL, m.phiByStep = step*f, step*step*df, m.lambda
	return m
}

func (l *S5) scan() *scan {
	s := &scan{H: l.H, Factor: 2, C: l.C, D: l.D}
	for p := range l.P {
		m := l.discretize(p)
		s.Pole = append(s.Pole, m.lambda)
		for h := range l.H {
			s.B = append(s.B, m.phi*l.B[p*l.H+h])
		}
	}
	return s
}

// Forward returns y for sequences x of a length, both [B][H][L].
func (l *S5) Forward(x []float64, length int) []float64 { return l.scan().forward(x, length) }

// Backward returns the gradients of the parameters and ∂loss/∂x for ∂loss/∂y. That of a clipped
// LambdaRe is 0.
func (l *S5) Backward(x, dy []float64, length int) (g *S5, dx []float64) {
	gs, dx := l.scan().backward(x, dy, length)
	g = &S5{
		H: l.H, P: l.P, LambdaRe: zeros(l.P), LambdaIm: zeros(l.P), LogStep: zeros(l.P),
		B: make([]complex128, len(l.B)), C: gs.C, D: gs.D,
	}
	for p := range l.P {
		m := l.discretize(p)
		dLambda, dPhi := gs.Pole[p], complex128(0)
		for h := range l.H {
			d := gs.B[p*l.H+h]
			g.B[p*l.H+h] = d * cmplx.Conj(m.phi)
			dPhi += d * cmplx.Conj(l.B[p*l.H+h])
		}
		byL := dLambda*cmplx.Conj(m.lambdaByL) + dPhi*cmplx.Conj(m.phiByL)
		if !m.clipped {
			g.LambdaRe[p] = real(byL)
		}
		g.LambdaIm[p] = imag(byL)
		g.LogStep[p] = m.step * real(dLambda*cmplx.Conj(m.lambdaByStep)+dPhi*cmplx.Conj(m.phiByStep))
	}
	return g, dx
}
