package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The configuration is that of the checkpoint. Package convmode compares the network with PyTorch.
func TestImportTiny(t *testing.T) {
	for name, prenorm := range map[string]bool{"postnorm": false, "prenorm": true} {
		m := must.Get(ImportPyTorch(golden.Pth(t, "train-tiny-"+name), ImportOptions{PreNorm: prenorm}))(t)
		want := Config{
			Encoder: EncoderLinear, DInput: 2, DOutput: 5, DModel: 8, NLayers: 2, Norm: NormLayer, PreNorm: prenorm,
			Residual: true, Activation: ActivationGELU, Mixing: MixingGLU, Pool: PoolMean,
			SSM: ssm.Config{DState: 16, Init: ssm.Imported, Disc: ssm.ZOH},
		}
		must.Equal(t, m.Config, want, "%s", name)
		valid(t, m)
	}
}

// tinyTensors returns the tensors of the tiny network's checkpoint.
func tinyTensors(t testing.TB) []pth.Tensor {
	t.Helper()
	return loadTensors(t, golden.Pth(t, "train-tiny-postnorm"))
}

func TestImportRejects(t *testing.T) {
	type list = []pth.Tensor
	find := func(l list, name string) *pth.Tensor {
		for i := range l {
			if l[i].Name == name {
				return &l[i]
			}
		}
		panic(name)
	}
	rename := func(from, to string) func(l list) list {
		return func(l list) list { find(l, from).Name = to; return l }
	}
	replaceAll := func(from, to string) func(l list) list {
		return func(l list) list {
			for i := range l {
				l[i].Name = strings.Replace(l[i].Name, from, to, 1)
			}
			return l
		}
	}
	zeros := func(name string, shape ...int) func(l list) list {
		return func(l list) list { x := find(l, name); x.Shape, x.Data = shape, nil; return l }
	}
	without := func(names ...string) func(l list) list {
		return func(l list) list {
			return slices.DeleteFunc(l, func(x pth.Tensor) bool { return slices.Contains(names, x.Name) })
		}
	}
	add := func(x pth.Tensor) func(l list) list { return func(l list) list { return append(l, x) } }
	tests := []struct {
		name   string
		change func(l list) list
		want   string
	}{
		{"nothing", func(list) list { return nil }, `tensor "encoder.weight" is missing: not a network of minimal S4D layers`},
		{"no C", without("s4_layers.1.kernel.C"), `tensor "s4_layers.1.kernel.C" is missing`},
		{"no D", without("s4_layers.1.D"), `tensor "s4_layers.1.kernel.C", shape [8 8 2], is unexpected`},
		{"renamed", rename("s4_layers.0.kernel.log_A_real", "s4_layers.0.kernel.log_A_rea1"), `tensor "s4_layers.0.kernel.log_A_real" is missing`},
		{"v3 layer", replaceAll(".kernel.", ".kernel.kernel."), "does not store how its full S4 layers of version 3 discretise"},
		{"trained B", add(pth.Tensor{Name: "s4_layers.0.kernel.B", Shape: []int{8, 8, 2}}), `tensor "s4_layers.0.kernel.B", shape [8 8 2], is unexpected in a network of minimal S4D layers`},
		{"batch norm", add(pth.Tensor{Name: "norms.0.running_mean", Shape: []int{8}}), `tensor "norms.0.running_var" is missing`},
		{"bidirectional", zeros("s4_layers.1.kernel.C", 16, 8, 2), `tensor "s4_layers.1.kernel.C": shape [16 8 2], expected [8 8 2]`},
		{"no GLU", zeros("s4_layers.0.output_linear.0.weight", 8, 8, 1), `tensor "s4_layers.0.output_linear.0.weight": shape [8 8 1], expected [16 8 1]`},
		{"no inputs", zeros("encoder.weight", 8, 0), "d_input 0: expected ≥ 1"},
		{"no modes", zeros("s4_layers.0.kernel.A_imag", 8, 0), "d_state 0: expected ≥ 2"},
		{"width without bytes", zeros("encoder.weight", 10_000, 1), `tensor "encoder.bias": shape [8], expected [10000]`},
		{"overflow", zeros("s4_layers.0.kernel.A_imag", 0, math.MaxInt32), "d_state 4294967294: expected ≤ 16777216"},
		{"NaN", func(l list) list { find(l, "norms.1.bias").Data[3] = float32(math.NaN()); return l }, `tensor "norms.1.bias": element 3 is NaN`},
	}
	for _, tt := range tests {
		l := tt.change(tinyTensors(t))
		var err error
		used := must.Allocated(func() { _, err = fromPyTorchTensors(l, ImportOptions{}) })
		must.Fail(t, err, tt.want)
		if used > 1<<20 {
			t.Errorf("%s: %d bytes allocated", tt.name, used)
		}
	}
}
