package reference

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

const tinyModel, tinyModes = 8, 8 // H, and P, N or M of the golden networks

// The golden networks with other layers: losses, gradients and running statistics. The golden
// gradients are exact to 2e-13 of a tensor's largest value.
func TestGoldenNetworks(t *testing.T) {
	for _, kind := range []string{"dss", "s4", "s5", "s5-bidirectional", "lru"} {
		t.Run(kind, func(t *testing.T) {
			g := golden.LoadTinyLayers(t, kind)
			n := tinyNetwork(kind, g.Parameters)
			x, labels := golden.TinyInput()
			b := Batch{Size: golden.TinyBatch, Len: golden.TinyLen, X: x, Train: true}
			states := map[string]*AdamW{}
			for step, want := range g.Losses {
				tape := n.Forward(b)
				loss, d := CrossEntropy(tape.Logits, labels)
				if !(math.Abs(loss-want) < 1e-12) {
					t.Errorf("loss before step %d is %.14f, expected %.14f", step, loss, want)
				}
				grads := n.tensors(n.Backward(tape, d))
				if step == 0 {
					closeTo(t, "logits", tape.Logits, g.Logits, 1e-12)
					compareTiny(t, kind, g, grads)
				}
				for name, p := range n.tensors(n) {
					if states[name] == nil {
						states[name] = &AdamW{}
					}
					values := p.values()
					lr, decay := tinyRates(kind, name)
					states[name].Update(values, grads[name].values(), lr, decay)
					p.set(values)
				}
				for i := range n.Layers {
					norm := &tape.Blocks[i].NormTape
					n.Layers[i].Norm.Mean, n.Layers[i].Norm.Var = norm.Mean, norm.Var
				}
			}
			must.Equal(t, len(g.Running) > 0, n.NormKind == "batch", "running statistics")
			for name, want := range g.Running {
				var layer int
				var field string
				must.Get(fmt.Sscanf(name, "layers.%d.norm.%s", &layer, &field))(t)
				got := n.Layers[layer].Norm.Mean
				if field == "var" {
					got = n.Layers[layer].Norm.Var
				}
				closeTo(t, name, got, want, 1e-12)
			}
		})
	}
}

// compareTiny compares the gradients of all tensors.
func compareTiny(t *testing.T, kind string, g *golden.TinyLayers, grads map[string]parameter) {
	t.Helper()
	must.Equal(t, len(grads), len(tinyTensors(kind, g.Gradients)), "gradients")
	for name, want := range tinyTensors(kind, g.Gradients) {
		closeTo(t, "gradient of "+name, grads[name].values(), want, 2e-12)
	}
}

// tinyRates returns the learning rate and the weight decay of a tensor.
func tinyRates(kind, name string) (lr, decay float64) {
	name = name[strings.LastIndex(name, ".")+1:]
	switch kind {
	case "dss", "s4":
		switch name {
		case "inv_dt", "A_real", "A_imag", "B", "P":
			return 0.001, 0
		case "C":
			return 0.001, 0.01
		}
		return 0.01, 0.01
	case "lru":
		if slices.Contains([]string{"nu_log", "theta_log", "gamma_log", "B"}, name) {
			return 0.002, 0
		}
	default:
		if slices.Contains([]string{"Lambda_re", "Lambda_im", "log_step", "B"}, name) {
			return 0.001, 0
		}
	}
	return 0.004, 0.05
}

// tinyNetwork builds a golden network.
func tinyNetwork(kind string, p map[string]golden.Gradient) *Network {
	n := &Network{Config: Config{
		DInput: golden.TinyInputs, DOutput: 5, H: tinyModel, NLayers: 2, NormKind: "layer", NormEps: 1e-5,
		Residual: true, Activation: "gelu", Mixing: "glu", Pool: "mean",
	}, EncW: zeros(16), EncB: zeros(8), DecW: zeros(40), DecB: zeros(5)}
	switch kind {
	case "s5", "s5-bidirectional":
		n.NormKind, n.NormMomentum, n.NormBiased = "batch", 0.05, true
		n.PreNorm, n.Activation, n.Mixing = true, "gelu-tanh", "half-glu1"
	case "lru":
		n.NormEps, n.PreNorm, n.Activation = 1e-6, true, "gelu-tanh"
	}
	rows := 2 * tinyModel
	if n.Mixing == "half-glu1" {
		rows = tinyModel
	}
	for range n.NLayers {
		n.Layers = append(n.Layers, Layer{
			Other: tinySequence(kind), MixW: zeros(rows * tinyModel), MixB: zeros(rows),
			Norm: Norm{Weight: zeros(8), Bias: zeros(8), Mean: zeros(8), Var: slices.Repeat([]float64{1}, 8)},
		})
	}
	values := tinyTensors(kind, p)
	for name, t := range n.tensors(n) {
		t.set(values[name])
	}
	return n
}

