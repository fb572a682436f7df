package minimax

import "math/big"

// precision of all numbers in bits. NormalTail cancels 162 of them at 15.
const precision = 320

func newFloat() *big.Float           { return new(big.Float).SetPrec(precision) }
func number(x float64) *big.Float    { return newFloat().SetFloat64(x) }
func float(x *big.Float) float64     { v, _ := x.Float64(); return v }
func add(a, b *big.Float) *big.Float { return newFloat().Add(a, b) }
func sub(a, b *big.Float) *big.Float { return newFloat().Sub(a, b) }
func mul(a, b *big.Float) *big.Float { return newFloat().Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return newFloat().Quo(a, b) }

// series returns Σ t_k with t_0 = first and t_{k+1} = t_k·x/divisor(k+1).
func series(first, x *big.Float, divisor func(k int) int) *big.Float {
	sum, term := first, first
	for k := 1; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-precision; k++ {
		term = quo(mul(term, x), number(float64(divisor(k))))
		sum = add(sum, term)
	}
	return sum
}

// Identity returns x, and Square x².
func Identity(x *big.Float) *big.Float { return x }
func Square(x *big.Float) *big.Float   { return mul(x, x) }

// Inverse returns 1/f, the weight of a relative error.
func Inverse(f Function) Function {
	return func(x *big.Float) *big.Float { return quo(number(1), f(x)) }
}

// TimesX returns x·f(x).
func TimesX(f Function) Function {
	return func(x *big.Float) *big.Float { return mul(x, f(x)) }
}

// Exp returns eˣ.
func Exp(x *big.Float) *big.Float {
	return series(number(1), x, func(k int) int { return k })
}

var ln2 = func() *big.Float { // Σ 1/(k·2ᵏ)
	sum := number(0)
	for k := 1; k < precision; k++ {
		sum = add(sum, quo(number(1), newFloat().SetMantExp(number(float64(k)), k)))
	}
	return sum
}()

// Exp2 returns 2ˣ.
func Exp2(x *big.Float) *big.Float { return Exp(mul(x, ln2)) }

// Growth returns (eˣ − 1 − x)/x².
func Growth(x *big.Float) *big.Float {
	return series(number(0.5), x, func(k int) int { return k + 2 })
}

// Sine returns (sin θ/θ − 1)/θ² at θ² = s.
func Sine(s *big.Float) *big.Float {
	return series(quo(number(-1), number(6)), sub(number(0), s), func(k int) int { return (2*k + 2) * (2*k + 3) })
}

// Cosine returns (cos θ − 1 + θ²/2)/θ⁴ at θ² = s.
func Cosine(s *big.Float) *big.Float {
	return series(quo(number(1), number(24)), sub(number(0), s), func(k int) int { return (2*k + 3) * (2*k + 4) })
}

// sqrt2Pi is √(2π), by Machin's formula π/4 = 4·atan 1/5 − atan 1/239.
var sqrt2Pi = func() *big.Float {
	atan := func(n float64) *big.Float { // atan 1/n = Σ (−1)ᵏ/((2k+1)·n^{2k+1})
		sum, power := number(0), quo(number(1), number(n))
		for k := 0; k < precision; k++ {
			sum = add(sum, quo(power, number(float64(2*k+1))))
			power = quo(power, number(-n*n))
		}
		return sum
	}
	return newFloat().Sqrt(mul(number(8), sub(mul(number(4), atan(5)), atan(239))))
}()

// NormalTail returns R(a) = 2·(1 − Φ(a))·exp(a²/2), where Φ is the standard normal distribution
// function. It computes R(a) as exp(a²/2) − 2·Σ a^{2k+1}/(2k+1)!!/√(2π).
func NormalTail(a *big.Float) *big.Float {
	square := mul(a, a)
	odd := series(a, square, func(k int) int { return 2*k + 1 })
	return sub(Exp(mul(number(0.5), square)), mul(number(2), quo(odd, sqrt2Pi)))
}

// NormalTailRest returns (1/R(a) − 1)/a − slope as a function of a.
func NormalTailRest(slope float64) Function {
	return func(a *big.Float) *big.Float {
		return sub(quo(sub(quo(number(1), NormalTail(a)), number(1)), a), number(slope))
	}
}
