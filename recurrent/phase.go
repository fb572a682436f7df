package recurrent

import (
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// round returns λ̄ in float32, as the recurrence uses it. A part below 2⁻²³ of the other becomes 0:
// in a float32 addition its product would vanish, always to the same side. For example
// exp(iπ/2) becomes i, and phaseCorrection makes up for the difference.
func round(lambda complex128) (re, im float32) {
	const lost = 0x1p-23
	re, im = float32(real(lambda)), float32(imag(lambda))
	if math.Abs(real(lambda)) < lost*math.Abs(imag(lambda)) {
		re = 0
	}
	if math.Abs(imag(lambda)) < lost*math.Abs(real(lambda)) {
		im = 0
	}
	return re, im
}

// phaseCorrection returns the conjugate of δ = (λ̄/fl(λ̄))^block − 1, the error that rounding λ̄
// causes in a block. The ratio is within 2⁻²² of 1, so that δ to first order is exact enough.
func phaseCorrection(exact, rounded complex128) (re, im float32) {
	if cmplx.Abs(rounded) < 1e-20 {
		return 0, 0 // such a state is forgotten within a block
	}
	d := block * (exact - rounded) / rounded
	return float32(real(d)), -float32(imag(d))
}

// correctPhase applies h ← h + δh to a layer's state [re, im][H][M] at the end of a block. Without
// it the phase of an undamped pole drifts by up to 6e-8 radians per sample, which after 16,384
// samples is an error of 2e-4 of the output.
func (l *layer) correctPhase(state []float32) {
	re, im := state[:len(state)/2], state[len(state)/2:]
	vek.CMulConjAdd(re, im, l.correctionRe, l.correctionIm, re, im)
}
