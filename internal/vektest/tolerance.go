package vektest

import "math"

// Epsilon is half a unit in the last place of 1: the relative error of one rounding to float32.
const Epsilon = 0x1p-24

// ULP returns the distance between the float32 numbers around |x|: 2⁻¹⁴⁹ below 2⁻¹²⁶, and 2¹⁰⁴
// beyond the largest number.
func ULP(x float64) float64 {
	_, e := math.Frexp(max(math.Abs(clip(x)), 0x1p-126)) // |x| in [2^(e−1), 2^e)
	return math.Ldexp(1, min(e, 128)-24)
}

// ULPs returns |got − want| in units of ULP(scale). An infinity counts as ±2¹²⁸, so an overflow by
// rounding is correct. NaN equals only NaN.
func ULPs(got float32, want, scale float64) float64 {
	g := float64(got)
	switch {
	case math.IsNaN(g) && math.IsNaN(want), g == want:
		return 0
	case math.IsNaN(g), math.IsNaN(want):
		return math.Inf(1)
	}
	return math.Abs(clip(g)-clip(want)) / ULP(scale)
}

func clip(x float64) float64 { return min(max(x, -0x1p128), 0x1p128) }
