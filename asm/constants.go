package asm

// The constants that the generators (package asm) and internal/vek have in common.

// The argument of a function is within these bounds where it is computed. Beyond, the result is a
// limit.
const (
	expMax = 88.72283  // exp(x) overflows for larger x
	expMin = -87.33654 // exp(x) < 2⁻¹²⁶ for smaller x

	geluMax     = 13.14  // a·Φ(−a) is treated as 0 from here on; it falls below 2⁻¹²⁶ near 13.146
	geluTanhMin = -10.06 // x·σ(w) > −2⁻¹²³ for smaller x
	geluTanhMax = 10     // 1 − σ(w) < 2⁻¹²⁵ for larger x
)

const sqrtHalfPi = 1.25331413731550025120788264240552263 // √(π/2)

// (1 + tanh z)/2 = σ(2z), so the tanh form of GELU is x·σ(w) with w = x·(tanhA + tanhB·x²).
const (
	tanhA = 1.59576912160573071175978423973752747 // 2√(2/π)
	tanhB = 0.044715 * tanhA
)

// Sizes per mode of the arguments and results of CauchySums and CauchyGrad.
const (
	CauchyPairs = 4 // sums with different weights
	CauchyTerms = 3 + 2*CauchyPairs
	CauchyPoles = 4
	CauchyGrads = 4 * CauchyPairs
)

const (
	RankOneLanes = 16 // channels that RankOne advances together
	RankOneTerms = 10 // parameters of a mode: the real and imaginary parts of e, p, u, b and c
)

// What a product of matrices does with the result.
const (
	gemmSet  = iota // c = A·B
	gemmAdd         // c += A·B
	gemmBias        // c = A·B + bias, one value per row
)

// tiling is the largest tile of a matrix product whose sums fit in the registers, next to a row of
// b and elements of a: rows, columns, and the lanes of a vector.
type tiling struct{ tileRows, cols, lanes int }

// tilingOf returns the tiling of the level whose vectors have so many lanes.
func tilingOf(lanes int) tiling {
	switch lanes {
	case 16:
		return tiling{14, 32, lanes}
	case 8:
		return tiling{6, 16, lanes}
	}
	return tiling{8, 12, lanes}
}

// narrowPanels is the number of panels of b that gemmNarrow multiplies at a time, indexed by the
// number of rows of a. With one panel there would be too few sums to hide the latency of the
// products.
var narrowPanels = [...]int{1: 4, 2: 2, 3: 2}

// fmaChains returns the number of independent multiply-adds of FMAPeak: enough for two units with a
// latency of five cycles, and for four units at the level that has four.
func fmaChains(lanes int) int {
	if lanes == 4 {
		return 24
	}
	return 12
}
