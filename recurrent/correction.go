package recurrent

import (
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// correction corrects a state [re, im][modes] for the rounding of the poles to float32: h ← (1 +
// δ)h at the end of a block, where δ = (λ̄/fl(λ̄))^block − 1 is what the rounding of λ̄ loses
// (docs/maths.md §6). Without it the phase of an undamped pole of S4D drifts by up to 6e-8 radians
// per sample, which after 16,384 samples is an error of 2e-4 of the output. The output of an LRU
// with |λ̄| ≥ 0.999 is then wrong by 1.6e-4.
//
// A part of δ may be smaller than the rounding of h, 6e-8. It would be lost in a sum, and the phase
// would drift by up to 1e-9 radians per sample. Therefore two larger steps with the same product
// are taken, 1 + δ = (1 + δ₁)(1 + δ₂), whose rounding errors average out. δ₁ is that of all modes.
// The elements are the conjugates of δ₂, [re, im][modes].
type correction []float32

func newCorrection(modes int) correction { return make(correction, 2*modes) }

// correctionStep is each part of δ₁: 256 times the rounding of a state.
const correctionStep = 0x1p-16

// firstStep holds the conjugates of δ₁ for the modes that correct takes at a time, [re, im][modes].
var firstStep = slices.Concat(slices.Repeat([]float32{correctionStep}, 512), slices.Repeat([]float32{-correctionStep}, 512))

// setPole stores the correction of mode n of channel h, of so many modes per channel, and returns
// its pole λ̄, rounded to float32. The state advances by the pole so many times in a block.
func (d correction) setPole(h, n, modes int, lambda complex128, steps int) complex128 {
	const lanes = vek.GroupChannels
	re, im := ssm.RoundPole(lambda, steps)
	rounded := complex(float64(re), float64(im))
	d.setError((h/lanes*modes+n)*lanes+h%lanes, ssm.PoleDrift(lambda, rounded, steps))
	return rounded
}

// setError stores the correction of mode i, whose pole is wrong by the factor 1 + δ after a block.
func (d correction) setError(i int, delta complex128) {
	second := complex64((1+delta)/(1+complex(correctionStep, correctionStep)) - 1)
	d[i], d[len(d)/2+i] = real(second), -imag(second)
}

func (d correction) correct(state []float32) {
	m := len(d) / 2
	for lo, most := 0, len(firstStep)/2; lo < m; lo += most {
		hi := min(lo+most, m)
		re, im := state[lo:hi], state[m+lo:m+hi]
		vek.CMulConjAdd(re, im, firstStep[:hi-lo], firstStep[most:][:hi-lo], re, im)
		vek.CMulConjAdd(re, im, d[lo:hi], d[m+lo:m+hi], re, im)
	}
}

func (d correction) stateLen() int { return len(d) }
