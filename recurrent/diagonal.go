package recurrent

import (
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// diagonal is the recurrence of S4D. B̄ is folded into C, W = C·B̄, which a diagonal system with one
// input allows: h ← λ̄h + x, y = 2·Re Σ W h + D x (docs/maths.md §2.5). The state is h, [re,
// im][H][M].
type diagonal struct {
	ssm                        vek.SSM   // λ̄ rounded to float32, W and D
	correctionRe, correctionIm []float32 // [H][M] phase correction at the end of a block
}

// newDiagonal rounds the poles to float32 and stores the phase correction for what the rounding
// lost.
func newDiagonal(d *ssm.Discrete) *diagonal {
	floats := func() []float32 { return make([]float32, d.H*d.M) }
	l := &diagonal{
		ssm:          vek.SSM{LambdaRe: floats(), LambdaIm: floats(), CRe: floats(), CIm: floats(), D: make([]float32, d.H)},
		correctionRe: floats(), correctionIm: floats(),
	}
	for h, x := range d.D {
		l.ssm.D[h] = float32(x)
	}
	for n, logLambda := range d.LogLambda {
		l.ssm.CRe[n], l.ssm.CIm[n] = float32(real(d.W[n])), float32(imag(d.W[n]))
		exact := cmplx.Exp(logLambda)
		re, im := ssm.RoundPole(exact)
		l.ssm.LambdaRe[n], l.ssm.LambdaIm[n] = re, im
		l.correctionRe[n], l.correctionIm[n] = phaseCorrection(exact, complex(float64(re), float64(im)))
	}
	return l
}

func (l *diagonal) run(y, x vek.Matrix, states [][]float32, t int, scratch []float32) {
	if t == 1 {
		vek.SSMStep(y, x, states, &l.ssm, scratch)
		return
	}
	for i, state := range states {
		re, im := state[:len(state)/2], state[len(state)/2:]
		vek.SSMBlock(y.Columns(i*t, (i+1)*t), x.Columns(i*t, (i+1)*t), re, im, &l.ssm, scratch)
	}
}

func (l *diagonal) stateLen() int { return 2 * len(l.ssm.LambdaRe) }

func (l *diagonal) scratchLen() int { return vek.SSMScratch }

// phaseCorrection returns the conjugate of δ = (λ̄/fl(λ̄))^block − 1, the error that rounding λ̄
// causes in a block.
func phaseCorrection(exact, rounded complex128) (re, im float32) {
	d := ssm.PoleDrift(exact, rounded)
	return float32(real(d)), -float32(imag(d))
}

// correct applies h ← h + δh to a layer's state [re, im][H][M] at the end of a block. Without
// it the phase of an undamped pole drifts by up to 6e-8 radians per sample, which after 16,384
// samples is an error of 2e-4 of the output.
func (l *diagonal) correct(state []float32) {
	re, im := state[:len(state)/2], state[len(state)/2:]
	vek.CMulConjAdd(re, im, l.correctionRe, l.correctionIm, re, im)
}
