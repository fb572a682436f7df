package vek_test

import "math"

// epsilon is half a unit in the last place of 1: the relative error of one rounding to float32.
const epsilon = 0x1p-24

// ulp returns the distance between the float32 numbers around |x|: 2⁻¹⁴⁹ below 2⁻¹²⁶, and 2¹⁰⁴
// beyond the largest number.
func ulp(x float64) float64 {
	_, e := math.Frexp(max(math.Abs(clip(x)), 0x1p-126)) // |x| in [2^(e−1), 2^e)
	return math.Ldexp(1, min(e, 128)-24)
}

// ulps returns |got − want| in units of ulp(scale). An infinity counts as ±2¹²⁸, so an overflow by
// rounding is correct. NaN equals only NaN.
func ulps(got float32, want, scale float64) float64 {
	g := float64(got)
	switch {
	case math.IsNaN(g) && math.IsNaN(want), g == want:
		return 0
	case math.IsNaN(g), math.IsNaN(want):
		return math.Inf(1)
	}
	return math.Abs(clip(g)-clip(want)) / ulp(scale)
}

func clip(x float64) float64 { return min(max(x, -0x1p128), 0x1p128) }

// maxLanes is the widest vector of any level, in floats.
const maxLanes = 16

// sizes returns the lengths with which every kernel is tested: 0 … 4·lanes+1, and large ones on
// both sides of powers of two.
func sizes() []int {
	var sizes []int
	for n := range 4*maxLanes + 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, 127, 128, 511, 512, 513, 1000, largestSize)
}

// largestSize is the last of sizes.
const largestSize = 4099
