package model

import (
	"math"
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
	c.SSM.DState, c.SSM.DtMin, c.SSM.XiMin = 16, 0.05, 0.05
	change(&c)
	return c
}

// A pruned SSM has the poles and inputs of some modes. What is lost is the energy of the change of
// its output. All other tensors are unchanged.
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
			if p.Config.SSM.Modes() != kept || p.Config.Validate() != nil {
				t.Fatalf("%s: %d modes, expected %d; %v", name, p.Config.SSM.Modes(), kept, p.Config.Validate())
			}
			if !slices.Equal(p.Weights.DecoderWeight, m.Weights.DecoderWeight) {
				t.Errorf("%s: the decoder's weights changed", name)
			}
			if !slices.Equal(p.Weights.Layers[1].MixWeight, m.Weights.Layers[1].MixWeight) {
				t.Errorf("%s: the second layer's mixing weights changed", name)
			}
			energy, change := 0.0, 0.0
			for i := range m.Config.NLayers {
				whole, changed := checkPruned(t, name, m.SSMParams(i), p.SSMParams(i))
				energy, change = energy+whole, change+changed
			}
			if want := change / energy; math.Abs(lost-want) > 1e-5*want+1e-12 || (kept == modes) != (lost == 0) {
				t.Errorf("%s, %d of %d modes: %g is lost, expected %g", name, kept, modes, lost, want)
			}
		}
	}
}

// checkPruned returns the energy of the outputs of a layer's SSMs, and of their change, from the
// kernels.
func checkPruned(t *testing.T, name string, from, to *ssm.Params) (energy, change float64) {
	t.Helper()
	const taps = 3000
	before, after := from.Discretize(ssm.ZOH, 1), to.Discretize(ssm.ZOH, 1)
	for i, a := range after.LogLambda {
		h := i / after.M
		n := slices.Index(before.LogLambda[h*before.M:(h+1)*before.M], a)
		if n < 0 || after.BBar[i] != before.BBar[h*before.M+n] {
			t.Errorf("%s: channel %d: mode %d is not one of the %d", name, h, i%after.M, before.M)
		}
	}
	small := after.Kernel(taps)
	for row, k := range before.Kernel(taps) {
		var sum, sumChange float64 // Σ K[k]·0.9^(l−k) over k < l
		for l, x := range k {
			d := x - small[row][l]
			energy, change = energy+x*x+2*x*sum, change+d*d+2*d*sumChange
			sum, sumChange = 0.9*(sum+x), 0.9*(sumChange+d)
		}
	}
	return energy, change
}

func TestPruneRejects(t *testing.T) {
	m := must.Get(New(pruneConfig(func(*Config) {}), 1))(t)
	for _, keep := range []float64{0, -1, 1.5} {
		if _, _, err := m.Prune(keep); err == nil || !strings.Contains(err.Error(), "keep") {
			t.Errorf("keep %v: error %v", keep, err)
		}
	}
	m = must.Get(New(pruneConfig(dss), 1))(t)
	for i := range m.Weights.Layers[1].Decay { // Re λ > 0
		m.Weights.Layers[1].Decay[i] = -0.1
	}
	if _, _, err := m.Prune(0.5); err == nil || !strings.Contains(err.Error(), "layer 1 has modes that grow") {
		t.Errorf("modes that grow: error %v", err)
	}
}
