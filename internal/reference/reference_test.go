package reference_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/reference"
	"github.com/s4d-fast/s4d-fast/internal/reference/frommodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// options are networks that together use every option.
var options = map[string]func(c *model.Config){
	"default":       func(c *model.Config) {},
	"prenorm":       func(c *model.Config) { c.PreNorm, c.FinalNorm = true, true },
	"batch norm":    func(c *model.Config) { c.Norm = model.NormBatch },
	"batch prenorm": func(c *model.Config) { c.Norm, c.PreNorm, c.FinalNorm = model.NormBatch, true, true },
	"no norm":       func(c *model.Config) { c.Norm = model.NormNone },
	"no residual":   func(c *model.Config) { c.Residual = false },
	"linear mixing": func(c *model.Config) { c.Mixing = model.MixingLinear },
	"tanh GELU":     func(c *model.Config) { c.Activation, c.NormEps = model.ActivationGELUTanh, 0.1 },
	"half-glu1, biased": func(c *model.Config) {
		c.Mixing, c.Norm, c.PreNorm, c.NormMomentum, c.NormBiased = model.MixingHalfGLU1, model.NormBatch, true, 0.05, true
	},
	"half-glu2":              func(c *model.Config) { c.Mixing, c.Activation = model.MixingHalfGLU2, model.ActivationGELUTanh },
	"half-glu2, dropout":     func(c *model.Config) { c.Mixing, c.Dropout = model.MixingHalfGLU2, 0.3 },
	"no mixing":              func(c *model.Config) { c.Mixing, c.Activation = model.MixingNone, model.ActivationNone },
	"last":                   func(c *model.Config) { c.Pool = model.PoolLast },
	"every position":         func(c *model.Config) { c.Pool = model.PoolNone },
	"tokens":                 func(c *model.Config) { c.Encoder, c.DInput = model.EncoderEmbedding, 5 },
	"lin":                    func(c *model.Config) { c.SSM.Init = ssm.Lin },
	"legs with B":            func(c *model.Config) { c.SSM.Init, c.SSM.TrainB = ssm.LegS, true },
	"bilinear":               func(c *model.Config) { c.SSM.Init, c.SSM.Disc = ssm.Inv, ssm.Bilinear },
	"tied":                   func(c *model.Config) { c.SSM.Init, c.SSM.NSSM, c.SSM.TrainB = ssm.Lin, 2, true },
	"bidirectional":          func(c *model.Config) { c.SSM.Bidirectional = true },
	"truncated":              func(c *model.Config) { c.SSM.LMax, c.SSM.Bidirectional = 4, true },
	"pairs":                  func(c *model.Config) { c.Pairs = true },
	"pairs, last":            func(c *model.Config) { c.Pairs, c.Pool = true, model.PoolLast },
	"one SSM of two":         func(c *model.Config) { c.SSMLayers, c.PreNorm = 1, true },
	"on the circle":          func(c *model.Config) { c.SSM.AReal = 0 },
	"continuous":             func(c *model.Config) { c.SSM.Param = ssm.ParamContinuous },
	"width, B":               func(c *model.Config) { c.SSM.Param, c.SSM.TrainB = ssm.ParamWidth, true },
	"band limit":             func(c *model.Config) { c.SSM.Bandlimit = 0.4 },
	"dropout":                func(c *model.Config) { c.Dropout = 0.3 },
	"another step scale":     func(c *model.Config) {},
	"decimated":              func(c *model.Config) { c.SSM.RateRule = ssm.RateDecimate },
	"another step scale lin": func(c *model.Config) { c.SSM.Init = ssm.Lin },
}

const size, length = 3, 9

// build returns a small random network of an option, with a batch of uneven lengths.
func build(t *testing.T, name string) (*model.Model, *reference.Network, reference.Batch) {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 2, 3, 4, 2, 4
	c.SSM.DtMin, c.SSM.XiMin = 0.05, 0.05 // fast kernels
	options[name](&c)
	m := must.Get(model.New(c, 3))(t)
	moveAngles(m)
	stepScale := 1.0
	if name == "another step scale" || name == "another step scale lin" || name == "decimated" {
		stepScale = 2
	}
	r := random.New(1, random.Signal, 0, 0)
	b := reference.Batch{Size: size, Len: length, Lengths: []int{length, 4, 7}, Train: true}
	for i := range size * length {
		b.Tokens = append(b.Tokens, int(r.Uint64(uint64(i))%uint64(c.DInput)))
		b.X = append(b.X, r.Normal(uint64(2*i)), r.Normal(uint64(2*i+1)))
	}
	if c.Pairs {
		b.Size = 2
	}
	if c.Dropout > 0 {
		for range c.NLayers {
			b.Inner, b.Outer = append(b.Inner, factors(r, 100, c)), append(b.Outer, factors(r, 200, c))
		}
	}
	return m, frommodel.Network(m, stepScale), b
}

func factors(r random.Stream, from uint64, c model.Config) []float64 {
	f := make([]float64, size*c.DModel)
	for i := range f {
		if r.Float64(from+uint64(i)) >= c.Dropout {
			f[i] = 1 / (1 - c.Dropout)
		}
	}
	return f
}

// loss is a fixed random linear form of the logits.
func loss(logits []float64) (sum float64, grad []float64) {
	r := random.New(2, random.Signal, 0, 0)
	grad = make([]float64, len(logits))
	for i, v := range logits {
		grad[i] = r.Normal(uint64(i)) + v
		sum += r.Normal(uint64(i))*v + v*v/2
	}
	return sum, grad
}

