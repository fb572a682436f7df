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

// newDiagonal rounds the constants to float32.
func newDiagonal(d *ssm.Discrete) *diagonal {
	const lanes, samples = vek.GroupChannels, vek.AheadSamples
	width := vek.ChannelGroups(d.H) * lanes
	l := &diagonal{
		correction: newCorrection(d.M * width),
		system:     vek.LookAhead{Taps: make([]float32, 2*samples*width), Terms: make([]float32, vek.AheadTerms*d.M*width)},
	}
	for h := range d.H {
		var kernel [samples]float64
		for n := range d.M {
			i, mode := h*d.M+n, h/lanes*d.M+n
			lambda, w := cmplx.Exp(d.LogLambda[i]), 2*d.W[i]
			var powers [samples + 1]complex128
			powers[0] = 1
			for m := range samples {
				kernel[m] += real(w * powers[m])
				powers[m+1] = powers[m] * lambda
			}
			re, im := l.setPole(mode*lanes+h%lanes, powers[2], block/2)
			for j, v := range [vek.AheadTerms / 2]complex128{
				powers[1], complex(float64(re), float64(im)), w * powers[1], w * powers[2],
			} {
				at := (mode*vek.AheadTerms+2*j)*lanes + h%lanes
				l.system.Terms[at], l.system.Terms[at+lanes] = float32(real(v)), float32(imag(v))
			}
		}
		tap := func(row int, v float64) { l.system.Taps[(h/lanes*2*samples+row)*lanes+h%lanes] = float32(v) }
		tap(samples-1, 1)
		tap(2*samples-1, kernel[0]+d.D[h])
		for m := 1; m < samples; m++ {
			tap(samples-1+m, kernel[m])
		}
	}
	return l
}

func (l *diagonal) run(y, x vek.Matrix, states [][]float32, positions []int64, t int, scratch []float32) {
	l.system.Run(y, x, states, positions, scratch)
}

func (l *diagonal) stateLen() int { return l.system.StateLen() }

func (l *diagonal) scratchLen() int { return l.system.ScratchLen(block) }
