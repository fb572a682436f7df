package convmode

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// TestTinyLayersGolden trains tiny networks of other layers as TestTinyGolden does.
func TestTinyLayersGolden(t *testing.T) {
	for kind, layer := range map[string]ssm.Config{
		"dss": {Layer: ssm.LayerDSS, DState: 16, Init: ssm.Imported, Disc: ssm.ZOH, TrainB: true, LKernel: golden.TinyLen},
		"s4":  {Layer: ssm.LayerS4, DState: 16, Init: ssm.Imported, Disc: ssm.Bilinear, LKernel: golden.TinyLen},
	} {
		t.Run(kind, func(t *testing.T) {
			g := loadTinyLayers(t, kind)
			m := goldenModel(t, layer, g.Parameters)
			opt := newAdamW(m)
			opt.rates = func(tensor model.Tensor) (lr, decay float64) {
				switch tensor.Kind {
				case model.KindStep, model.KindDecay, model.KindFreq, model.KindB, model.KindP:
					return 0.001, 0
				case model.KindC:
					return 0.001, 0.01
				}
				return 0.01, 0.01
			}
			trainGolden(t, opt, g.Losses, 1e-5, func(gradient model.Tensor) {
				within(t, "gradient of "+gradient.Name, gradient.Data, official(gradient.Name, g.Gradients), 1e-5)
			})
		})
	}
}

// goldenModel returns a post-norm network of the tiny networks' size with golden parameters.
func goldenModel(t *testing.T, layer ssm.Config, parameters map[string]golden.Gradient) *model.Model {
	t.Helper()
	c := tiny()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM = golden.TinyInputs, 5, 8, 2, layer
	must.Do(t, c.Validate())
	m := &model.Model{Config: c, Weights: model.NewWeights(c)}
	for _, tensor := range m.Weights.Tensors() {
		values := official(tensor.Name, parameters)
		must.Equal(t, len(values), len(tensor.Data), "values of %s", tensor.Name)
		copy(tensor.Data, narrow(values))
	}
	return m
}

// official returns the golden values of one of our tensors. The official code stores −Im A.
func official(name string, values map[string]golden.Gradient) []float64 {
	theirs := pyTorchName(name)
	if prefix, own, ok := strings.Cut(theirs, ".kernel."); ok {
		switch own {
		case "log_dt":
			own = "inv_dt"
		case "log_A_real":
			own = "A_real"
		}
		theirs = prefix + ".layer.kernel." + own
	}
	if prefix, ok := strings.CutSuffix(theirs, ".D"); ok {
		theirs = prefix + ".layer.D"
	}
	x := values[theirs].Values
	if strings.HasSuffix(theirs, ".A_imag") {
		x = slices.Clone(x)
		for i := range x {
			x[i] = -x[i]
		}
	}
	return x
}

// TestGoldenDSSLengths compares DSS layers of other lengths and step scales with the official code.
// The normaliser spans as many taps as the kernel has, so that every length is another layer.
func TestGoldenDSSLengths(t *testing.T) {
	g := golden.Load[golden.DSS](t, "layer-dss")
	for _, call := range g.Lengths.Cases {
		t.Run(call.Name, func(t *testing.T) {
			s := g.Negative.Config
			taps := len(call.Kernel) / s.H
			c := bare(s.H, ssm.Config{
				Layer: ssm.LayerDSS, DState: s.N, Init: ssm.Imported, Disc: ssm.ZOH, TrainB: true, LKernel: int(math.Round(float64(taps) * call.StepScale)),
			})
			compareCall(t, goldenLayer(t, c, &g.Negative), call, taps)
		})
	}
}