// tinySequence returns a layer of zeros.
func tinySequence(kind string) Sequence {
	z := func(n int) []complex128 { return make([]complex128, n) }
	const size = tinyModel * tinyModes
	k := KernelLayer{
		H: tinyModel, M: tinyModes, Copies: tinyModel, StepScale: 1, InvDt: zeros(8),
		AReal: zeros(size), AImag: zeros(size), B: z(size), C: z(size), D: zeros(8),
	}
	switch kind {
	case "dss":
		return &DSS{KernelLayer: k}
	case "s4":
		return &S4{KernelLayer: k, P: z(size), Length: golden.TinyLen}
	case "lru":
		return &LRU{H: 8, N: 8, NuLog: zeros(8), ThetaLog: zeros(8), GammaLog: zeros(8), B: z(size), C: z(size), D: zeros(8)}
	}
	s := &S5{
		H: 8, P: 8, StepScale: 1, LambdaRe: zeros(8), LambdaIm: zeros(8), LogStep: zeros(8),
		B: z(size), C: z(size), D: zeros(8),
	}
	if kind == "s5-bidirectional" {
		s.C = z(2 * size)
	}
	return s
}

// tensors returns the arrays of x, which is n or a gradient, by names of their own.
func (n *Network) tensors(x *Network) map[string]parameter {
	list := map[string]parameter{
		"encoder.weight": {real: x.EncW}, "encoder.bias": {real: x.EncB},
		"decoder.weight": {real: x.DecW}, "decoder.bias": {real: x.DecB},
	}
	for i := range x.Layers {
		l := &x.Layers[i]
		arrays := map[string]parameter{
			"mix.weight": {real: l.MixW}, "mix.bias": {real: l.MixB},
			"norm.weight": {real: l.Norm.Weight}, "norm.bias": {real: l.Norm.Bias},
		}
		var own map[string]parameter
		switch s := l.Other.(type) {
		case *DSS:
			own = s.parameters()
		case *S4:
			own = s.parameters()
		case *S5:
			own = map[string]parameter{
				"Lambda_re": {real: s.LambdaRe}, "Lambda_im": {real: s.LambdaIm}, "log_step": {real: s.LogStep},
				"B": {complex: s.B}, "C": {complex: s.C}, "D": {real: s.D},
			}
		case *LRU:
			own = map[string]parameter{
				"nu_log": {real: s.NuLog}, "theta_log": {real: s.ThetaLog}, "gamma_log": {real: s.GammaLog},
				"B": {complex: s.B}, "C": {complex: s.C}, "D": {real: s.D},
			}
		}
		for _, m := range []map[string]parameter{arrays, own} {
			for name, p := range m {
				list[fmt.Sprintf("layers.%d.%s", i, name)] = p
			}
		}
	}
	return list
}

// tinyTensors returns golden tensors by the names of tensors, in its layout.
func tinyTensors(kind string, tensors map[string]golden.Gradient) map[string][]float64 {
	list := map[string][]float64{}
	for name, g := range tensors {
		x := g.Values
		if strings.HasSuffix(name, ".kernel") { // [in][out] → [out][in]
			x = transpose(x, g.Shape[1])
		}
		name = strings.NewReplacer(
			"s4_layers.", "layers.", "layer.kernel.", "", "layer.D", "D", "output_linear.0.", "mix.",
			"norms.0", "layers.0.norm", "norms.1", "layers.1.norm", "seq.", "", "norm.scale", "norm.weight",
			".kernel", ".weight").Replace(name)
		list[name] = x
	}
	for i := range 2 {
		prefix := fmt.Sprintf("layers.%d.", i)
		join := func(name, first, second string) {
			if x, ok := list[prefix+first]; ok {
				list[prefix+name] = slices.Concat(x, list[prefix+second])
				delete(list, prefix+first)
				delete(list, prefix+second)
			}
		}
		if kind != "lru" { // half-glu1 has one Dense
			join("mix.weight", "out2.weight", "")
			join("mix.bias", "out2.bias", "")
		}
		join("mix.weight", "out1.weight", "out2.weight")
		join("mix.bias", "out1.bias", "out2.bias")
		join("C", "C1", "C2")
		for _, name := range []string{"B", "C"} {
			if re, ok := list[prefix+name+"_re"]; ok {
				list[prefix+name] = interleave(re, list[prefix+name+"_im"])
				delete(list, prefix+name+"_re")
				delete(list, prefix+name+"_im")
			}
		}
	}
	return list
}

func transpose(x []float64, columns int) []float64 {
	y := make([]float64, 0, len(x))
	for c := range columns {
		for i := c; i < len(x); i += columns {
			y = append(y, x[i])
		}
	}
	return y
}

func interleave(re, im []float64) []float64 {
	y := make([]float64, 0, 2*len(re))
	for i := range re {
		y = append(y, re[i], im[i])
	}
	return y
}

// set replaces the values.
func (p parameter) set(x []float64) {
	if len(x) != len(p.values()) {
		panic(fmt.Sprintf("%d values, expected %d", len(x), len(p.values())))
	}
	copy(p.real, x)
	for i := range p.complex {
		p.complex[i] = complex(x[2*i], x[2*i+1])
	}
}
