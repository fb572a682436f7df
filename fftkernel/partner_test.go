package fftkernel

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// convolver is a causal plan with a random kernel and its spectrum.
type convolver struct {
	*Conv
	k, khat, scratch []float32
}

func newConvolver(n int) convolver {
	c := convolver{Conv: NewConv(n, n, false), k: noise(n, 10)}
	c.khat, c.scratch = dirty(c.SpectrumLen()), dirty(c.ScratchLen())
	c.Spectrum(c.khat, c.k, nil)
	return c
}

func (c convolver) pair(u0, u1 []float32) (y0, y1 []float32) {
	y0, y1 = dirty(len(u0)), dirty(len(u1))
	c.Convolve(Rows{y0, y1}, Rows{u0, u1}, c.khat, c.scratch)
	return y0, y1
}

func (c convolver) alone(u []float32) []float32 {
	y := dirty(len(u))
	c.Convolve(Rows{y}, Rows{u}, c.khat, c.scratch)
	return y
}

// grad returns both rows' ∂loss/∂u and what the pair adds to the kernel's gradient.
func (c convolver) grad(dy0, dy1, u0, u1 []float32) (du0, du1, dk []float32) {
	du0, du1, dk = dirty(len(dy0)), dirty(len(dy1)), dirty(len(c.k))
	acc := make([]float32, c.SpectrumLen())
	c.ConvolveGrad(Rows{du0, du1}, Rows{dy0, dy1}, Rows{u0, u1}, acc, c.khat, c.scratch)
	c.KernelGrad(dk, nil, acc)
	return du0, du1, dk
}

func scaled(scale float32, x []float32) []float32 {
	y := make([]float32, len(x))
	for i := range x {
		y[i] = scale * x[i]
	}
	return y
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// With any partner a row's result differs from its result alone only by rounding errors, whose norm
// is at most 32 times that of a row alone. With a much louder or quieter partner it is as accurate
// as alone.
func TestPartnersDoNotLeak(t *testing.T) {
	const rounding = 3e-7 // of a row alone, relative L2
	c := newConvolver(500)
	for _, base := range []float32{1, 1e-25, 1e15} {
		row := scaled(base, noise(500, 1))
		alone, want := c.alone(row), directConv(row, c.k, nil)
		wantGrad, _, _ := directGrad(row, row, c.k, nil)
		if e := l2(alone, want); !(e < rounding) {
			t.Errorf("a row of size %g alone: relative error %.3g", base, e)
		}
		for _, scale := range []float32{1e-10, 1e-4, 1, 10, 31, 40, 1e4, 1e10, 1e20} {
			limit := rounding * float64(max(scale, 1/scale))
			if limit > 33*rounding {
				limit = rounding
			}
			partner := scaled(scale, scaled(base, noise(500, 2)))
			y0, _ := c.pair(row, partner)
			_, y1 := c.pair(partner, row)
			du0, _, _ := c.grad(row, partner, row, row)
			_, du1, _ := c.grad(partner, row, row, row)
			for name, e := range map[string]float64{
				"y0": l2(y0, want), "y1": l2(y1, want), "du0": l2(du0, wantGrad), "du1": l2(du1, wantGrad),
				"y0 from alone": l2(y0, widen(alone)), "y1 from alone": l2(y1, widen(alone)),
			} {
				if !(e < limit) {
					t.Errorf("a row of size %g next to one %g times as loud: %s: relative error %.3g, expected below %.3g", base, scale, name, e, limit)
				}
			}
		}
	}
}

// A row that is not finite does not change its partner: the partner has the bits that it has alone.
func TestBrokenPartner(t *testing.T) {
	c := newConvolver(300)
	clean := noise(300, 1)
	want := c.alone(clean)
	wantGrad, _, _ := c.grad(clean, nil, clean, nil)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		broken := noise(300, 2)
		broken[77] = float32(bad)
		y0, other := c.pair(clean, broken)
		other2, y1 := c.pair(broken, clean)
		du0, _, _ := c.grad(clean, broken, clean, clean)
		_, du1, _ := c.grad(broken, clean, clean, clean)
		for i := range want {
			if y0[i] != want[i] || y1[i] != want[i] || du0[i] != wantGrad[i] || du1[i] != wantGrad[i] {
				t.Fatalf("next to a row with %v: [%d] = %v, %v, du %v, %v; alone %v, %v",
					bad, i, y0[i], y1[i], du0[i], du1[i], want[i], wantGrad[i])
			}
		}
		if !math.IsNaN(float64(other[299])) || !math.IsNaN(float64(other2[299])) {
			t.Errorf("a row with %v went unnoticed: y[299] = %v, %v", bad, other[299], other2[299])
		}
	}
}

// A row of zeros gives exact zeros whatever its partner, and adds nothing to a gradient.
func TestSilentPartner(t *testing.T) {
	c := newConvolver(100)
	u, zeros := noise(100, 1), make([]float32, 100)
	want := c.alone(u)
	y0, y1 := c.pair(zeros, u)
	du0, du1, dk := c.grad(zeros, u, noise(100, 3), u)
	_, dk0, _ := directGrad(u, u, c.k, nil)
	for i := range want {
		if y0[i] != 0 || y1[i] != want[i] || du0[i] != 0 {
			t.Fatalf("[%d]: y0 = %v, du0 = %v, expected 0; y1 = %v, expected %v", i, y0[i], du0[i], y1[i], want[i])
		}
	}
	if duAlone, _, _ := c.grad(u, nil, u, nil); l2(du1, widen(duAlone)) != 0 {
		t.Errorf("du next to zeros differs from du alone")
	}
	if e := l2(dk, dk0); !(e < convTolerance) {
		t.Errorf("dk: relative error %.3g", e)
	}
}

