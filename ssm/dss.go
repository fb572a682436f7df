package ssm

import (
	"math"
	"math/cmplx"
)

// dssEpsilon keeps the normaliser of DSS finite where X is 0.
const dssEpsilon = 1e-7

// dssMode is one mode of one channel of DSS (docs/maths.md §18; DSS, arXiv 2203.14343, as version 4
// of the official S4 code computes it): K[l] = Re C·B·edge·ρ·e^{a(l − first)}.
type dssMode struct {
	lambda, a complex128 // A, Δ·A
	sign      float64    // ã = sign·a has a real part ≤ 0
	taps      float64    // L
	edge      complex128 // e^ã − 1
	grown     complex128 // e^{ãL} − 1
	x, rho    complex128 // X = (e^{ãL} − 1)·A and ρ = X̄/(|X|² + ε)
}

// dssMode returns mode i, an index into [S][M], of a channel with the step Δ.
func (p *Params) dssMode(i int, step float64, taps int) dssMode {
	m := dssMode{lambda: complex(-p.Decay[i], p.Freq[i]), sign: 1, taps: float64(taps)}
	m.a = complex(step, 0) * m.lambda
	if p.silent(imag(m.a)) {
		return m // edge and ρ stay 0: the mode adds nothing to K, and its gradients are 0
	}
	if real(m.lambda) > 0 {
		m.sign = -1
	}
	towards := complex(m.sign, 0) * m.a
	m.edge, m.grown = expm1(towards), expm1(complex(m.taps, 0)*towards)
	m.x = m.grown * m.lambda
	m.rho = cmplx.Conj(m.x) / complex(square(m.x)+dssEpsilon, 0)
	return m
}

// expm1 returns e^a − 1 without cancellation near 0.
func expm1(a complex128) complex128 {
	f, _ := phi(a, cmplx.Exp(a))
	return a * f
}

// square returns |z|².
func square(z complex128) float64 { return real(z)*real(z) + imag(z)*imag(z) }

// DSSTaps returns the number of taps that the normaliser of DSS spans at a step scale.
func (c Config) DSSTaps(stepScale float64) int {
	return max(1, int(math.Round(float64(c.LKernel)/stepScale)))
}

// discretizeDSS is DiscretizeChannels for DSS. W includes a factor ½, since a kernel is 2·Re Σ W
// λ̄^l.
func (p *Params) discretizeDSS(d *Discrete, stepScale float64, lo, hi int) {
	m, s, h := p.Modes(), p.Copies(), p.DModel
	taps := p.DSSTaps(stepScale)
	for c := lo; c < hi; c++ {
		step, own, shared := p.step(c, stepScale), c*m, c%s*m
		for n := range m {
			k := p.dssMode(shared+n, step, taps)
			bBar := p.B[shared+n] * k.edge * k.rho / 2
			d.LogLambda[own+n], d.BBar[own+n] = k.a, bBar
			for dir := range p.Directions() {
				i := dir*h*m + own + n
				d.W[i] = p.C[i] * bBar
			}
		}
	}
}

// backwardDSS is BackwardChannels for DSS.
func (p *Params) backwardDSS(grad *Params, g, m []complex128, lo, hi int) {
	modes, s := p.Modes(), p.Copies()
	taps := p.DSSTaps(1)
	for c := lo; c < hi; c++ {
		step := p.step(c, 1)
		for n := range modes {
			shared := c%s*modes + n
			k := p.dssMode(shared, step, taps)
			for dir := range p.Directions() {
				i := dir*p.DModel*modes + c*modes + n
				byA, byLambda := p.backwardDSSMode(grad, k, g[i], m[i], i, shared)
				// a = Δ·A with A = −Decay + i·Freq.
				byLambda += complex(step, 0) * byA
				grad.Decay[shared] -= real(byLambda)
				grad.Freq[shared] -= imag(byLambda)
				grad.Step[c] += step * real(byA*k.lambda)
			}
		}
	}
}

// backwardDSSMode adds the gradients of C and B for one mode and direction. It returns the
// derivatives of the loss with respect to a and A, the latter only through the factor A of X: dloss
// = Re(byA·da + byLambda·dA). With the loss Re(R·ρ), R = C·B·edge·G, and q = |X|² + ε, the
// derivative with respect to X is −R·X̄²/q² + conj(R·ε/q²).
func (p *Params) backwardDSSMode(grad *Params, k dssMode, g, m complex128, own, shared int) (byA, byLambda complex128) {
	c, b, sign := p.C[own], p.B[shared], complex(k.sign, 0)
	grad.C[own] += cmplx.Conj(b * k.edge * k.rho * g)
	grad.B[shared] += cmplx.Conj(c * k.edge * k.rho * g)
	cb := c * b
	q, r := square(k.x)+dssEpsilon, cb*k.edge*g
	xBar := cmplx.Conj(k.x)
	byX := complex(1/(q*q), 0) * (-r*xBar*xBar + cmplx.Conj(r)*dssEpsilon)
	byA = cb*k.rho*(k.edge*m+g*sign*(k.edge+1)) + byX*k.lambda*sign*complex(k.taps, 0)*(k.grown+1)
	return byA, byX * k.grown
}

// Growing reports whether the mode with the index i into [H][M] has Re log λ̄ > 0. Only modes of
// DSS can grow. Its weight W is that of the last tap of the kernel.
func (d *Discrete) Growing(i int) bool { return real(d.LogLambda[i]) > 0 }

// CountGrowing returns the number of growing modes.
func (d *Discrete) CountGrowing() (n int) {
	for i := range d.LogLambda {
		if d.Growing(i) {
			n++
		}
	}
	return n
}
