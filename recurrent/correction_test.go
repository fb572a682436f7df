package recurrent

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// A correction far below the rounding of a state has its full effect, on average over states. Added
// to a state at once, it would be lost.
func TestSmallCorrection(t *testing.T) {
	const modes, times = 1024, 1024
	for _, delta := range []complex128{1e-8 + 1e-8i, 1e-9 - 3e-8i, -1.2e-7 + 4e-7i, 0} {
		d, state, start := newCorrection(modes), make([]float32, 2*modes), make([]complex128, modes)
		for i := range modes {
			d.setError(i, delta)
		}
		r, mean := rand.New(rand.NewPCG(1, 2)), complex128(0)
		for range times {
			for i := range modes {
				state[i], state[modes+i] = float32(r.NormFloat64()), float32(r.NormFloat64())
				start[i] = complex(float64(state[i]), float64(state[modes+i]))
			}
			d.correct(state)
			for i, h := range start {
				mean += (complex(float64(state[i]), float64(state[modes+i])) - h) / h / (modes * times)
			}
		}
		// Two steps round each part of h up to twice: a standard deviation of at most
		// √(8/3)·2⁻²⁴, and of the mean 1024 times less. The bound is four of them.
		const bound = 4 * 1.64 * 0x1p-24 / 1024
		if e := cmplx.Abs(mean - delta); !(e <= bound) {
			t.Errorf("δ = %v: the mean effect is %v, off by %.2g, expected at most %.2g", delta, mean, e, bound)
		}
	}
}
