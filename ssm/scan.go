package ssm

import (
	"math"
	"math/cmplx"
)

// maxClipped is the largest Re Λ with ClipEigs.
const maxClipped = -1e-4

// Scan is a layer with one SSM for all channels, S5 or an LRU, after discretisation
// (docs/maths.md §19.1):
//
//	h[t] = λ̄⊙h[t−1] + B̄·x[t],  y[t] = Factor·Re(C·h[t]) + D⊙x[t]
//
// C and D are those of the parameters. The second direction, if any, has its own C.
type Scan struct {
	Factor float64      // κ: 2 where the modes stand for conjugate pairs, else 1
	Lambda []complex128 // [P] λ̄
	BBar   []complex128 // [P][H]
}

// NewScan allocates a layer, which DiscretizeScan fills. The same type holds gradients.
func NewScan(cfg Config) *Scan {
	return &Scan{Factor: cfg.factor(), Lambda: make([]complex128, cfg.Modes()), BBar: make([]complex128, cfg.Modes()*cfg.DModel)}
}

// factor returns κ.
func (c Config) factor() float64 {
	if c.Layer == LayerLRU {
		return 1
	}
	return 2
}

// DiscretizeScan computes modes [lo, hi) of a layer with one SSM for all channels, at the step
// scale r: the number of training samples per input sample. S5 has the step rΔ (docs/maths.md
// §1.6). In an LRU λ̄ becomes λ̄ʳ, and B̄ is that of held samples (§15). DiscretizeScan allocates
// nothing. Disjoint ranges may run concurrently.
func (p *Params) DiscretizeScan(s *Scan, stepScale float64, lo, hi int) {
	for n := lo; n < hi; n++ {
		m := p.scanMode(n, stepScale)
		s.Lambda[n] = m.lambda
		for i := n * p.DModel; i < (n+1)*p.DModel; i++ {
			s.BBar[i] = m.input * p.B[i]
		}
	}
}

// BackwardScan sets the gradients of Step or Gamma, Decay, Freq and B for modes [lo, hi) in grad,
// from those of λ̄ and B̄ (docs/maths.md §19.3). A complex gradient holds ∂/∂Re in its real part and
// ∂/∂Im in its imaginary part. The sums that give the gradients of C and D are the caller's.
// BackwardScan allocates nothing. Disjoint ranges may run concurrently.
func (p *Params) BackwardScan(grad *Params, g *Scan, stepScale float64, lo, hi int) {
	for n := lo; n < hi; n++ {
		m := p.scanMode(n, stepScale)
		var byInput complex128
		for i := n * p.DModel; i < (n+1)*p.DModel; i++ {
			grad.B[i] = g.BBar[i] * cmplx.Conj(m.input)
			byInput += g.BBar[i] * cmplx.Conj(p.B[i])
		}
		by := func(lambda, input complex128) float64 {
			return real(g.Lambda[n]*cmplx.Conj(lambda)) + real(byInput*cmplx.Conj(input))
		}
		grad.Decay[n] = by(m.byDecay, m.inputByDecay)
		grad.Freq[n] = by(m.byFreq, m.inputByFreq)
		if p.Layer == LayerLRU {
			grad.Gamma[n] = by(0, m.input)
		} else {
			grad.Step[n] = by(m.byStep, m.inputByStep)
		}
	}
}

// scanMode is a mode after discretisation, B̄ = input·B, with the derivatives with respect to
// Decay, Freq and, of S5, Step.
type scanMode struct {
	lambda, byDecay, byFreq, byStep               complex128
	input, inputByDecay, inputByFreq, inputByStep complex128

	// angle is the angle of λ̄ in radians per sample of the input; for S5 with zero-order hold
	// rΔ·Im Λ, not folded.
	angle float64

	logAbs float64 // log |λ̄|, exactly 0 on the unit circle
}

// logLambda returns log λ̄, with an angle in [−π, π] and a real part of at least −60 (see bilinear).
func (m scanMode) logLambda() complex128 {
	return complex(max(m.logAbs, -60), cmplx.Phase(m.lambda))
}

// scanMode discretises mode n. No input reaches the state of a silent mode, so its column of C has
// no effect (docs/maths.md §15).
func (p *Params) scanMode(n int, stepScale float64) (m scanMode) {
	if p.Layer == LayerLRU {
		m = p.lruMode(n, stepScale)
	} else {
		m = p.s5Mode(n, stepScale*math.Exp(p.Step[n]))
	}
	if p.silent(m.angle) {
		m.input, m.inputByDecay, m.inputByFreq, m.inputByStep = 0, 0, 0, 0
	}
	return m
}

// lruMode is λ̄ = exp(−e^ν + i·e^θ), B̄ = e^γ·B (LRU, arXiv 2303.06349, §3.3 and §3.4), and λ̄ʳ with
// the B̄ of held samples at another step scale r.
func (p *Params) lruMode(n int, stepScale float64) scanMode {
	decay, angle := complex(-math.Exp(p.Decay[n]), 0), complex(0, math.Exp(p.Freq[n])) // of log λ̄
	t, k, turn := p.discreteAtRate(transform{logLambda: decay + angle, dLog: 1}, gain{value: complex(math.Exp(p.Gamma[n]), 0)}, stepScale)
	lambda := cmplx.Exp(t.logLambda)
	return scanMode{
		lambda: lambda, byDecay: decay * t.dLog * lambda, byFreq: angle * t.dLog * lambda,
		input: k.value, inputByDecay: decay * k.slope, inputByFreq: angle * k.slope,
		angle: turn, logAbs: real(t.logLambda),
	}
}

// s5Mode discretises mode n of S5 with the step Δ (S5, arXiv 2208.04933, §2.3; docs/maths.md
// §19.1): with zero-order hold λ̄ = e^a and B̄ = Δ·φ(a)·B for a = ΛΔ and φ(a) = (e^a − 1)/a, so that
// Λ = 0 is a valid pole. The derivatives with respect to the step are those with respect to ln Δ.
func (p *Params) s5Mode(n int, step float64) (m scanMode) {
	re, clipped := p.Decay[n], false
	if p.ClipEigs && re > maxClipped {
		re, clipped = maxClipped, true
	}
	d := complex(step, 0)
	a := complex(re, p.Freq[n]) * d
	if p.Disc == Bilinear {
		q := 1 / (1 - a/2)
		m.lambda, m.byDecay, m.byStep = q*(1+a/2), d*q*q, a*q*q
		m.input, m.inputByDecay, m.inputByStep = d*q, d*d*q*q/2, d*q*q
		m.angle, m.logAbs = cmplx.Phase(m.lambda), real(bilinear(a).logLambda)
	} else {
		f, df := phi(a)
		m.lambda, m.angle, m.logAbs = cmplx.Exp(a), imag(a), real(a)
		m.byDecay, m.byStep = d*m.lambda, a*m.lambda
		m.input, m.inputByDecay, m.inputByStep = d*f, d*d*df, d*m.lambda
	}
	m.byFreq, m.inputByFreq = 1i*m.byDecay, 1i*m.inputByDecay
	if clipped {
		m.byDecay, m.inputByDecay = 0, 0
	}
	return m
}

// CountGrowing returns the number of modes of S5 with Re Λ > 0. Those of an LRU decay by
// construction.
func (p *Params) CountGrowing() (n int) {
	if p.Layer != LayerS5 || p.ClipEigs {
		return 0
	}
	for _, re := range p.Decay {
		if re > 0 {
			n++
		}
	}
	return n
}
