package vek

import "math"

// GELU sets dst = x·Φ(x), Φ the standard normal distribution function (the exact form, no tanh). The error is below
// 4 ulp of the result on the whole line; results of x ≤ −13 are 0. dst may be x.
func GELU(dst, x []float32) {
	sameLen("GELU", len(dst), x)
	gelu(dst, x)
}

// GELUGrad sets dx = dy·(Φ(x) + x·φ(x)), φ the normal density; the slope at x ≤ −13 counts as 0.
// The error is below 4 ulp of dy·(Φ(x) + |x|·φ(x)). dx may be x or dy.
func GELUGrad(dx, x, dy []float32) {
	sameLen("GELUGrad", len(dx), x, dy)
	geluGrad(dx, x, dy)
}

// geluMax is where the line ends: beyond, Φ(−|x|) is below 2⁻¹²⁶.
const geluMax = 13

// 1 − Φ(a) = exp(−a²/2)·N(a)/D(a), 0 ≤ a ≤ 13, with the least maximal relative error of a quotient of these degrees
// (4.7e-9). No term is negative, so nothing cancels.
const (
	num0 = 0.500000002400415548
	num1 = 0.43502181468525336
	num2 = 0.18081806101038879
	num3 = 0.0398203422813140619
	num4 = 0.00399608961983956801

	den1 = 1.66792853396775382
	den2 = 1.19244656386253164
	den3 = 0.463090749310740258
	den4 = 0.0998224328021963174
	den5 = 0.010016561414298438

	invSqrt2Pi = 0.398942280401432677939946059934381868
)

func tailNum(a float64) float64 {
	return num0 + float64(a*(num1+float64(a*(num2+float64(a*(num3+float64(a*num4)))))))
}

func tailDen(a float64) float64 {
	return 1 + float64(a*(den1+float64(a*(den2+float64(a*(den3+float64(a*(den4+float64(a*den5)))))))))
}

// With a = |x| and Q = 1 − Φ(a), x·Φ(x) = max(x, 0) − a·Q on both sides of 0. Signs are as good as random, so there is
// no branch on them.
func geluGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		if !(v > -geluMax && v < geluMax) {
			dst[i] = max(v, 0) // NaN, too
			continue
		}
		a := math.Abs(float64(v))
		n, f := exp2Split(float64(a * a * (-0.5 * log2e)))
		q := exp2Join(n, exp2Poly(f)) * tailNum(a) / tailDen(a)
		dst[i] = float32(float64(0.5*(float64(v)+a)) - float64(a*q))
	}
}

// Φ(x) + x·φ(x) is 1 + w for x ≥ 0 and −w for x < 0, with w = a·φ(a) − Q.
func geluGradGeneric(dx, x, dy []float32) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i, v := range x {
		if !(v > -geluMax && v < geluMax) {
			dx[i] = sigmoidBeyond(v) * dy[i]
			continue
		}
		a := math.Abs(float64(v))
		n, f := exp2Split(float64(a * a * (-0.5 * log2e)))
		w := exp2Join(n, exp2Poly(f)) * (float64(invSqrt2Pi*a) - tailNum(a)/tailDen(a))
		one := math.Copysign(1, float64(v))
		dx[i] = float32((0.5 + float64(0.5*one) + float64(one*w)) * float64(dy[i]))
	}
}

// GELUSlope sets y = x·Φ(x) and slope to its derivative, Φ(x) + x·φ(x), in one pass; both with the errors of GELU and
// GELUGrad. y or slope may be x.
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
		e, r := exp2Join(n, exp2Poly(f)), tailNum(a)/tailDen(a)
		one := math.Copysign(1, float64(v))
		y[i] = float32(float64(0.5*(float64(v)+a)) - float64(a*e*r))
		slope[i] = float32(0.5 + float64(0.5*one) + float64(one*e*(float64(invSqrt2Pi*a)-r)))
	}
}
