package recurrent

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// drift corrects a state [re, im][modes] for the rounding of the poles to float32: h ← (1 + δ)h at
// the end of a block, where δ = (λ̄/fl(λ̄))^block − 1 is what the rounding of λ̄ loses
// (docs/maths.md §6). Without it the phase of an undamped pole of S4D drifts by up to 6e-8 radians
// per sample, which after 16,384 samples is an error of 2e-4 of the output. The output of an LRU
// with |λ̄| ≥ 0.999 is then wrong by 1.6e-4.
//
// A part of δ may be smaller than the rounding of h, 6e-8. It would be lost in a sum, and the phase
// would drift by up to 1e-9 radians per sample. Therefore two larger steps with the same product
// are taken, 1 + δ = (1 + δ₁)(1 + δ₂), whose rounding errors average out. The elements are the
// conjugates of δ₁ and δ₂, [2][re, im][modes].
type drift []float32

func newDrift(modes int) drift { return make(drift, 4*modes) }

// driftStep is the size of each part of δ₁ − δ: 256 times the rounding of a state.
const driftStep = 0x1p-16

// set stores the correction of mode i and returns its pole λ̄, rounded.
func (d drift) set(i int, lambda complex128) (re, im float32) {
	re, im = ssm.RoundPole(lambda)
	d.split(i, ssm.PoleDrift(lambda, complex(float64(re), float64(im))))
	return re, im
}

// split stores the two steps of mode i.
func (d drift) split(i int, delta complex128) {
	m := len(d) / 4
	first := complex64(delta + complex(driftStep, driftStep))
	second := complex64((1+delta)/(1+complex128(first)) - 1)
	d[i], d[m+i] = real(first), -imag(first)
	d[2*m+i], d[3*m+i] = real(second), -imag(second)
}

func (d drift) correct(state []float32) {
	m := len(d) / 4
	re, im := state[:m], state[m:]
	vek.CMulConjAdd(re, im, d[:m], d[m:2*m], re, im)
	vek.CMulConjAdd(re, im, d[2*m:3*m], d[3*m:], re, im)
}

func (d drift) stateLen() int { return len(d) / 2 }
