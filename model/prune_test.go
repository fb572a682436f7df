package model

import (
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

// A pruned SSM is the sum of its best modes. All other tensors are unchanged.
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
			p := must.Get(m.Prune(float64(kept) / float64(modes)))(t)
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
				checkPruned(t, name, m.SSMParams(i).Discretize(ssm.ZOH, 1), p.SSMParams(i).Discretize(ssm.ZOH, 1))
			}
		}
	}
}

func checkPruned(t *testing.T, name string, before, after *ssm.Discrete) {
	t.Helper()
	score := before.Gains().LAST()
	for h := range before.H {
		order := make([]int, before.M)
		for n := range order {
			order[n] = n
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if score[h*before.M+a] > score[h*before.M+b] {
				return -1
			}
			return 1
		})
		best := slices.Sorted(slices.Values(order[:after.M]))
		for i, n := range best {
			if after.LogLambda[h*after.M+i] != before.LogLambda[h*before.M+n] {
				t.Errorf("%s: channel %d: pole %d is not mode %d's", name, h, i, n)
			}
			for dir := range before.Directions {
				got, want := after.W[(dir*after.H+h)*after.M+i], before.W[(dir*before.H+h)*before.M+n]
				if cmplx.Abs(got-want) > 1e-12*cmplx.Abs(want) {
					t.Errorf("%s: channel %d: weight %d is %v, expected %v", name, h, i, got, want)
				}
			}
		}
	}
}

// PruneGlobal leaves the states with the highest LAST scores of the network, whatever their layer
// and SSM.
func TestPruneGlobal(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"dfout":              func(c *Config) { c.SSMLayers, c.NLayers = 2, 3 },
		"dss":                dss,
		"discrete":           discrete,
		"lin, bidirectional": func(c *Config) { c.SSM.Init, c.SSM.Bidirectional, c.SSM.NSSM = ssm.Lin, true, 2 },
	} {
		m := must.Get(New(pruneConfig(change), 1))(t)
		for i := range m.Weights.Layers[1].C { // another distribution of scores
			m.Weights.Layers[1].C[i] *= float32(1 + i%7)
		}
		var scores []float64
		for i := range m.Config.CountSSM() {
			scores = append(scores, m.SSMParams(i).Discretize(ssm.ZOH, 1).Gains().LAST()...)
		}
		slices.Sort(scores)
		for _, want := range []int{1, len(scores) / 5, len(scores) / 2, len(scores)} {
			p, remaining, err := m.PruneGlobal(float64(want) / float64(len(scores)))
			must.Do(t, err)
			must.Do(t, p.Config.Validate())
			least := scores[len(scores)-want]
			kept, most := 0, 0
			for i := range m.Config.CountSSM() {
				n, largest := checkThreshold(t, name, m.SSMParams(i).Discretize(ssm.ZOH, 1), p.SSMParams(i).Discretize(ssm.ZOH, 1), least)
				kept, most = kept+n, max(most, largest)
				if n == 0 {
					t.Errorf("%s: no mode of layer %d remains", name, i)
				}
			}
			must.Equal(t, kept, max(want, m.Config.CountSSM()), "%s: modes that remain of %d", name, len(scores))
			must.Equal(t, remaining, kept, "%s: modes that remain", name)
			must.Equal(t, p.Config.SSM.Modes(), most, "%s: modes per SSM", name)
		}
	}
	m := must.Get(New(pruneConfig(func(*Config) {}), 1))(t)
	if _, _, err := m.PruneGlobal(0); err == nil || !strings.Contains(err.Error(), "keep") {
		t.Errorf("keep 0: error %v", err)
	}
}

// checkThreshold checks that the modes of a layer with at least this score remain, and no others.
// It returns their number, in all and in the SSM that has most.
func checkThreshold(t *testing.T, name string, before, after *ssm.Discrete, least float64) (kept, most int) {
	t.Helper()
	score, tolerance := before.Gains().LAST(), 1e-12
	if name == "unit gain" {
		tolerance = 2e-7 // C makes up for the B̄ of fewer modes, up to its rounding
	}
	for h := range before.H {
		in := 0
		for n := range before.M {
			i := slices.Index(after.LogLambda[h*after.M:(h+1)*after.M], before.LogLambda[h*before.M+n])
			for dir := range before.Directions {
				var got, want complex128
				if i >= 0 {
					got = after.W[(dir*after.H+h)*after.M+i]
				}
				if score[h*before.M+n] >= least {
					want = before.W[(dir*before.H+h)*before.M+n]
				}
				if cmplx.Abs(got-want) > tolerance*cmplx.Abs(want) {
					t.Errorf("%s: channel %d, mode %d: weight %v, expected %v", name, h, n, got, want)
				}
			}
			if score[h*before.M+n] >= least {
				in++
			}
		}
		kept, most = kept+in, max(most, in)
	}
	return kept, most
}

func TestPruneRejects(t *testing.T) {
	m := must.Get(New(pruneConfig(func(*Config) {}), 1))(t)
	for _, keep := range []float64{0, -1, 1.5} {
		if _, err := m.Prune(keep); err == nil || !strings.Contains(err.Error(), "keep") {
			t.Errorf("keep %v: error %v", keep, err)
		}
	}
}
