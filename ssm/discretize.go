package ssm

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// maxStepScale bounds the step scale and its reciprocal. In S4 the time grows with the step scale,
// and the memory with its reciprocal.
const maxStepScale = 1 << 10

// CheckStepScale returns an error for a step scale that is out of range. The error has no prefix.
func CheckStepScale(r float64) error {
	if r >= 1.0/maxStepScale && r <= maxStepScale {
		return nil
	}
	return fmt.Errorf("%v: expected 1/%d to %[2]d", r, maxStepScale)
}

// NewDiscrete allocates a discretised layer, which DiscretizeChannels fills for the same step
// scale.
func NewDiscrete(cfg Config, stepScale float64) *Discrete {
	h, m, dirs, taps := cfg.DModel, cfg.Modes(), cfg.Directions(), 0
	if cfg.Layer == LayerDSS {
		taps = cfg.DSSTaps(stepScale)
	}
	return &Discrete{
		H: h, M: m, Directions: dirs, Taps: taps,
		LogLambda: make([]complex128, h*m),
		BBar:      make([]complex128, h*m),
		W:         make([]complex128, dirs*h*m),
	}
}

// Discretize returns log λ̄, B̄ and W = C·B̄ at a step scale r: the number of training samples per
// input sample, for example 2 if every second sample is kept. S4D's poles have the step rΔ
// (docs/maths.md §1.6). With discrete poles λ̄ becomes λ̄ʳ, and B̄ is that of held samples (§15).
func (p *Params) Discretize(disc Disc, stepScale float64) *Discrete {
	d := NewDiscrete(p.Config, stepScale)
	p.DiscretizeChannels(d, disc, stepScale, 0, p.DModel)
	return d
}

// DiscretizeChannels is Discretize for channels [lo, hi) of an allocated d. It allocates nothing.
// Disjoint ranges may run concurrently.
func (p *Params) DiscretizeChannels(d *Discrete, disc Disc, stepScale float64, lo, hi int) {
	if !p.Diagonal() {
		panic(fmt.Sprintf("ssm: Discretize: layer %q, expected %q or %q", p.layer(), LayerS4D, LayerDSS))
	}
	if p.Layer == LayerDSS {
		p.discretizeDSS(d, stepScale, lo, hi)
		return
	}
	m, s, directions, discrete := p.Modes(), p.Copies(), p.Directions(), p.Discrete()
	general := disc != ZOH || stepScale != 1 || p.Bandlimit > 0
	var e exponents
	for c := lo; c < hi; c++ {
		step, turn, own, shared := p.step(c, stepScale), 1.0, c*m, c%s*m
		if !discrete { // a = Δ·A, not −ρξ + iθ
			turn = step
		}
		for n := range m {
			at := n % len(e.a)
			if at == 0 {
				e.compute(p.Decay[shared+n:shared+m], p.Freq[shared+n:shared+m], step, turn)
			}
			a, z := e.a[at], complex(e.re[at], e.im[at])
			var logLambda, dLog, value, slope complex128
			if general {
				t, k := p.general(disc, a, z, step, stepScale)
				logLambda, dLog, value, slope = t.logLambda, t.dLog, k.value, k.slope
			} else {
				f, df := phi(a, z)
				logLambda, dLog, value, slope = a, 1, scaled(step, f), scaled(step, df)
			}
			if d.modes != nil { // copies of whole structs would wait for their parts
				kept := &d.modes[own+n]
				kept.a, kept.dLog, kept.gain.value, kept.gain.slope = a, dLog, value, slope
			}
			bBar := p.B[shared+n] * value
			d.LogLambda[own+n] = logLambda
			d.BBar[own+n] = bBar
			for i := own + n; i < directions*len(d.BBar); i += len(d.BBar) {
				d.W[i] = p.C[i] * bBar
			}
		}
	}
}

// exponents are those of a few modes, a, with e^a.
type exponents struct {
	a      [32]complex128
	re, im [32]float64
}

// compute sets a = −exp(decay)·step + i·freq·turn of as many modes as there is room for.
func (e *exponents) compute(decay, freq []float64, step, turn float64) {
	n := min(len(decay), len(e.a))
	for i, d := range decay[:n] {
		e.a[i] = complex(d, 0)
	}
	vek.ComplexPowers(e.re[:n], e.im[:n], e.a[:n], 1)
	for i := range n {
		e.a[i] = complex(0-e.re[i]*step, freq[i]*turn) // 0 − x: a pole on the unit circle gets +0
	}
	vek.ComplexPowers(e.re[:n], e.im[:n], e.a[:n], 1)
}

// scaled returns r·z.
func scaled(r float64, z complex128) complex128 { return complex(r*real(z), r*imag(z)) }

// mode is a mode of a channel, as a function of its exponent a, with ∂(log λ̄)/∂a.
type mode struct {
	a, dLog complex128
	gain    gain
}

// KeepModes makes DiscretizeChannels keep what BackwardChannels needs of S4D.
func (d *Discrete) KeepModes() { d.modes = make([]mode, len(d.LogLambda)) }

// step returns rΔ of a channel, or ξ for discrete parameters.
func (p *Params) step(c int, stepScale float64) float64 {
	if p.Discrete() {
		return math.Exp(p.Step[c])
	}
	return math.Exp(p.Step[c]) * stepScale
}

