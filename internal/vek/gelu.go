package vek

import "math"

// GELU sets dst = x·Φ(x), Φ the standard normal distribution function (the exact form, no tanh). The error is a
// few ulp of the result on the whole line; results of x below −13 are 0. dst may be x.
func GELU(dst, x []float32) {
	sameLen("GELU", len(dst), x)
	geluGeneric(dst, x)
}

// GELUGrad sets dx = dy·(Φ(x) + x·φ(x)), φ the normal density; the slope below −13 counts
// as 0. dx may be x or dy.
func GELUGrad(dx, x, dy []float32) {
	sameLen("GELUGrad", len(dx), x, dy)
	geluGradGeneric(dx, x, dy)
}

// Coefficients of P with 1 − Φ(x) = exp(−x²/2)·t·P(t), t = 1/(1 + 0.3·x), 0 ≤ x ≤ 14, least maximal relative
// error (3.5e-9).
const (
	tail0 = 0.11968663408331962
	tail1 = 0.11957284133711903
	tail2 = 0.11022732304182224
	tail3 = 0.07842558304432765
	tail4 = 0.09605782170859564
	tail5 = -0.07924732959406626
	tail6 = 0.19158168723379154
	tail7 = -0.22806751179663556
	tail8 = 0.11237577894597815
	tail9 = -0.020612829728017798

	invSqrt2Pi = 0.398942280401432677939946059934381868
)

// normalTail returns q = exp(−x²/2) and the upper tail 1 − Φ(x) for x ≥ 0. The square is taken in two parts so
// that its rounding does not reach the exponential.
func normalTail(x float32) (q, tail float32) {
	hi := math.Float32frombits(math.Float32bits(x) &^ 0xFFF) // 12 bits: hi² is exact
	lo := x - hi
	q = expSum(-0.5*hi*hi, -0.5*lo*(x+hi))
	t := 1 / (1 + float32(0.3*x))
	p := float32(float32(float32(float32(tail9*t)+tail8)*t)+tail7)*t + tail6
	p = float32(float32(float32(p*t)+tail5)*t) + tail4
	p = float32(float32(float32(p*t)+tail3)*t) + tail2
	p = float32(float32(float32(p*t)+tail1)*t) + tail0
	return q, q * (t * p)
}

func geluGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		v := x[i]
		switch {
		case v >= 13: // +Inf, too
			dst[i] = v
		case v >= 0:
			_, tail := normalTail(v)
			dst[i] = v - float32(v*tail)
		case v > -13:
			_, tail := normalTail(-v)
			dst[i] = v * tail
		case v == v:
			dst[i] = 0
		default:
			dst[i] = v
		}
	}
}

func geluGradGeneric(dx, x, dy []float32) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i := range dx {
		v, g := x[i], float32(0)
		switch {
		case v >= 0 && v < 13:
			q, tail := normalTail(v)
			g = 1 - tail + float32(v*float32(invSqrt2Pi*q))
		case v >= 13:
			g = 1
		case v > -13:
			q, tail := normalTail(-v)
			g = tail + float32(v*float32(invSqrt2Pi*q))
		case v != v:
			g = v
		}
		dx[i] = g * dy[i]
	}
}
