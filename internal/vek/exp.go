package vek

import "math"

// exp(x) = 2ⁿ·2ᶠ with n + f = x/ln 2 and |f| ≤ 1/2. Scalar code is as fast in float64, where the
// rounding of n + f does not matter. The steps are small enough to be inlined into the loops:
//
//	n, f := exp2Split(float64(x * log2e))
//	e := exp2Join(n, exp2Poly(f))
const (
	log2e = 1.44269504088896340735992468100189214
	magic = 3 << 51 // x + magic rounds x to an integer, |x| < 2⁵¹
)

// exp2Split returns n + magic and f.
func exp2Split(x float64) (n, f float64) {
	n = x + magic
	return n, x - (n - magic)
}

// exp2Poly returns 2ᶠ with the least maximal relative error of a polynomial of its degree, 1.9e-9.
// It evaluates pairs of terms, which shortens the chain of dependent products.
func exp2Poly(f float64) float64 {
	s := f * f
	high := (exp2C4 + float64(exp2C5*f)) + float64(exp2C6*s)
	return (exp2C0 + float64(exp2C1*f)) + float64(s*((exp2C2+float64(exp2C3*f))+float64(s*high)))
}

// exp2Join returns 2ⁿ·p. The low bits of n + magic are n, which is added to p's exponent.
func exp2Join(n, p float64) float64 {
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(n)<<52)
}

func expBeyond(x float32) float32 {
	switch {
	case x > expMax:
		return float32(math.Inf(1))
	case x < expMin:
		return 0
	}
	return x
}

// sigmoidBeyond returns σ(x) where exp(−|x|) is 0 in float32.
func sigmoidBeyond(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return 0
	}
	return x
}