// general returns the discretisation of a mode of S4D by any rule, at any step scale, and with any
// band limit. For discrete parameters it is that of training.
func (p *Params) general(disc Disc, a, z complex128, step, stepScale float64) (transform, gain) {
	t := transformOf(disc, a, z)
	k, angle := gain{scaled(step, t.input), scaled(step, t.dIn)}, imag(t.logLambda)
	if p.Discrete() {
		t, k, angle = p.discreteAtRate(t, k, stepScale)
	}
	if p.silent(angle) {
		k = gain{}
	}
	return t, k
}

// discreteAtRate returns the discretisation of a mode with a discrete pole at the step scale r, and
// the mode's angle per sample of the input. The derivatives stay those of r = 1, at which networks
// are trained.
//
// Unless r is a whole number, λ̄ʳ depends on the branch of the logarithm: the mode has the angle in
// [−π, π] that its samples in training have. At r = 1 the transform is returned
// unchanged; only the returned angle is folded.
func (c Config) discreteAtRate(t transform, k gain, r float64) (transform, gain, float64) {
	angle := math.Remainder(imag(t.logLambda), 2*math.Pi)
	if r != 1 {
		k.value *= heldSum(complex(real(t.logLambda), angle), r)
		t.logLambda = complex(real(t.logLambda)*r, angle*r)
	}
	return t, k, angle * r
}

// heldSum returns S = (λ̄ʳ − 1)/(λ̄ − 1), the sum of r powers of λ̄ if r is a whole number. With ℓ =
// log λ̄, S = r·φ(rℓ)/φ(ℓ), and φ(ℓ) ≠ 0 for angles in [−π, π].
func heldSum(logLambda complex128, r float64) complex128 {
	c := complex(r, 0)
	f, _ := phi(logLambda, cmplx.Exp(logLambda))
	g, _ := phi(c*logLambda, cmplx.Exp(c*logLambda))
	return c * g / f
}

// silent reports whether a mode that turns by an angle per sample of the input is beyond the band
// limit (docs/maths.md §15).
func (c Config) silent(angle float64) bool {
	return c.Bandlimit > 0 && math.Abs(angle) >= c.Bandlimit*math.Pi
}

// gain is B̄/B of a mode. It is also proportional to the step, Δ or ξ.
type gain struct {
	value complex128
	slope complex128 // ∂value/∂a
}

// transform is the discretisation of a mode as a function of its exponent a: λ̄ = exp(logLambda)
// and input = B̄/(B·step).
type transform struct {
	logLambda complex128
	input     complex128
	dLog, dIn complex128 // derivatives of logLambda and input with respect to a
}

// transformOf discretises a mode with z = e^a (docs/maths.md §1.3, §7). Neither formula divides by
// A, so A = 0 is a valid pole.
func transformOf(disc Disc, a, z complex128) transform {
	if disc == Bilinear {
		return bilinear(a)
	}
	f, df := phi(a, z)
	return transform{logLambda: a, input: f, dLog: 1, dIn: df}
}

// bilinear returns λ̄ = (1 + a/2)/(1 − a/2), input = 1/(1 − a/2) (S4, arXiv 2111.00396, eq. 3).
//
// log|λ̄| goes through log1p, so that Re a = 0 gives |λ̄| = 1 exactly and small decays keep their
// digits. It is kept above −60. At a = −2 the pole is 0 and the derivative of its logarithm
// infinite, but the derivative's product with a tap, which is of order λ̄, is finite.
func bilinear(a complex128) transform {
	const minLog = -60
	x, y := real(a)/2, imag(a)/2
	den := (1-x)*(1-x) + y*y // |1 − a/2|²
	change := 4 * x / den    // |λ̄|² − 1
	logAbs := 0.5 * math.Log1p(change)
	if change < -0.5 {
		logAbs = max(0.5*math.Log(((1+x)*(1+x)+y*y)/den), minLog)
	}
	logLambda := complex(logAbs, math.Atan2(y, 1+x)+math.Atan2(y, 1-x))
	q := 1 / (1 - a/2)
	return transform{
		logLambda: logLambda,
		input:     q,
		dLog:      q * q / cmplx.Exp(logLambda), // dλ̄/da = 1/(1 − a/2)²
		dIn:       q * q / 2,
	}
}

// phi returns φ(a) = (z − 1)/a and φ′(a) = (z − φ)/a, where z = e^a. Near 0, where the differences
// cancel, it sums the real series φ₂ = (φ − 1)/a = Σ a^k/(k+2)!, from which φ = 1 + a·φ₂ and φ′ =
// φ − φ₂. With s_k = c_k + 2·Re a·s_{k+1} − |a|²·s_{k+2}, the sum is c_0 + a·s_1 − |a|²·s_2.
func phi(a, z complex128) (f, df complex128) {
	x, y := real(a), imag(a)
	square := x*x + y*y
	if math.Abs(x)+math.Abs(y) < 0.5 {
		var s, after float64 // s_k and s_{k+1}
		twice := 2 * x
		for _, c := range phiSeries {
			s, after = (c-square*after)+twice*s, s
		}
		f2 := complex(0.5+x*s-square*after, y*s)
		f = 1 + a*f2
		return f, f - f2
	}
	inverse := complex(x/square, -y/square)
	f = (z - 1) * inverse
	return f, (z - f) * inverse
}

// phiSeries holds 1/(k+2)! for 13 ≥ k ≥ 1. For |a| ≤ ½ the first omitted term is below 2⁻⁵⁷.
var phiSeries = func() (c [13]float64) {
	factorial := 2.0
	for k := range c {
		factorial *= float64(k + 3)
		c[len(c)-1-k] = 1 / factorial
	}
	return c
}()
