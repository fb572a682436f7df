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

// The polynomials that have the smallest largest error (docs/maths.md §9.4).
const (
	exp2C0 = 1.0000000005541665
	exp2C1 = 0.6931472057372681
	exp2C2 = 0.2402264689063409
	exp2C3 = 0.055503287769647254
	exp2C4 = 0.009618488957115071
	exp2C5 = 0.001339993121934089
	exp2C6 = 0.00015345812002903349

	sinC0 = -0.16666654943701084
	sinC1 = 0.008332178146138913
	sinC2 = -0.00019517298981393898

	cosC0 = 0.04166664686644268
	cosC1 = -0.0013887367515736237
	cosC2 = 2.4438451593076314e-05
)

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
	GroupChannels = 16 // channels that RankOne and LookAhead advance together
	RankOneTerms  = 10 // parameters of a mode: the real and imaginary parts of e, p, u, b and c

	AheadSamples = 8 // samples by which LookAhead advances a state at a time
	AheadTerms   = 8 // parameters of a mode, see LookAhead
)

// The rows of a mode's terms in RankOne: each is that of a real part, before that of the imaginary
// part.
const (
	termE, termP, termU, termB, termC = 0, 2, 4, 6, 8
)

// The stage over the lanes of a transform.
const (
	FFTGroup     = 4  // vectors that it processes together
	FFTLaneTable = 48 // floats of its table per vector
)

// aheadRow is the number of steps of a product in which it prefetches one row (see Weights).
const aheadRow = 64

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
