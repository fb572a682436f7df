package ssm

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// angles returns the initial angles of the poles, log λ̄'s imaginary parts, sorted.
func angles(t *testing.T, cfg Config) []float64 {
	t.Helper()
	var all []float64
	for _, a := range mustNew(t, cfg, 1, 0).Discretize(ZOH, 1).LogLambda {
		all = append(all, imag(a))
	}
	slices.Sort(all)
	return all
}

// Every grid is uniform over its part of the circle (docs/maths.md §2.6 item 1, §2.7).
func TestGrids(t *testing.T) {
	const h, n = 6, 8
	for name, test := range map[string]struct {
		init    Init
		grid    Grid
		modes   int
		spacing float64
	}{
		"a": {DFouT, GridA, n / 2, 2 * math.Pi / (n * h)}, "b": {DFouT, GridB, n/2 + 1, 2 * math.Pi / (n * h)},
		"c": {DFouT, GridC, n, 2 * math.Pi / (n * h)}, "d": {DFouT, GridD, n, math.Pi / (n * h)},
		"half": {DFouTHalf, "", n/2 + 1, 2 * math.Pi / (n * h)}, "batched": {BatchedDFouT, "", n / 2, 2 * math.Pi / (n * h)},
	} {
		cfg := config(test.init, h, n)
		cfg.Grid = test.grid
		all := angles(t, cfg)
		must.Equal(t, cfg.Modes(), test.modes, "%s: modes", name)
		must.Equal(t, len(all), h*test.modes, "%s: number of angles", name)
		for i, got := range all {
			if want := test.spacing * float64(i); math.Abs(got-want) > 1e-14*float64(1+i) {
				t.Errorf("%s: angle %d is %v, expected %v", name, i, got, want)
			}
		}
	}
}

func TestAngleSchemes(t *testing.T) {
	const h, n = 3, 8
	token, single := mustNew(t, config(Token, h, n), 1, 0), mustNew(t, config(DFouTSingle, h, n), 1, 0)
	batched := mustNew(t, config(BatchedDFouT, h, n), 1, 0)
	for c := range h {
		for i := range n / 2 {
			at := c*n/2 + i
			must.Equal(t, token.Freq[at], 2*math.Pi/float64(i+1), "token: Ω_%d", i)
			must.Equal(t, single.Freq[at], 2*math.Pi*float64(i)/n, "single: Ω_%d", i)
			// SSM c has its N/2 angles side by side
			if want := math.Pi * float64(c*n/2+i) / (h * n / 2); math.Abs(batched.Freq[at]-want) > 1e-15*float64(1+at) {
				t.Errorf("batched: SSM %d, Ω_%d = %v, expected %v", c, i, batched.Freq[at], want)
			}
		}
	}
}

// With its own ξ each mode has the B̄ of an SSM with that ξ. With a unit gain the expected variance
// of the output for white noise of variance 1 is 1: Σ 2·|B̄|²·Σ |λ̄|^2l.
func TestScalesOfInput(t *testing.T) {
	own := config(DFouT, 4, 8)
	own.BScale, own.XiPer = ScaleZOHOwn, XiPerBoth
	p := mustNew(t, own, 1, 0)
	d := p.Discretize(ZOH, 1)
	single := config(DFouT, 4, 8)
	for i, a := range d.LogLambda {
		q := mustNew(t, single, 1, 0)
		for h := range q.Step {
			q.Step[h] = math.Log(-2 * real(a))
		}
		if want := q.Discretize(ZOH, 1).BBar[i]; cmplx.Abs(d.BBar[i]-want) > 1e-14 {
			t.Errorf("zoh-own: B̄[%d] = %v, expected %v", i, d.BBar[i], want)
		}
	}
	unit := config(DFouTHalf, 4, 8)
	unit.BScale, unit.XiPer = ScaleUnit, XiPerBoth
	d = mustNew(t, unit, 1, 0).Discretize(ZOH, 1)
	for h := range d.H {
		variance := 0.0
		for i := h * d.M; i < (h+1)*d.M; i++ {
			variance += 2 * math.Pow(cmplx.Abs(d.BBar[i]), 2) / -math.Expm1(2*real(d.LogLambda[i]))
		}
		if math.Abs(variance-1) > 1e-12 {
			t.Errorf("unit-gain: variance %v of channel %d, expected 1", variance, h)
		}
	}
}

