package ssm

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The response of an S4 layer is the transform of its impulse response, and its peak is the largest
// value on a grid.
func TestAnalyzeRankOne(t *testing.T) {
	const length, grid = 1 << 11, 1 << 9
	for _, init := range []Init{LegS, FouT} {
		cfg := config(init, 2, 16)
		cfg.Layer, cfg.Disc, cfg.TrainB, cfg.LKernel, cfg.Bidirectional = LayerS4, Bilinear, true, 64, true
		cfg.DtMin, cfg.DtMax, cfg.AReal = 0.05, 0.1, 0.5
		p := mustNew(t, cfg, 5, 0)
		for i := range p.Decay {
			p.Decay[i] = max(p.Decay[i], math.Log(0.1)) // so that the impulse response ends
		}
		a := must.Get(p.Analyze())(t)
		must.Equal(t, a.Rows, 4, "rows of %s", init)
		must.Do(t, p.RecoverChannels(0, 2))
		r := NewRankOne(p.Modes())
		for row := range a.Rows {
			h, m := row%2, p.Modes()
			p.RankOne(r, h, 1)
			c := p.C[row*m : (row+1)*m]
			k := impulse(r, c, length)
			largest := 0.0
			for i := range grid + 1 {
				theta := math.Pi * float64(i) / grid
				var want complex128
				step, turn := cmplx.Rect(1, -theta), complex(1, 0)
				for _, v := range k {
					want += complex(v, 0) * turn
					turn *= step
				}
				largest = max(largest, cmplx.Abs(want))
				if got := r.response(c, theta); i%64 == 0 && cmplx.Abs(got-want) > 1e-6*(1+cmplx.Abs(want)) {
					t.Errorf("%s, row %d: response %v at %v, expected %v", init, row, got, theta, want)
				}
			}
			if peak := a.HInf(row).Gain; peak < largest*(1-1e-6) || peak > 1.05*largest {
				t.Errorf("%s, row %d: peak %v, a grid's is %v", init, row, peak, largest)
			}
		}
		for _, l := range a.LogPoles {
			if real(l) >= 0 || imag(l) < 0 {
				t.Errorf("%s: log pole %v", init, l)
			}
		}
	}
}

// impulse returns the response of a system to an impulse.
func impulse(r *RankOne, c []complex128, length int) []float64 {
	state, k := make([]complex128, len(c)), make([]float64, length)
	for l := range k {
		w := complex(pair(r.U, state), 0)
		for n := range state {
			state[n] = r.E[n]*state[n] - r.P[n]*w
			if l == 0 {
				state[n] += r.B[n]
			}
		}
		k[l] = pair(c, state)
	}
	return k
}

// Layers with one SSM for all channels have poles and no response per channel.
func TestAnalyzeScan(t *testing.T) {
	p := mustNew(t, scanConfig(LayerS5, 3, 8), 1, 0)
	a := must.Get(p.Analyze())(t)
	must.Equal(t, a.Rows, 0, "rows")
	must.Equal(t, len(a.LogPoles), p.Modes(), "poles")
	s := NewScan(p.Config)
	p.DiscretizeScan(s, 1, 0, p.Modes())
	for n, l := range a.LogPoles {
		if cmplx.Abs(cmplx.Exp(l)-s.Lambda[n]) > 1e-12 {
			t.Errorf("pole %d is %v, expected %v", n, cmplx.Exp(l), s.Lambda[n])
		}
	}
}

// Modes of S5 with |Im Λ·Δ| ≥ π alias with zero-order hold, and none do with the bilinear rule. The
// count has no meaning for S4 and the LRU.
func TestAliasedLayers(t *testing.T) {
	for _, disc := range []Disc{ZOH, Bilinear} {
		cfg := scanConfig(LayerS5, 2, 64)
		cfg.Disc, cfg.DtMin, cfg.DtMax = disc, 0.0125, 0.0125 // the largest Im Λ are 1303, 433, 258.2 and 183
		p := mustNew(t, cfg, 1, 0)
		p.Decay[31], p.Freq[31] = -1000, 0 // the bilinear rule makes λ̄ negative, whose angle is π
		for scale, want := range map[float64]int{0.125: 0, 0.5: 1, 1: 3} {
			if disc == Bilinear {
				want = 0
			}
			scaled := *p
			scaled.Step = slices.Clone(p.Step)
			for i := range scaled.Step {
				scaled.Step[i] += math.Log(scale)
			}
			must.Equal(t, *must.Get(scaled.Analyze())(t).Aliased, want, "%s, step scale %v: aliased modes", disc, scale)
		}
	}
	lru, s4 := scanConfig(LayerLRU, 2, 16), config(LegS, 2, 16)
	s4.Layer, s4.Disc, s4.TrainB = LayerS4, Bilinear, true
	for _, cfg := range []Config{lru, s4} {
		must.Equal(t, must.Get(mustNew(t, cfg, 1, 0).Analyze())(t).Aliased, nil, "%s: aliased modes", cfg.Layer)
	}
	long := config(Lin, 2, 64)
	long.DtMin, long.DtMax = 1000*long.DtMin, 1000*long.DtMax
	must.Equal(t, *must.Get(mustNew(t, long, 1, 0).Analyze())(t).Aliased, 62, "lin: aliased modes of two channels") // all but Im A = 0
}

// The poles of S4's initial LegS are real, −1, −2, …, −N before discretisation. Those of a small N
// agree with the eigenvalues, and so do those of FouT.
func TestAnalyzeInitial(t *testing.T) {
	poles := func(init Init, states int, analyze func(*Params) (*Analysis, error)) []complex128 {
		cfg := config(init, 2, states)
		cfg.Layer, cfg.Disc, cfg.TrainB, cfg.DtMin, cfg.DtMax = LayerS4, Bilinear, true, 0.1, 0.1
		list := must.Get(analyze(mustNew(t, cfg, 1, 0)))(t).LogPoles
		slices.SortFunc(list, func(a, b complex128) int { return cmp.Compare(real(cmplx.Exp(a)), real(cmplx.Exp(b))) })
		return list
	}
	for _, init := range []Init{LegS, FouT, Hippo} {
		exact, eigen := poles(init, 8, (*Params).AnalyzeInitial), poles(init, 8, func(p *Params) (*Analysis, error) { return p.Analyze() })
		must.Equal(t, len(exact), len(eigen), "poles of %s", init)
		for i, l := range exact {
			if d := cmplx.Abs(cmplx.Exp(l) - cmplx.Exp(eigen[i])); d > 1e-9 {
				t.Errorf("%s: pole %v, eigenvalue %v", init, cmplx.Exp(l), cmplx.Exp(eigen[i]))
			}
		}
	}
	list := poles(LegS, 64, (*Params).AnalyzeInitial)
	must.Equal(t, len(list), 128, "poles of two channels")
	for i, l := range list {
		half := 0.05 * float64(64-i/2)
		if d := cmplx.Abs(cmplx.Exp(l) - complex((1-half)/(1+half), 0)); d > 1e-12 {
			t.Errorf("pole %d is %v, %v from the exact one", i, cmplx.Exp(l), d)
		}
	}
}
