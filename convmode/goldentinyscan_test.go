package convmode

import (
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// TestTinyScansGolden trains tiny networks of S5 and LRU layers, in the blocks of the original
// code, as TestTinyGolden does.
func TestTinyScansGolden(t *testing.T) {
	for _, kind := range []string{"s5", "s5-bidirectional", "lru"} {
		t.Run(kind, func(t *testing.T) {
			g, c := loadTinyLayers(t, kind), tiny()
			c.DInput, c.DOutput, c.DModel, c.NLayers, c.PreNorm, c.Activation = golden.TinyInputs, 5, 8, 2, true, model.ActivationGELUTanh
			ssmRate := 0.001
			if kind == "lru" {
				c.SSM, c.NormEps, ssmRate = lru(8), 1e-6, 0.002
			} else {
				c.SSM, c.Norm, c.NormMomentum, c.NormBiased, c.Mixing = s5(16), model.NormBatch, 0.05, true, model.MixingHalfGLU1
				c.SSM.Bidirectional = kind == "s5-bidirectional"
			}
			m := must.Get(model.New(c, 1))(t)
			for _, tensor := range m.Weights.Tensors() {
				if tensor.Kind != model.KindBuffer {
					values := tinyScanTensor(tensor.Name, g.Parameters)
					must.Equal(t, len(values), len(tensor.Data), "values of %s", tensor.Name)
					copy(tensor.Data, narrow(values))
				}
			}
			opt := newAdamW(m)
			opt.rates = func(tensor model.Tensor) (lr, decay float64) {
				switch tensor.Kind {
				case model.KindStep, model.KindDecay, model.KindFreq, model.KindB:
					return ssmRate, 0
				case model.KindBuffer:
					return 0, 0
				}
				return 0.004, 0.05
			}
			trainGolden(t, opt, g.Losses, 2e-6, func(gradient model.Tensor) {
				if gradient.Kind != model.KindBuffer {
					ofLargest(t, "gradient of "+gradient.Name, gradient.Data, tinyScanTensor(gradient.Name, g.Gradients), 1e-5)
				}
			})
			for name, want := range g.Running {
				var layer int
				if strings.HasPrefix(name, "layers.1.") {
					layer = 1
				}
				got := m.Weights.Layers[layer].RunningMean
				if strings.HasSuffix(name, "var") {
					got = m.Weights.Layers[layer].RunningVar
				}
				ofLargest(t, name, got, want, 1e-5)
			}
		})
	}
}

// tinyScanTensor returns the golden values of one of our tensors. The original code stores dense
// kernels as [in][out], the halves of the GLU as two layers, and may store the parts of a complex
// tensor, or the C of both directions, apart.
func tinyScanTensor(name string, values map[string]golden.Gradient) []float64 {
	dense := func(name string) []float64 {
		g := values[name]
		if len(g.Shape) < 2 {
			return g.Values
		}
		var y []float64
		for out := range g.Shape[1] {
			for in := range g.Shape[0] {
				y = append(y, g.Values[in*g.Shape[1]+out])
			}
		}
		return y
	}
	at := strings.LastIndex(name, ".")
	prefix, own := name[:at+1], name[at+1:]
	kernel := strings.Replace(own, "weight", "kernel", 1)
	switch {
	case strings.HasSuffix(prefix, "mix."):
		prefix = strings.TrimSuffix(prefix, "mix.")
		return append(dense(prefix+"out1."+kernel), dense(prefix+"out2."+kernel)...)
	case strings.HasSuffix(prefix, "norm."):
		return values[prefix+strings.Replace(own, "weight", "scale", 1)].Values
	case !strings.HasPrefix(prefix, "layers."):
		return dense(prefix + kernel)
	}
	own = prefix + "seq." + own
	if g, ok := values[own]; ok {
		return g.Values
	}
	if g, ok := values[own+"1"]; ok {
		return append(g.Values[:len(g.Values):len(g.Values)], values[own+"2"].Values...)
	}
	var y []float64
	for i, re := range values[own+"_re"].Values {
		y = append(y, re, values[own+"_im"].Values[i])
	}
	return y
}
