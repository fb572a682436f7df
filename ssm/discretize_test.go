package ssm

import (
	"math"
	"math/big"
	"math/cmplx"
	"testing"
)

// phiBig sums the series of φ and φ′ with 300 bits.
func phiBig(a complex128) (f, df complex128) {
	type number struct{ re, im *big.Float }
	newFloat := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	mul := func(x, y number) number {
		m := func(a, b *big.Float) *big.Float { return newFloat(0).Mul(a, b) }
		return number{newFloat(0).Sub(m(x.re, y.re), m(x.im, y.im)), newFloat(0).Add(m(x.re, y.im), m(x.im, y.re))}
	}
	var (
		z       = number{newFloat(real(a)), newFloat(imag(a))}
		power   = number{newFloat(1), newFloat(0)}
		sum     = number{newFloat(0), newFloat(0)}
		sumD    = number{newFloat(0), newFloat(0)}
		inverse = newFloat(1) // 1/(k+1)!
	)
	for k := range 150 {
		inverse.Quo(inverse, newFloat(float64(k+1)))
		next := newFloat(0).Mul(newFloat(0).Quo(inverse, newFloat(float64(k+2))), newFloat(float64(k+1)))
		for i, part := range []*big.Float{power.re, power.im} {
			s, d := []*big.Float{sum.re, sum.im}[i], []*big.Float{sumD.re, sumD.im}[i]
			s.Add(s, newFloat(0).Mul(part, inverse))
			d.Add(d, newFloat(0).Mul(part, next)) // φ′ = Σ (k+1)/(k+2)!·a^k
		}
		power = mul(power, z)
	}
	value := func(x number) complex128 {
		re, _ := x.re.Float64()
		im, _ := x.im.Float64()
		return complex(re, im)
	}
	return value(sum), value(sumD)
}

func TestPhi(t *testing.T) {
	angles := []float64{math.Pi / 2, 2, 2.5, 3, math.Pi}
	for _, r := range []float64{0, 1e-300, 1e-16, 1e-8, 1e-4, 1e-3, 0.1, 0.3, 0.4999, 0.5, 0.6, 1, 3, 6, 9} {
		for _, angle := range angles {
			a := cmplx.Rect(r, angle)
			f, df := phi(a, cmplx.Exp(a))
			wantF, wantDF := phiBig(a)
			if e := cmplx.Abs(f - wantF); e > 1e-15 {
				t.Errorf("φ(%g) = %.17g, expected %.17g: off by %.1e", a, f, wantF, e)
			}
			if e := cmplx.Abs(df - wantDF); e > 2e-15 {
				t.Errorf("φ′(%g) = %.17g, expected %.17g: off by %.1e", a, df, wantDF, e)
			}
		}
	}
}

func TestBilinear(t *testing.T) {
	for _, a := range []complex128{0, 1e-12i, -1e-9 + 0.3i, -0.1, -0.5 + 2i, -1.9 + 0.01i, -3 + 40i, -40, 7i} {
		want := (1 + a/2) / (1 - a/2)
		r := bilinear(a)
		if got := cmplx.Exp(r.logLambda); cmplx.Abs(got-want) > 1e-15 {
			t.Errorf("a = %g: λ̄ = %.17g, expected %.17g", a, got, want)
		}
		if real(a) == 0 && real(r.logLambda) != 0 {
			t.Errorf("a = %g: log|λ̄| = %g, expected 0", a, real(r.logLambda))
		}
	}
	// A decay of 1e-9 per sample survives to nine digits, where log((1+a/2)/(1−a/2)) keeps seven.
	if got := real(bilinear(-1e-9).logLambda); math.Abs(got+1e-9) > 1e-23 {
		t.Errorf("log λ̄(−1e-9) = %.17g", got)
	}
}
