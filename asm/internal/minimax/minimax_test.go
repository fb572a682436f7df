package minimax

import (
	"math"
	"math/big"
	"testing"
)

// Chebyshev's polynomial: the best line for x³ on [−1, 1] is ¾x, with an error of ¼.
func TestFit(t *testing.T) {
	cube := func(x *big.Float) *big.Float { return mul(x, mul(x, x)) }
	c, largest := Fit(cube, func(*big.Float) *big.Float { return number(1) }, -1, 1, 2)
	for k, want := range []float64{0, 0.75, 0} {
		if math.Abs(c[k]-want) > 1e-12 {
			t.Errorf("coefficient %d of x³: %v, expected %v", k, c[k], want)
		}
	}
	if math.Abs(largest-0.25) > 1e-12 {
		t.Errorf("error %v, expected 0.25", largest)
	}
}

// The functions agree with package math to float64's precision, at both ends and inside.
func TestFunctions(t *testing.T) {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) * math.Exp(x*x/2) }
	for _, test := range []struct {
		name string
		got  func(x float64) float64
		want func(x float64) float64
		at   []float64
	}{
		{"Exp2", value(Exp2), math.Exp2, []float64{-0.5, 0, 0.3, 0.5}},
		{"Growth", func(x float64) float64 { return value(Growth)(x)*x*x + x }, math.Expm1, []float64{-0.34, 0, 0.2, 0.34}},
		{"Sine", func(x float64) float64 { return x + x*x*x*value(Sine)(x*x) }, math.Sin, []float64{0, 0.1, 0.5, 0.78}},
		{"Cosine", func(x float64) float64 { return 1 - x*x/2 + x*x*x*x*value(Cosine)(x*x) }, math.Cos, []float64{0, 0.1, 0.5, 0.78}},
		{"NormalTail", value(NormalTail), tail, []float64{0, 0.25, 1, 4, 5, 6.5}},
		{"NormalTailRest", value(NormalTailRest(2.5)), func(x float64) float64 { return (1/tail(x)-1)/x - 2.5 }, []float64{0.25, 1, 4}},
	} {
		for _, x := range test.at {
			if got, want := test.got(x), test.want(x); math.Abs(got-want) > 4e-15*math.Abs(want) {
				t.Errorf("%s at %v: %v, expected %v", test.name, x, got, want)
			}
		}
	}
}

func value(f Function) func(x float64) float64 {
	return func(x float64) float64 { return float(f(number(x))) }
}
