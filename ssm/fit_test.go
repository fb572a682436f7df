package ssm

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// energyOf adds up K[k]·K[l]·r^|k−l| of the impulse responses by weights C, for every input.
func energyOf(g *ModeGains, c []complex128) (sum float64) {
	const taps = 200
	for input := range g.Width {
		k := make([]float64, taps)
		for n, w := range c {
			for l := range k {
				k[l] += real(w * g.Input[n*g.Width+input] * cmplx.Exp(complex(float64(l), 0)*g.LogLambda[n]))
			}
		}
		for i, x := range k {
			for j, y := range k {
				sum += x * y * math.Pow(inputCorrelation, math.Abs(float64(i-j)))
			}
		}
	}
	return sum
}

// No other C of the modes that are kept is closer to all modes. The energies are those of the
// impulse responses.
func TestFit(t *testing.T) {
	g := &ModeGains{SSMs: 1, M: 5, Width: 2, LogLambda: []complex128{-0.2 + 0.3i, -0.15 + 2i, -0.4, -0.25 + 0.35i, -0.3 + 1i}}
	draw, kept, c := random.New(1, 0, 0, 0), []int{0, 2, 4}, make([]complex128, 5)
	g.Input = make([]complex128, 10)
	drawComplex(g.Input, draw, 0, 1)
	drawComplex(c, draw, 100, 1)
	g.Input[4], g.Input[5] = 1, 2 // with a real pole: Im C has no effect
	fitted, energy, lost := g.Fit(0, kept).Solve(c)
	if want := energyOf(g, c); math.Abs(energy-want) > 1e-9*want {
		t.Errorf("energy %g, expected %g", energy, want)
	}
	difference := func() float64 {
		d := append([]complex128{}, c...)
		for i, n := range kept {
			d[n] -= fitted[i]
		}
		return energyOf(g, d)
	}
	least := difference()
	if math.Abs(lost-least) > 1e-9*energy {
		t.Errorf("energy of the difference %g, expected %g", lost, least)
	}
	for i := range fitted {
		for _, step := range []complex128{0.01, -0.01, 0.01i, -0.01i} {
			if i == 1 && real(step) == 0 {
				continue
			}
			fitted[i] += step
			if d := difference(); !(d > least) {
				t.Errorf("C of mode %d changed by %v: the difference is %g, and %g by the fit", kept[i], step, d, least)
			}
			fitted[i] -= step
		}
	}
	g.LogLambda[1] = 1i
	if g.Fit(0, kept) != nil {
		t.Error("a mode without decay is fitted")
	}
}