func TestGradientsByDifferences(t *testing.T) {
	for name := range options {
		t.Run(name, func(t *testing.T) {
			m, n, b := build(t, name)
			tape := n.Forward(b)
			_, dLogits := loss(tape.Logits)
			grads := frommodel.Arrays(m, n.Backward(tape, dLogits))
			for _, tensor := range m.Weights.Tensors() {
				if tensor.Kind == model.KindBuffer {
					continue
				}
				for i := range grads[tensor.Name] {
					want := difference(n, b, at(m, n, tensor.Name, i))
					got := grads[tensor.Name][i]
					if !(math.Abs(got-want) < 1e-8*(1+math.Abs(want))) {
						t.Fatalf("%s[%d]: gradient %.10g, by differences %.10g", tensor.Name, i, got, want)
					}
				}
			}
		})
	}
}

// moveAngles gives u, which starts at 0, other values.
func moveAngles(m *model.Model) {
	r := random.New(4, random.Noise, 0, 0)
	for _, tensor := range m.Weights.Tensors() {
		for i := range tensor.Data {
			if strings.HasSuffix(tensor.Name, ".u") {
				tensor.Data[i] = float32(r.Normal(uint64(i)))
			}
		}
	}
}

// at returns a function that adds to element i of a parameter.
func at(m *model.Model, n *reference.Network, name string, i int) func(float64) {
	var layer int
	var field string
	if fmt.Sscanf(name, "layers.%d.%s", &layer, &field); field == "B" || field == "C" {
		x := n.Layers[layer].B
		if field == "C" {
			x = n.Layers[layer].C
		}
		unit := complex(1, 0)
		if i%2 == 1 {
			unit = 1i
		}
		return func(v float64) { x[i/2] += complex(v, 0) * unit }
	}
	x := frommodel.Arrays(m, n)[name]
	return func(v float64) { x[i] += v }
}

// difference is the central difference of the loss, extrapolated from two steps.
func difference(n *reference.Network, b reference.Batch, add func(float64)) float64 {
	slope := func(h float64) float64 {
		add(h)
		up, _ := loss(n.Forward(b).Logits)
		add(-2 * h)
		down, _ := loss(n.Forward(b).Logits)
		add(h)
		return (up - down) / (2 * h)
	}
	return (4*slope(1e-4) - slope(2e-4)) / 3
}

// fromTorch maps a tensor's name to PyTorch's.
func fromTorch(name string) string {
	var layer int
	var field string
	if n, _ := fmt.Sscanf(name, "layers.%d.%s", &layer, &field); n < 2 {
		return name
	}
	switch field {
	case "D":
		return fmt.Sprintf("s4_layers.%d.D", layer)
	case "mix.weight", "mix.bias":
		return fmt.Sprintf("s4_layers.%d.output_linear.0.%s", layer, field[4:])
	case "norm.weight", "norm.bias":
		return fmt.Sprintf("norms.%d.%s", layer, field[5:])
	}
	return fmt.Sprintf("s4_layers.%d.kernel.%s", layer, field)
}

// The loss and the gradients of two small networks agree with PyTorch's in float64.
func TestGoldenGradients(t *testing.T) {
	for _, name := range []string{"postnorm", "prenorm"} {
		t.Run(name, func(t *testing.T) {
			g := golden.LoadTiny(t, name)
			m := must.Get(model.ImportPyTorch(g.WritePth(t), model.ImportOptions{PreNorm: name == "prenorm"}))(t)
			x, labels := golden.TinyInput()
			n := frommodel.Network(m, 1)
			tape := n.Forward(reference.Batch{Size: golden.TinyBatch, Len: golden.TinyLen, X: x, Train: true})
			loss, dLogits := crossEntropy(tape.Logits, labels)
			if !(math.Abs(loss-g.Losses[0]) < 1e-10) {
				t.Errorf("loss is %.12f, expected %.12f", loss, g.Losses[0])
			}
			compareGradients(t, g, m, n.Backward(tape, dLogits))
		})
	}
}

// crossEntropy returns the mean over the batch of −log softmax(logits)[label], and its gradient.
func crossEntropy(logits []float64, labels []int) (loss float64, grad []float64) {
	k := len(logits) / len(labels)
	grad = make([]float64, len(logits))
	for i, label := range labels {
		row := logits[i*k : (i+1)*k]
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(v)
		}
		size := float64(len(labels))
		loss += (math.Log(sum) - row[label]) / size
		for j, v := range row {
			grad[i*k+j] = math.Exp(v) / sum / size
		}
		grad[i*k+label] -= 1 / size
	}
	return loss, grad
}

func compareGradients(t *testing.T, g *golden.Tiny, m *model.Model, grads *reference.Network) {
	t.Helper()
	arrays := frommodel.Arrays(m, grads)
	for _, tensor := range m.Weights.Tensors() {
		want := g.Gradients[fromTorch(tensor.Name)].Values
		got := arrays[tensor.Name]
		if len(got) != len(want) {
			t.Fatalf("%s: %d gradients, golden %d", tensor.Name, len(got), len(want))
		}
		var diff, norm float64
		for i, w := range want {
			diff += (got[i] - w) * (got[i] - w)
			norm += w * w
		}
		if !(math.Sqrt(diff/norm) < 1e-10) {
			t.Errorf("%s: relative error %.3g", tensor.Name, math.Sqrt(diff/norm))
		}
	}
}