// Kernels and outputs at other lengths and step scales, all from the same C: C̃ is doubled,
// truncated or kept.
func TestGoldenS4Lengths(t *testing.T) {
	for _, init := range []string{"legs", "fout"} {
		g := golden.Load[golden.S4](t, "layer-s4-"+init)
		for _, c := range g.Lengths.Cases {
			t.Run(init+", "+c.Name, func(t *testing.T) {
				for _, call := range c.Calls {
					first, taps := c.Calls[0].Length, call.L
					if c.LMax > 0 { // l_max cuts the kernel, which l_kernel does not
						taps = min(taps, int(math.Round(float64(c.LMax)/call.StepScale)))
					}
					s := g.Untied.Config
					cfg := bare(s.H, ssm.Config{
						Layer: ssm.LayerS4, DState: s.N, Init: ssm.Imported, Disc: ssm.Bilinear, RateRule: ssm.RateKeep, NSSM: s.Copies,
					})
					m := goldenLayer(t, cfg, &g.Untied.KernelLayer)
					copy(m.Weights.Layers[0].C, narrow(g.Untied.C))
					p := m.SSMParams(0) // C̃ of the first call's length
					p.TruncateChannels(1, first, 0, s.H)
					m.Config.SSM.LKernel, m.Config.SSM.LMax = first, c.LMax
					for i, v := range p.C {
						m.Weights.Layers[0].C[2*i], m.Weights.Layers[0].C[2*i+1] = float32(real(v)), float32(imag(v))
					}
					must.Equal(t, newRankOnePlan(m.Config.SSM, call.StepScale, taps).length, call.Length, "length of C̃")
					compareCall(t, m, call, taps)
				}
			})
		}
	}
}

// compareCall compares the kernel of a bare, causal network with the golden one. If there is a
// golden output, it also compares the output.
func compareCall(t *testing.T, m *model.Model, call golden.KernelCall, taps int) {
	t.Helper()
	source, plan := newKernelSource(m.Config, call.StepScale, nil), newKernelPlan(m.Config, call.StepScale, taps)
	source.fill(&m.Weights.Layers[0])
	var k []float32
	for h := range m.Config.DModel {
		row := make([]float32, taps)
		source.discretize(h)
		source.kernels(plan, make([]float32, plan.ScratchLen()), h, row, nil)
		k = append(k, row...)
	}
	ofLargest(t, "kernel", k, call.Kernel, 1e-5)
	if call.Y == nil {
		return
	}
	length := call.L
	if m.Config.SSM.Layer == ssm.LayerDSS { // kernels of DSS continue after l_max
		length = taps
	}
	u, _ := golden.LayerInput(1, m.Config.DModel, length)
	n := newNet(t, m, Options{MaxBatch: 1, MaxLen: length, Workers: 2, StepScale: call.StepScale})
	var want []float64
	for row := range slices.Chunk(call.Y, call.L) {
		want = append(want, row[:length]...)
	}
	ofLargest(t, "y", n.Forward(Batch{Size: 1, Len: length, X: narrow(u)}), want, 1e-5)
}

// bare is a network that computes nothing but one SSM of h channels.
func bare(h int, layer ssm.Config) model.Config {
	c := tiny()
	c.Activation, c.Mixing, c.Norm, c.Residual = model.ActivationNone, model.MixingNone, model.NormNone, false
	c.Pool, c.NLayers = model.PoolNone, 1
	c.DInput, c.DOutput, c.DModel, c.SSM = h, h, h, layer
	return c
}

// goldenLayer returns a bare network with golden parameters, whose encoder and decoder are the
// identity.
func goldenLayer(t *testing.T, c model.Config, g *golden.KernelLayer) *model.Model {
	t.Helper()
	must.Do(t, c.Validate())
	m := &model.Model{Config: c, Weights: model.NewWeights(c)}
	for i := range c.DModel {
		m.Weights.EncoderWeight[i*c.DModel+i], m.Weights.DecoderWeight[i*c.DModel+i] = 1, 1
	}
	for _, tensor := range m.Weights.Tensors() {
		if own, ok := strings.CutPrefix(tensor.Name, "layers.0."); ok {
			for i, v := range nested(own, g.Parameters) {
				if own == "log_dt" && g.Config.DtTransform == "softplus" {
					v = math.Log(math.Log1p(math.Exp(v)))
				}
				tensor.Data[i] = float32(v)
			}
		}
	}
	return m
}

// nested returns a copy of the golden values of one of our tensors of an SSM.
func nested(own string, values map[string]golden.Nested) []float64 {
	theirs := strings.NewReplacer("log_dt", "inv_dt", "log_A_real", "A_real").Replace(own)
	x := slices.Clone([]float64(values[theirs]))
	if own == "A_imag" {
		for i := range x {
			x[i] = -x[i]
		}
	}
	return x
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
