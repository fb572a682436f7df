package vek

import "math"

// GELU sets dst = x·Φ(x), where Φ is the standard normal distribution function (the exact form,
// without tanh; Hendrycks and Gimpel, arXiv 1606.08415). The error is below 4.3 ulp of the
// result: the largest of all x with |x| ≥ 0.001 is 4.24 ulp with vectors of float32 (x = −7.599044)
// and 0.61 ulp in plain Go. Results for x ≤ −13 are 0. dst may be x.
func GELU(dst, x []float32) {
	sameLen("GELU", len(dst), x)
	gelu(dst, x)
}

// GELUGrad sets dx = dy·(Φ(x) + x·φ(x)), where φ is the normal density. The slope for x ≤ −13 is 0.
// The error is below 4 ulp of dy·(Φ(x) + |x|·φ(x)). dx may be x or dy.
func GELUGrad(dx, x, dy []float32) {
	sameLen("GELUGrad", len(dx), x, dy)
	geluGrad(dx, x, dy)
}

// geluMax is the limit of |x|, beyond which Φ(−|x|) < 2⁻¹²⁶.
const geluMax = 13

const invSqrt2Pi = 0.398942280401432677939946059934381868

// tailRatio returns R(a) = (1 − Φ(a))·exp(a²/2), 0 ≤ a ≤ 13, with a relative error below 5e-9, by
// the polynomial of one of 16 pieces, four per octave of a + 1. The number of the piece is the last
// two bits of its exponent and the first two of its mantissa: 12 … 15 in [1, 2), and 0 … 11 from 2
// on.
func tailRatio(a float64) float64 {
	p := &tailPieces[(math.Float64bits(a+1)>>50+4)&15]
	d := a - p[0]
	s := d * d
	high := (p[5] + float64(p[6]*d)) + float64(p[7]*s)
	return (p[1] + float64(p[2]*d)) + float64(s*((p[3]+float64(p[4]*d))+float64(s*high)))
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
		q := exp2Join(n, exp2Poly(f)) * tailRatio(a)
		dst[i] = float32(float64(0.5*(float64(v)+a)) - float64(a*q))
	}
}

// dx = dy·(Φ(x) + x·φ(x)), where Φ(x) + x·φ(x) = 1 + w for x ≥ 0 and −w for x < 0, with w = a·φ(a)
// − Q.
func geluGradGeneric(dx, x, dy []float32) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i, v := range x {
		if !(v > -geluMax && v < geluMax) {
			dx[i] = sigmoidBeyond(v) * dy[i]
			continue
		}
		a := math.Abs(float64(v))
		n, f := exp2Split(float64(a * a * (-0.5 * log2e)))
		w := exp2Join(n, exp2Poly(f)) * (float64(invSqrt2Pi*a) - tailRatio(a))
		one := math.Copysign(1, float64(v))
		dx[i] = float32((0.5 + float64(0.5*one) + float64(one*w)) * float64(dy[i]))
	}
}

// GELUSlope sets y = x·Φ(x) and slope to its derivative Φ(x) + x·φ(x) in one pass, with the errors
// of GELU and GELUGrad. y or slope may be x.
func GELUSlope(y, slope, x []float32) {
	sameLen("GELUSlope", len(y), slope, x)
	geluSlope(y, slope, x)
}

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
		y[i] = float32(float64(0.5*(float64(v)+a)) - float64(a*e*r))
		slope[i] = float32(0.5 + float64(0.5*one) + float64(one*e*(float64(invSqrt2Pi*a)-r)))
	}
}
