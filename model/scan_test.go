package model

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// scanConfigs are networks of S5 and LRU layers, with P modes.
func scanConfigs(p int) map[ssm.Layer]Config {
	s5, lru := Default(), Default()
	s5.DModel, s5.NLayers, s5.SSM = 6, 2, ssm.Config{Layer: ssm.LayerS5, DState: 2 * p, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 1e-3, DtMax: 0.1}
	lru.DModel, lru.NLayers, lru.SSM = 6, 2, ssm.Config{Layer: ssm.LayerLRU, DState: p, Init: ssm.Ring, Disc: ssm.ZOH}
	return map[ssm.Layer]Config{ssm.LayerS5: s5, ssm.LayerLRU: lru}
}

// A layer has 3P + 4PH + H parameters, and 2PH more if it is bidirectional.
func TestScanTensors(t *testing.T) {
	const p, h = 5, 6
	names := map[ssm.Layer][]string{
		ssm.LayerS5:  {"Lambda_re", "Lambda_im", "log_step", "B", "C", "D"},
		ssm.LayerLRU: {"nu_log", "theta_log", "gamma_log", "B", "C", "D"},
	}
	for layer, c := range scanConfigs(p) {
		both := c
		both.SSM.Bidirectional = true
		must.Equal(t, both.CountParams()-c.CountParams(), 2*2*p*h, "%s: parameters of the second direction", layer)
		m := must.Get(New(c, 1))(t)
		// The rate of steps has no effect in an LRU (docs/configuration.md).
		count, rates := 0, GroupConfig{Recipe: RecipeDefault, LR: 0.01, SSMLR: 0.002, StepLR: FollowRule, WeightDecay: 0.1}
		if layer == ssm.LayerLRU {
			rates.StepLR = 0.5
		}
		for _, name := range names[layer] {
			i := slices.IndexFunc(m.Weights.Tensors(), func(x Tensor) bool { return x.Name == "layers.1."+name })
			if i < 0 {
				t.Fatalf("%s has no tensor %q", layer, name)
			}
			x := m.Weights.Tensors()[i]
			count += len(x.Data)
			lr, decay := rates.Hyper(x)
			if name == "C" || name == "D" {
				must.Equal(t, [2]float64{lr, decay}, [2]float64{0.01, 0.1}, "%s: rate and decay of %s", layer, name)
			} else {
				must.Equal(t, [2]float64{lr, decay}, [2]float64{0.002, 0}, "%s: rate and decay of %s", layer, name)
			}
		}
		must.Equal(t, count, 3*p+4*p*h+h, "%s: parameters", layer)
		if slices.Max(m.Weights.Layers[1].B) == 0 {
			t.Errorf("%s: B is 0", layer)
		}
	}
}

// The PyTorch export is an error.
func TestScanUnsupported(t *testing.T) {
	for layer, c := range scanConfigs(4) {
		m := must.Get(New(c, 1))(t)
		must.Fail(t, m.ExportPyTorch(filepath.Join(t.TempDir(), "m.pth")), `layer "`+string(layer)+`"`)
	}
}
