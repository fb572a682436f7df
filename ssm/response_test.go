package ssm

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The response is the transform of the kernel, whose end has decayed.
func TestResponse(t *testing.T) {
	for _, cfg := range []Config{config(Lin, 2, 16), config(DFouT, 2, 16), config(Inv, 2, 8)} {
		cfg.DtMin, cfg.XiMin, cfg.Bidirectional = 0.02, 0.02, true
		d := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
		const length = 8000 // e^{−ξl/2} < 1e-34
		for row, k := range d.Kernel(length) {
			for _, theta := range []float64{0, 1e-3, 0.3, 1, math.Pi / 2, 3, math.Pi} {
				want, size := 0i, 0.0
				for l, v := range k {
					want += complex(v, 0) * cmplx.Exp(complex(0, -theta*float64(l)))
					size += math.Abs(v)
				}
				if got := d.Response(row, theta); cmplx.Abs(got-want) > 1e-11*size {
					t.Errorf("%s, row %d: H(%v) = %v, expected %v", cfg.Init, row, theta, got, want)
				}
			}
		}
	}
}

// The numbers of docs/maths.md §8 for N = 64.
func TestCoverageAndAliases(t *testing.T) {
	for _, test := range []struct {
		init Init
		step float64
		want int
	}{
		{Lin, 0.001, 0}, {Lin, 0.025, 0}, {Lin, 0.1, 22}, {Inv, 0.001, 0}, {Inv, 0.00245, 1}, {Inv, 0.025, 4}, {Inv, 0.1, 13},
		{DFouT, 0.001, 0}, {DFouT, 0.1, 0},
	} {
		cfg := config(test.init, 2, 64)
		cfg.DtMin, cfg.DtMax, cfg.XiMin, cfg.XiMax = test.step, test.step, test.step, test.step
		a := must.Get(mustNew(t, cfg, 1, 0).Analyze())(t)
		must.Equal(t, *a.Aliased, 2*test.want, "%s at %v: modes alias", test.init, test.step)
		gap := a.Coverage()
		if test.init == DFouT && math.Abs(gap-2*math.Pi/(64*2)) > 1e-14 {
			t.Errorf("DFouT's largest gap is %v, expected 2π/(NH)", gap)
		}
		// Lin has the angles πΔn up to 31πΔ.
		if want := math.Pi * max(test.step, 1-31*test.step); test.init == Lin && test.want == 0 && math.Abs(gap-want) > 1e-12 {
			t.Errorf("Lin's largest gap at Δ = %v is %v, expected %v", test.step, gap, want)
		}
	}
}

// Gaps to 0 and to π count.
func TestCoverageAtTheEnds(t *testing.T) {
	for _, test := range []struct {
		angles []complex128
		want   float64
	}{{[]complex128{1i, 2i}, math.Pi - 2}, {[]complex128{1.5i, 2i}, 1.5}, {[]complex128{0.5i, -2i, 6i}, 2 - 0.5}} {
		if got := (&Analysis{LogPoles: test.angles}).Coverage(); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("angles %v: largest gap %v, expected %v", test.angles, got, test.want)
		}
	}
}

// The peak is at least the maximum over a grid of four million angles, and at most the sum of the
// modes' peaks, with resonances as narrow as 1e-4 radians between others.
func TestHInf(t *testing.T) {
	for _, init := range []Init{Lin, Inv, DFouT} {
		for seed := range uint64(4) {
			cfg := config(init, 1, 32)
			cfg.DtMin, cfg.XiMin, cfg.XiMax = 0.05, 2e-4, 0.5
			p := mustNew(t, cfg, seed, 0)
			perturb(p)
			d := p.Discretize(ZOH, 1)
			got := d.HInf(0)
			const grid = 1 << 15
			dense, at := 0.0, 0.0
			look := func(theta float64) {
				if g := cmplx.Abs(d.Response(0, theta)); g > dense {
					dense, at = g, theta
				}
			}
			for i := range grid + 1 {
				look(math.Pi * float64(i) / grid)
			}
			for _, a := range d.LogLambda { // a hundred angles across every resonance
				for i := -100; i <= 100; i++ {
					look(folded(a) + float64(i)*0.05*real(a))
				}
			}
			if got.Gain < dense*(1-1e-9) || got.Gain > dense*1.01 {
				t.Errorf("%s, seed %d: peak %v, a dense grid's is %v at %v", init, seed, got, dense, at)
			}
			must.Equal(t, cmplx.Abs(d.Response(0, got.Theta)), got.Gain, "%s: |H(%v)|", init, got.Theta)
		}
	}
}

func TestScores(t *testing.T) {
	cfg := config(DFouT, 2, 8)
	cfg.Bidirectional = true
	d := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
	for i, s := range d.Gains().HInf() {
		w := max(cmplx.Abs(d.W[i]), cmplx.Abs(d.W[len(d.LogLambda)+i]))
		want := math.Pow(w/(1-cmplx.Abs(cmplx.Exp(d.LogLambda[i]))), 2)
		if math.Abs(s-want) > 1e-9*want {
			t.Errorf("score %d is %v, expected %v", i, s, want)
		}
	}
	cfg.AReal = 0
	pinned := mustNew(t, cfg, 1, 0).Discretize(ZOH, 1)
	if p := pinned.HInf(0); !math.IsInf(p.Gain, 1) {
		t.Errorf("a pole on the unit circle has the gain %v", p.Gain)
	}
	for n := range 4 { // without weight it has none, and the response at its angle is a number
		pinned.W[n], pinned.W[8+n] = 0, 0 // in both directions
	}
	if scores := pinned.Gains().HInf(); scores[0] != 0 || !math.IsInf(scores[4], 1) {
		t.Errorf("scores on the unit circle, half of them without weight: %v", scores)
	}
	if p, h := pinned.HInf(0), pinned.Response(0, folded(pinned.LogLambda[1])); p.Gain != 0 || h != 0 {
		t.Errorf("without weight: gain %v, response %v", p.Gain, h)
	}
}
