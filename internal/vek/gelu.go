package vek

import "math"

// GELU sets dst = x·Φ(x), where Φ is the standard normal distribution function (the exact form,
// without tanh; Hendrycks and Gimpel, arXiv 1606.08415). The error is below 4.2 ulp of the result.
// The largest error for |x| ≥ 0.001 is 4.14 ulp with vectors of float32 (at x = −3.0124362) and
// 0.54 ulp in plain Go. Results for x ≤ −13.14 are 0, and none is denormal. dst may be x.
func GELU(dst, x []float32) {
	sameLen("GELU", len(dst), x)
	gelu(dst, x)
}

// The coefficients of P and Q (docs/maths.md §9.4).
const (
	tailP0 = -223.85116613050198
	tailP1 = -166.44623488616816
	tailP2 = -59.57873051625617
	tailP3 = -11.39142725462274
	tailP4 = -1.0000176178182854

	tailQ0 = 491.51651927156934
	tailQ1 = 512.9162058842104
	tailQ2 = 258.8085438012109
	tailQ3 = 75.40311853600919
	tailQ4 = 12.645731424333706
)

// tailRatio returns R(a) = 2·(1 − Φ(a))·exp(a²/2) as Q/(Q + a·(√(π/2)·Q + P)), where P and Q are
// polynomials. For 0 ≤ a ≤ 13.25 the relative error is below 2.1e-10.
func tailRatio(a float64) float64 {
	s := a * a
	p := (tailP0 + float64(tailP1*a)) + float64(s*((tailP2+float64(tailP3*a))+float64(tailP4*s)))
	q := (tailQ0 + float64(tailQ1*a)) + float64(s*((tailQ2+float64(tailQ3*a))+float64(s*(tailQ4+a))))
	return q / (q + float64(a*(float64(sqrtHalfPi*q)+p)))
}

// With a = |x| and Q = 1 − Φ(a), x·Φ(x) = max(x, 0) − a·Q on both sides of 0. There is no branch on
// the sign, which would be mispredicted.
func geluGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		if !(v > -geluMax && v < geluMax) {
			dst[i] = max(v, 0) // NaN, too
			continue
		}
		a := math.Abs(float64(v))
		n, f := exp2Split(float64(a * a * (-0.5 * log2e)))
		q := exp2Join(n, exp2Poly(f)) * tailRatio(a) // 2·Q
		dst[i] = float32(0.5 * (float64(v) + a - float64(a*q)))
	}
}

// GELUSlope sets y = x·Φ(x), with the bits of GELU, and slope to its derivative Φ(x) + x·φ(x),
// where φ is the normal density. The slope for x ≤ −13.14 is 0. Its error is below 4 ulp of Φ(x) +
// |x|·φ(x). y or slope may be x.
func GELUSlope(y, slope, x []float32) {
	sameLen("GELUSlope", len(y), slope, x)
	geluSlope(y, slope, x)
}

// With w = a·φ(a) − Q the slope is 1 + w for x ≥ 0 and −w for x < 0.
func geluSlopeGeneric(y, slope, x []float32) {
	y, slope = y[:len(x)], slope[:len(x)]
	for i, v := range x {
		if !(v > -geluMax && v < geluMax) {
			y[i], slope[i] = max(v, 0), sigmoidBeyond(v)
			continue
		}
		a := math.Abs(float64(v))
		n, f := exp2Split(float64(a * a * (-0.5 * log2e)))
		e, r := exp2Join(n, exp2Poly(f)), tailRatio(a)
		one := math.Copysign(1, float64(v))
		y[i] = float32(0.5 * (float64(v) + a - float64(a*e*r)))
		slope[i] = float32(0.5 * (1 + one + float64(one*e*(float64(1/sqrtHalfPi*a)-r))))
	}
}
