package recurrent

import (
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// diagonal is the recurrence of S4D. B̄ is folded into C, W = C·B̄, which a diagonal system with one
// input allows: h ← λ̄h + x, y = 2·Re Σ W h + D x (docs/maths.md §6).
type diagonal struct {
	correction
	system vek.LookAhead
}

// newDiagonal rounds the constants, skip is D, to float32.
func newDiagonal(d *ssm.Discrete, skip []float64) *diagonal {
	width := vek.ChannelGroups(d.H) * vek.GroupChannels
	l := &diagonal{correction: newCorrection(d.M * width), system: vek.NewLookAhead(d.H, d.M)}
	for h := range d.H {
		var kernel [vek.AheadSamples]float64
		for n := range d.M {
			i := h*d.M + n
			lambda, w, power := cmplx.Exp(d.LogLambda[i]), 2*d.W[i], complex(1, 0)
			for m := range kernel {
				kernel[m] += real(w * power)
				power *= lambda
			}
			square := l.setPole(h, n, d.M, lambda*lambda, blockSamples/2)
			l.system.SetMode(h, n, lambda, square, w*lambda, w*(lambda*lambda))
		}
		l.system.SetTaps(h, kernel, skip[h])
	}
	return l
}

func (l *diagonal) run(y, x vek.Matrix, states [][]float32, positions []int64, t int, scratch []float32) {
	l.system.Run(y, x, states, positions, scratch)
}

func (l *diagonal) stateLen() int { return l.system.StateLen() }

func (l *diagonal) scratchLen() int { return l.system.ScratchLen(blockSamples) }
