package recurrent_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"runtime/debug"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Both modes agree with a recurrence in float64 over sequences of 2²⁴ samples in the long form. The
// last eighth is also compared by itself: there the far lags of the kernel have their effect.
//
// The bounds of the relative L2 error follow from float32, u = 2⁻²⁴:
//
//   - Convolution mode: a transform of float32 has a relative L2 error of 2.5e-7 (TestFFTLong of
//     fftkernel), and three are used. A tap is the sum of 2M products of two rounded factors. Its
//     error is at most (2M+2)·u of Σ 2|w λ^l|, and a few u of it on average. As in the tests of
//     package convmode the bound is 1e-6.
//   - Recurrent mode: a step rounds each part of a state h at most twice, with variance u²/3·|h|²
//     each. With |h|² in proportion to l, the sum of 4/3·u²·|h|² over L samples is 2/3·L·u² of the
//     last |h|². The standard deviation of the error is therefore 0.82·u·√L of the state, and for a
//     pole that forgets after τ samples at most that of L = τ. The bound is three of them, relative
//     to the sizes |2 C h| of the modes, which may cancel in y. A real or imaginary pole may be
//     damped once in a block of 64 samples (ssm.RoundPole), an error of at most 64/τ.
//     The generic level rounds each product, NEON those of the imaginary part. With λ̄ near 1 − k·u
//     the mean of these roundings is up to u/(2k), which changes the gain by up to 1/(4k²).
func TestMillionsOfSamples(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // the arrays of the long form are large
	length := must.Cases(1<<16, 1<<24)
	for _, c := range []struct {
		name   string
		memory float64 // τ = 1/|Re log λ̄| of the slowest pole
		change func(*ssm.Config)
	}{
		{"dfout ξ=2e-6", 1e6, func(c *ssm.Config) { c.XiMin, c.XiMax = 2e-6, 2e-6 }},
		{"dfout Re λ=0", math.Inf(1), func(c *ssm.Config) { c.AReal, c.XiMin, c.XiMax = 0, 0.01, 0.01 }},
		{"lin Δ=2e-6", 1e6, func(c *ssm.Config) { c.Init, c.DtMin, c.DtMax = ssm.Lin, 2e-6, 2e-6 }},
		{"lin Re λ=0", math.Inf(1), func(c *ssm.Config) { c.Init, c.AReal, c.DtMin, c.DtMax = ssm.Lin, 0, 0.002, 0.1 }},
		{"lin bilinear Re λ=0", math.Inf(1), func(c *ssm.Config) { c.Init, c.Disc, c.AReal = ssm.Lin, ssm.Bilinear, 0 }},
	} {
		cfg := bareConfig(1)
		cfg.SSM.DState = 8
		c.change(&cfg.SSM)
		m := bareModel(t, cfg)
		clear(m.Weights.Layers[0].D) // D x would hide the output of slow poles
		x := signal(3, 1, length)
		want, size := complexRecursion(m.SSMParams(0), x)
		check := func(mode string, got []float32, bound float64, byTerms bool) {
			scale := size
			if !byTerms {
				scale = want
			}
			for _, from := range []int{0, length - length/8} {
				e := relativeL2(got[from:], want[from:], scale[from:])
				what := fmt.Sprintf("%s, %s, samples from %d", c.name, mode, from)
				t.Logf("%s: error %.2g, bound %.2g", what, e, bound)
				if !(e <= bound) {
					t.Errorf("%s: relative error %.2g, expected at most %.2g", what, e, bound)
				}
			}
		}
		net := must.Get(convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: length, Workers: 1}))(t)
		check("convolution", net.Forward(convmode.Batch{Size: 1, Len: length, X: x}), 1e-6, false)
		net.Close()
		net = nil // gigabytes
		bound := 3*0.82*0x1p-24*math.Sqrt(min(float64(length), c.memory)) + 64/c.memory
		if k := 0x1p24 / c.memory; k > 0 && (vek.CurrentLevel() == vek.Generic || vek.CurrentLevel() == vek.NEON) {
			bound += 1 / (4 * k * k)
		}
		check("recurrent", newNetwork(t, m, 1).NewStream().Process(x, length), bound, true)
	}
}

// relativeL2 returns the norm of the error relative to that of size.
func relativeL2(got []float32, want, size []float64) float64 {
	var diff, norm float64
	for i, v := range want {
		d := float64(got[i]) - v
		diff, norm = diff+d*d, norm+size[i]*size[i]
	}
	return math.Sqrt(diff / norm)
}

// complexRecursion is h ← λ̄h + B̄x, y = 2·Re Σ C h in complex128, with λ̄ and B̄ by the formulas
// of docs/maths.md §1.3 and §2.4. The size of y is √Σ|2 C h|².
func complexRecursion(p *ssm.Params, x []float32) (y, size []float64) {
	y, size = make([]float64, len(x)), make([]float64, len(x))
	step := complex(math.Exp(p.Step[0]), 0)
	for i := range p.Modes() {
		decay := math.Exp(p.Decay[i])
		pole := complex(-decay, p.Freq[i])
		lambda := cmplx.Exp(step * pole)
		input := (lambda - 1) / pole
		switch {
		case p.Discrete(): // DFouT
			pole = complex(-decay*real(step), p.Freq[i])
			lambda = cmplx.Exp(pole)
			input = step * (lambda - 1) / pole
		case p.Disc == ssm.Bilinear:
			lambda, input = (1+step*pole/2)/(1-step*pole/2), step/(1-step*pole/2)
		}
		if pole == 0 {
			input = step
		}
		twiceC, state := 2*p.C[i], complex128(0)
		input *= p.B[i]
		for t, v := range x {
			state = lambda*state + input*complex(float64(v), 0)
			term := twiceC * state
			y[t], size[t] = y[t]+real(term), size[t]+real(term)*real(term)+imag(term)*imag(term)
		}
	}
	for t, square := range size {
		size[t] = math.Sqrt(square)
	}
	return y, size
}