// Random frequencies: uniform over the circle, and log-normal for "rand"; each pole has its own.
func TestRandomFrequencies(t *testing.T) {
	uniform, normal := mustNew(t, config(RndImag, 100, 64), 1, 0).Freq, mustNew(t, config(Rand, 100, 64), 1, 0).Freq
	var mean, square, logMean, logSquare float64
	for i, f := range uniform {
		if f < 0 || f >= 2*math.Pi || slices.Contains(uniform[:i], f) {
			t.Fatalf("rndimag: Ω = %v, twice or outside the circle", f)
		}
		mean += f / float64(len(uniform))
		square += f * f / float64(len(uniform))
		logMean += math.Log(normal[i]) / float64(len(uniform))
		logSquare += math.Log(normal[i]) * math.Log(normal[i]) / float64(len(uniform))
	}
	if math.Abs(mean-math.Pi) > 0.13 || math.Abs(square-4*math.Pi*math.Pi/3) > 0.8 {
		t.Errorf("rndimag: mean %v, mean square %v", mean, square)
	}
	if math.Abs(logMean) > 0.08 || math.Abs(logSquare-1) > 0.12 {
		t.Errorf("rand: the logarithms' mean is %v, their mean square %v", logMean, logSquare)
	}
}

// A pole at frequency 0 is the last mode of every SSM. The others keep their angles.
func TestZeroPole(t *testing.T) {
	for _, cfg := range []Config{config(DFouT, 4, 8), config(BatchedDFouT, 4, 8), config(DFouTHalf, 4, 8), config(Token, 4, 8)} {
		for _, param := range []Param{ParamDiscrete, ParamContinuous, ParamWidth} {
			cfg.Param, cfg.ZeroPole = param, false
			without := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
			cfg.ZeroPole = true
			with := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
			must.Equal(t, with.M, without.M+1, "%s, param %s: modes", cfg.Init, param)
			for h := range with.H {
				if a := with.LogLambda[(h+1)*with.M-1]; imag(a) != 0 || real(a) >= 0 {
					t.Errorf("%s, param %s: the last log λ̄ of SSM %d is %v", cfg.Init, param, h, a)
				}
				must.Equal(t, slices.Equal(with.LogLambda[h*with.M:(h+1)*with.M-1], without.LogLambda[h*without.M:(h+1)*without.M]), true,
					"%s, param %s, SSM %d: the same other poles", cfg.Init, param, h)
			}
		}
	}
}

// Both parametrisations, and all ways to share ξ, begin with the same angles; the first two with
// the same system.
func TestAngleOptions(t *testing.T) {
	base := config(DFouT, 4, 8)
	first := mustNew(t, base, 1, 0).Discretize(ZOH, 1)
	continuous := base
	continuous.Param = ParamContinuous
	p := mustNew(t, continuous, 1, 0)
	must.Equal(t, continuous.Discrete(), false, "Discrete() with param %q", continuous.Param)
	must.Equal(t, base.Discrete(), true, "Discrete() with param %q", base.Param)
	second := p.Discretize(ZOH, 1)
	for i, a := range first.LogLambda {
		if b := second.LogLambda[i]; math.Abs(real(a-b)) > 1e-16 || math.Abs(imag(a-b)) > 1e-14 {
			t.Errorf("log λ̄[%d] = %v, expected %v", i, b, a)
		}
		if w := second.W[i]; math.Abs(real(w-first.W[i]))+math.Abs(imag(w-first.W[i])) > 1e-14 {
			t.Errorf("W[%d] = %v, expected %v", i, w, first.W[i])
		}
	}
	width := base
	width.Param = ParamWidth
	p = mustNew(t, width, 1, 0)
	third := p.Discretize(ZOH, 1)
	must.Equal(t, slices.Equal(third.LogLambda, first.LogLambda) && slices.Equal(third.W, first.W), true, "param %q starts as %q", width.Param, ParamDiscrete)
	p.Freq[5] = 1.5
	moved := imag(p.Discretize(ZOH, 1).LogLambda[5]-first.LogLambda[5]) / (-2 * real(first.LogLambda[5]))
	if math.Abs(moved-1.5) > 1e-12 {
		t.Errorf("u = 1.5 moves the angle by %v widths", moved)
	}
	for share, distinct := range map[XiPer]int{XiPerSSM: 4, XiPerMode: 4, XiPerBoth: 16} {
		cfg := base
		cfg.XiPer = share
		d := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
		seen := map[float64]bool{}
		for i, a := range d.LogLambda {
			if imag(a) != imag(first.LogLambda[i]) {
				t.Errorf("xi_per %s moves an angle", share)
			}
			if xi := -2 * real(a); xi < base.XiMin*(1-1e-12) || xi > base.XiMax*(1+1e-12) {
				t.Errorf("xi_per %s: ξ = %v outside its range", share, xi)
			}
			seen[math.Round(-2e12*real(a))] = true
		}
		must.Equal(t, len(seen), distinct, "xi_per %s: different dampings of 16", share)
	}
}
