package recurrent

import (
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// diagonal is the recurrence of S4D. B̄ is folded into C, W = C·B̄, which a diagonal system with one
// input allows: h ← λ̄h + x, y = 2·Re Σ W h + D x (docs/maths.md §6). The state is h, [re,
// im][H][M].
type diagonal struct {
	correction
	ssm vek.SSM // λ̄ rounded to float32, W and D
}

// newDiagonal rounds the constants to float32.
func newDiagonal(d *ssm.Discrete) *diagonal {
	floats := func() []float32 { return make([]float32, d.H*d.M) }
	l := &diagonal{
		correction: newCorrection(d.H * d.M),
		ssm:        vek.SSM{LambdaRe: floats(), LambdaIm: floats(), CRe: floats(), CIm: floats(), D: make([]float32, d.H)},
	}
	for h, x := range d.D {
		l.ssm.D[h] = float32(x)
	}
	for n, logLambda := range d.LogLambda {
		l.ssm.CRe[n], l.ssm.CIm[n] = float32(real(d.W[n])), float32(imag(d.W[n]))
		l.ssm.LambdaRe[n], l.ssm.LambdaIm[n] = l.setPole(n, cmplx.Exp(logLambda))
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

func (l *diagonal) scratchLen() int { return vek.SSMScratch }