// The message of a wrong length has the length and the expected one.
func TestLengthsOfPlans(t *testing.T) {
	v, c := NewVandermonde(2, 8), NewCauchy(2, 8)
	k, z, few, scratch := make([]float32, 9), make([]complex128, 2), make([]complex128, 1), make([]float32, max(v.ScratchLen(), c.ScratchLen()))
	s := &RankOne{Step: 0.1, Lambda: z, P: z, B: z, C: z}
	pairs := make([]complex128, 8)
	for want, f := range map[string]func(){
		"Vandermonde.Kernel: a kernel of 9 taps, expected at most 8": func() { v.Kernel(k, z, z, scratch) },
		"Vandermonde.Kernel: 1 elements in logLambda, expected 2":    func() { v.Kernel(k[:8], few, z, scratch) },
		"Vandermonde.Kernel: 1 elements in w, expected 2":            func() { v.Kernel(k[:8], z, few, scratch) },
		"Vandermonde.Grad: 1 elements in g, expected 2":              func() { v.Grad(few, z, k[:8], z, scratch) },
		"Vandermonde.Grad: 1 elements in m, expected 2":              func() { v.Grad(z, few, k[:8], z, scratch) },
		"Vandermonde.Grad: scratch of 1 floats, expected ":           func() { v.Grad(z, z, k[:8], z, scratch[:1]) },
		"Cauchy.Kernel: a kernel of 9 taps, expected at most 8":      func() { c.Kernel(k, s, scratch) },
		"Cauchy.Kernel: 1 elements in Λ, expected 2":                 func() { c.Kernel(k[:8], &RankOne{Lambda: few, P: z, B: z, C: z}, scratch) },
		"Cauchy.Kernel: 1 elements in P, expected 2":                 func() { c.Kernel(k[:8], &RankOne{Lambda: z, P: few, B: z, C: z}, scratch) },
		"Cauchy.Kernel: 1 elements in B, expected 2":                 func() { c.Kernel(k[:8], &RankOne{Lambda: z, P: z, B: few, C: z}, scratch) },
		"Cauchy.Kernel: 1 elements in C̃, expected 2":                func() { c.Kernel(k[:8], &RankOne{Lambda: z, P: z, B: z, C: few}, scratch) },
		"Cauchy.Kernel: scratch of 1 floats, expected ":              func() { c.Kernel(k[:8], s, scratch[:1]) },
		"Cauchy.Grad: a kernel of 9 taps, expected at most 8":        func() { c.Grad(pairs, pairs, k, s, scratch) },
		"Cauchy.Grad: 7 elements in byPair, expected 8":              func() { c.Grad(pairs[:7], pairs, k[:8], s, scratch) },
		"Cauchy.Grad: 7 elements in byPole, expected 8":              func() { c.Grad(pairs, pairs[:7], k[:8], s, scratch) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "fftkernel: "+want) {
					t.Errorf("panic %q, expected %q", got, want)
				}
			}()
			f()
		}()
	}
}

func TestRefusesMisuse(t *testing.T) {
	c, two := NewConv(10, 4, false), NewConv(10, 4, true)
	row, long, khat, scratch := make([]float32, 10), make([]float32, 11), make([]float32, c.SpectrumLen()), make([]float32, two.ScratchLen())
	for name, f := range map[string]func(){
		"no samples":           func() { NewConv(0, 1, false) },
		"no taps":              func() { NewConv(1, 0, false) },
		"row too long":         func() { c.Convolve(Rows{long}, Rows{long}, khat, scratch) },
		"lengths differ":       func() { c.Convolve(Rows{row[:9]}, Rows{row}, khat, scratch) },
		"y1 without u1":        func() { c.Convolve(Rows{row, row}, Rows{row}, khat, scratch) },
		"spectrum too short":   func() { c.Convolve(Rows{row}, Rows{row}, khat[:9], scratch) },
		"scratch too short":    func() { c.Convolve(Rows{row}, Rows{row}, khat, scratch[:9]) },
		"du too short":         func() { c.ConvolveGrad(Rows{row[:9]}, Rows{row}, Rows{row}, khat, khat, scratch) },
		"gradient's spectrum":  func() { c.ConvolveGrad(Rows{row}, Rows{row}, Rows{row}, khat[:9], khat, scratch) },
		"transform too short":  func() { must.Get(NewFFT(32))(t).Coefficients(khat[:16], khat[:32]) },
		"inverse too long":     func() { must.Get(NewFFT(4))(t).Sequence(khat[:5], khat[:4]) },
		"kernel too long":      func() { c.Spectrum(khat, row, nil) },
		"causal, two kernels":  func() { c.Spectrum(khat, row[:4], row[:4]) },
		"one kernel missing":   func() { two.Spectrum(make([]float32, two.SpectrumLen()), row[:4], nil) },
		"gradient's kernel":    func() { c.KernelGrad(row, nil, khat) },
		"gradient's other one": func() { two.KernelGrad(row[:4], nil, make([]float32, two.SpectrumLen())) },
	} {
		func() {
			defer func() {
				if s := fmt.Sprint(recover()); len(s) < 11 || s[:11] != "fftkernel: " {
					t.Errorf("%s: panic %q", name, s)
				}
			}()
			f()
		}()
	}
}
