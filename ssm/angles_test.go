package ssm

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The angles of a layer are one uniform grid, of dfout-single one grid per SSM (docs/maths.md §2.3,
// §2.4 item 1).
func TestGrids(t *testing.T) {
	const h, n = 6, 8
	for init, modes := range map[Init]int{DFouT: n / 2, DFouTHalf: n/2 + 1, DFouTSingle: n / 2} {
		p := mustNew(t, config(init, h, n), 1, 0)
		must.Equal(t, p.Modes(), modes, "%s: modes", init)
		must.Equal(t, len(p.Freq), h*modes, "%s: number of angles", init)
		for i, got := range p.Freq {
			want := 2 * math.Pi / n * (float64(i%modes) + float64(i/modes)/h)
			if init == DFouTSingle {
				want = 2 * math.Pi / n * float64(i%modes)
			}
			if math.Abs(got-want) > 1e-14 {
				t.Errorf("%s: angle %d of SSM %d is %v, expected %v", init, i%modes, i/modes, got, want)
			}
		}
	}
}

// Log-normal frequencies of "rand"; each pole has its own.
func TestRandomFrequencies(t *testing.T) {
	var logMean, logSquare float64
	normal := mustNew(t, config(Rand, 100, 64), 1, 0).Freq
	for _, f := range normal {
		logMean += math.Log(f) / float64(len(normal))
		logSquare += math.Log(f) * math.Log(f) / float64(len(normal))
	}
	if math.Abs(logMean) > 0.08 || math.Abs(logSquare-1) > 0.12 {
		t.Errorf("rand: the logarithms' mean is %v, their mean square %v", logMean, logSquare)
	}
}

// Discrete and continuous parameters begin as the same system.
func TestContinuousStart(t *testing.T) {
	base := config(DFouT, 4, 8)
	first := mustNew(t, base, 1, 0).Discretize(ZOH, 1)
	continuous := base
	continuous.Param = ParamContinuous
	must.Equal(t, continuous.Discrete(), false, "Discrete() with param %q", continuous.Param)
	must.Equal(t, base.Discrete(), true, "Discrete() with param %q", base.Param)
	second := mustNew(t, continuous, 1, 0).Discretize(ZOH, 1)
	for i, a := range first.LogLambda {
		if b := second.LogLambda[i]; math.Abs(real(a-b)) > 1e-16 || math.Abs(imag(a-b)) > 1e-14 {
			t.Errorf("log λ̄[%d] = %v, expected %v", i, b, a)
		}
		if w := second.W[i]; math.Abs(real(w-first.W[i]))+math.Abs(imag(w-first.W[i])) > 1e-14 {
			t.Errorf("W[%d] = %v, expected %v", i, w, first.W[i])
		}
	}
}

// With the parameters of width, every mode has its own ξ in the range of the SSMs' ξ, and the B̄ of
// an SSM with that ξ. u moves an angle in units of ξ.
func TestWidth(t *testing.T) {
	base := config(DFouT, 4, 8)
	width := base
	width.Param = ParamWidth
	p, q := mustNew(t, width, 1, 0), mustNew(t, base, 1, 0)
	d, seen := p.Discretize(ZOH, 1), map[float64]bool{}
	for i, a := range d.LogLambda {
		xi := -2 * real(a)
		if xi < base.XiMin*(1-1e-12) || xi > base.XiMax*(1+1e-12) {
			t.Errorf("ξ[%d] = %v outside its range", i, xi)
		}
		seen[math.Round(1e12*xi)] = true
		for h := range q.Step {
			q.Step[h] = math.Log(xi)
		}
		single := q.Discretize(ZOH, 1)
		if want := single.BBar[i]; cmplx.Abs(d.BBar[i]-want) > 1e-14 {
			t.Errorf("B̄[%d] = %v, expected %v", i, d.BBar[i], want)
		}
		must.Equal(t, imag(a), imag(single.LogLambda[i]), "angle %d", i)
	}
	must.Equal(t, len(seen), 16, "different dampings")
	p.Freq[5] = 1.5
	moved := imag(p.Discretize(ZOH, 1).LogLambda[5]-d.LogLambda[5]) / (-2 * real(d.LogLambda[5]))
	if math.Abs(moved-1.5) > 1e-12 {
		t.Errorf("u = 1.5 moves the angle by %v widths", moved)
	}
	must.Equal(t, slices.Max(p.Omega), slices.Max(q.Freq), "the largest Ω")
}
