package model

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// dss are the SSMs of a DSS layer, and discrete those of DFouT with damping and angle apart.
func dss(c *Config) {
	c.SSM.Layer, c.SSM.Init, c.SSM.NSSM, c.SSM.LKernel = ssm.LayerDSS, ssm.LegS, 2, 64
}

func discrete(c *Config) { c.SSM.Param = ssm.ParamDiscrete }

func pruneConfig(change func(*Config)) Config {
	c := Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 3, 4, 2
	c.SSM.DState = 16
	change(&c)
	return c
}

// A pruned SSM has the poles and inputs of its best modes, and a C that is fitted to the whole. All
// other tensors are unchanged.
func TestPrune(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"dfout":              func(c *Config) {},
		"half, B trained":    func(c *Config) { c.SSM.Init, c.SSM.TrainB = ssm.DFouTHalf, true },
		"lin, bidirectional": func(c *Config) { c.SSM.Init, c.SSM.Bidirectional, c.SSM.NSSM = ssm.Lin, true, 2 },
		"dss":                dss,
		"discrete":           discrete,
	} {
		m := must.Get(New(pruneConfig(change), 1))(t)
		modes := m.Config.SSM.Modes()
		for _, kept := range []int{1, 3, modes} {
			p, lost, err := m.Prune(float64(kept) / float64(modes))
			must.Do(t, err)
			if (lost == 0) != (kept == modes) || !(lost < 1) {
				t.Errorf("%s, %d of %d modes: a share of %g is lost", name, kept, modes, lost)
			}
			if p.Config.SSM.Modes() != kept || p.Config.Validate() != nil {
				t.Fatalf("%s: %d modes, expected %d; %v", name, p.Config.SSM.Modes(), kept, p.Config.Validate())
			}
			if !slices.Equal(p.Weights.DecoderWeight, m.Weights.DecoderWeight) {
				t.Errorf("%s: the decoder's weights changed", name)
			}
			if !slices.Equal(p.Weights.Layers[1].MixWeight, m.Weights.Layers[1].MixWeight) {
				t.Errorf("%s: the second layer's mixing weights changed", name)
			}
			for i := range m.Config.NLayers {
				checkPruned(t, name, m.SSMParams(i), p.SSMParams(i))
			}
		}
	}
}

func checkPruned(t *testing.T, name string, from, to *ssm.Params) {
	t.Helper()
	before, after := from.ModeGains(), to.ModeGains()
	score := before.LAST()
	for h := range before.SSMs {
		order := make([]int, before.M)
		for n := range order {
			order[n] = n
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[h*before.M+b], score[h*before.M+a]) })
		best := slices.Sorted(slices.Values(order[:after.M]))
		for i, n := range best {
			i, n := h*after.M+i, h*before.M+n
			if after.LogLambda[i] != before.LogLambda[n] || after.Input[i] != before.Input[n] {
				t.Errorf("%s: channel %d: pole %d is not mode %d's", name, h, i, n)
			}
		}
		fit := before.Fit(h, best)
		for dir := range before.Directions {
			row := dir*before.SSMs + h
			want := from.C[row*before.M : (row+1)*before.M]
			if after.M < before.M {
				want, _, _ = fit.Solve(want)
			}
			for i, got := range to.C[row*after.M : (row+1)*after.M] {
				if cmplx.Abs(got-want[i]) > 1e-6*cmplx.Abs(want[i]) {
					t.Errorf("%s: channel %d: C of mode %d is %v, expected %v", name, h, i, got, want[i])
				}
			}
		}
	}
}

func TestPruneRejects(t *testing.T) {
	m := must.Get(New(pruneConfig(func(*Config) {}), 1))(t)
	for _, keep := range []float64{0, -1, 1.5} {
		if _, _, err := m.Prune(keep); err == nil || !strings.Contains(err.Error(), "keep") {
			t.Errorf("keep %v: error %v", keep, err)
		}
	}
	for i := range m.Weights.Layers[0].Decay { // a mode that does not decay has no energy to compare
		m.Weights.Layers[0].Decay[i] = float32(math.Inf(-1))
	}
	if _, lost, err := m.Prune(0.5); err != nil || !math.IsNaN(lost) {
		t.Errorf("without decay: %g is lost, error %v; expected NaN", lost, err)
	}
}
