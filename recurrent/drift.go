package recurrent

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// drift corrects a state [re, im][modes] for the rounding of the poles to float32: h ← h + δh at
// the end of a block, where δ = (λ̄/fl(λ̄))^block − 1 is what the rounding of λ̄ loses (docs/maths.md
// §6). Without it the phase of an undamped pole of S4D drifts by up to 6e-8 radians per sample,
// which after 16,384 samples is an error of 2e-4 of the output. The output of an LRU with |λ̄| ≥
// 0.999 is then wrong by 1.6e-4. The elements are the conjugates of δ, [re, im][modes].
type drift []float32

// set stores the correction of mode i and returns its pole λ̄, rounded.
func (d drift) set(i int, lambda complex128) (re, im float32) {
	re, im = ssm.RoundPole(lambda)
	delta := ssm.PoleDrift(lambda, complex(float64(re), float64(im)))
	d[i], d[len(d)/2+i] = float32(real(delta)), -float32(imag(delta))
	return re, im
}

func (d drift) correct(state []float32) {
	m := len(d) / 2
	vek.CMulConjAdd(state[:m], state[m:], d[:m], d[m:], state[:m], state[m:])
}

func (d drift) stateLen() int { return len(d) }
