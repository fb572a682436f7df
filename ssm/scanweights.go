package ssm

import (
	"math"
	"math/cmplx"
)

// CorrectionBlock is the number of samples after which the rounding of poles to float32 is
// corrected in the state (docs/maths.md §6). It is a power of two.
const CorrectionBlock = 64

// ScanWeights are the constants of a Scan in float32, for matrix products with real and imaginary
// parts stacked (docs/maths.md §19.2).
type ScanWeights struct {
	Lambda []float32 // [2P] fl(λ̄): real parts, then imaginary parts

	// [2P] δ = (λ̄/fl(λ̄))^CorrectionBlock − 1, and its conjugate: h ← h + δh at the end of a
	// block.
	Correction, Conjugate []float32

	B []float32   // [2P][H] Re B̄, then Im B̄
	C [][]float32 // [directions][H][2P] κ·Re C, then −κ·Im C
	D []float32   // [H]
}

// NewScanWeights allocates the constants of a layer.
func NewScanWeights(cfg Config) *ScanWeights {
	p, h := cfg.Modes(), cfg.DModel
	floats := func(n int) []float32 { return make([]float32, n) }
	w := &ScanWeights{Lambda: floats(2 * p), Correction: floats(2 * p), Conjugate: floats(2 * p), B: floats(2 * p * h), D: floats(h)}
	for range cfg.Directions() {
		w.C = append(w.C, floats(2*p*h))
	}
	return w
}

// Fill computes the constants of modes [lo, hi) from the parameters and their discretisation. The
// first mode also sets D. Disjoint ranges may run concurrently.
func (w *ScanWeights) Fill(p *Params, s *Scan, lo, hi int) {
	modes, h := len(s.Lambda), p.DModel
	put := func(x []float32, n int, v complex128) {
		x[n], x[modes+n] = float32(real(v)), float32(imag(v))
	}
	for n := lo; n < hi; n++ {
		re, im := RoundPole(s.Lambda[n], CorrectionBlock)
		w.Lambda[n], w.Lambda[modes+n] = re, im
		delta := PoleDrift(s.Lambda[n], complex(float64(re), float64(im)), CorrectionBlock)
		put(w.Correction, n, delta)
		put(w.Conjugate, n, cmplx.Conj(delta))
		for c := range h {
			b := s.BBar[n*h+c]
			w.B[n*h+c], w.B[(modes+n)*h+c] = float32(real(b)), float32(imag(b))
		}
		for dir, rows := range w.C {
			for c := range h {
				put(rows[2*modes*c:], n, complex(s.Factor, 0)*cmplx.Conj(p.C[(dir*h+c)*modes+n]))
			}
		}
	}
	if lo == 0 {
		for c, d := range p.D {
			w.D[c] = float32(d)
		}
	}
}

// RoundPole returns λ̄ in float32, as recurrences use it. A part below 2⁻²³ of the other becomes 0:
// in a float32 addition its product would vanish, always to the same side. For example exp(iπ/2)
// becomes i, and the correction makes up for the difference. If λ̄ is a power of a pole, so that a
// state takes fewer steps in a block, the errors of the pole's angle are larger, and so is the
// limit, by the square of the ratio.
//
// Products with 1 − k·2⁻²⁴ are rounded with a mean error of up to 2⁻²⁴/(2k). With one part 0 and
// the other of this size, the gain of the pole would be wrong by up to 1/(4k²). For k < 50
// RoundPole therefore rounds the part to ±1, and the correction at the end of each block makes up
// for it.
func RoundPole(lambda complex128, steps int) (re, im float32) {
	const near = 50 * 0x1p-24
	power := float64(CorrectionBlock / steps)
	lost := 0x1p-23 * power * power
	re, im = float32(real(lambda)), float32(imag(lambda))
	if math.Abs(real(lambda)) < lost*math.Abs(imag(lambda)) {
		re = 0
	}
	if math.Abs(imag(lambda)) < lost*math.Abs(real(lambda)) {
		im = 0
	}
	if distance := 1 - math.Abs(float64(re+im)); (re == 0 || im == 0) && math.Abs(distance) < near {
		re, im = float32(math.Round(float64(re))), float32(math.Round(float64(im)))
	}
	return re, im
}

// PoleDrift returns (λ̄/fl(λ̄))^steps − 1, the error that rounding λ̄ causes in so many steps, a power
// of 2.
func PoleDrift(exact, rounded complex128, steps int) complex128 {
	if cmplx.Abs(rounded) < 1e-20 {
		return 0 // such a state is forgotten within a block
	}
	d := (exact - rounded) / rounded
	for n := 1; n < steps; n *= 2 { // (1 + d)² − 1 = d(2 + d), without cancellation
		d *= 2 + d
	}
	return d
}
