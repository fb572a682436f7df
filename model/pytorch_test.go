package model

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// imported is what Python's own pickle and zipfile modules read in a tensor of a checkpoint.
type imported struct {
	Shape    []int
	First    float64
	Last     float64
	Weighted float64 // Σ (i+1)·x[i]
}

// checkImport compares a model with testdata/imported.json, tensor by tensor.
func checkImport(t *testing.T, file string, m *Model) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/imported.json"))(t)
	var all map[string]map[string]imported
	must.Do(t, json.Unmarshal(text, &all))
	want := all[file]
	ours := strings.NewReplacer("s4_layers.", "layers.", ".kernel.", ".", "output_linear.0.", "mix.")
	byName := map[string]imported{}
	for name, x := range want {
		if rest, ok := strings.CutPrefix(name, "norms."); ok { // norms.I.weight
			name = "layers." + strings.Replace(rest, ".", ".norm.", 1)
		}
		byName[ours.Replace(name)] = x
	}
	if len(m.Weights.Tensors()) != len(want) || len(want) == 0 {
		t.Errorf("%s: %d tensors, the file has %d", file, len(m.Weights.Tensors()), len(want))
	}
	for _, x := range m.Weights.Tensors() {
		w, ok := byName[x.Name]
		if !ok {
			t.Errorf("%s: %s is not in the file", file, x.Name)
			continue
		}
		if len(w.Shape) == 3 && w.Shape[2] == 1 {
			w.Shape = w.Shape[:2] // a convolution of width 1
		}
		sum, size := 0.0, 0.0
		for i, v := range x.Data {
			sum += float64(i+1) * float64(v)
			size += math.Abs(float64(i+1) * float64(v))
		}
		if !slices.Equal(x.Shape, w.Shape) || float64(x.Data[0]) != w.First || float64(x.Data[len(x.Data)-1]) != w.Last || math.Abs(sum-w.Weighted) > 1e-12*size {
			t.Errorf("%s: %s: shape %v, first %v, last %v, Σ(i+1)x %v; expected %+v", file, x.Name, x.Shape, x.Data[0], x.Data[len(x.Data)-1], sum, w)
		}
	}
}

func TestImportTiny(t *testing.T) {
	for name, prenorm := range map[string]bool{"postnorm": false, "prenorm": true} {
		m := must.Get(ImportPyTorch(golden.Pth(t, "train-tiny-"+name), ImportOptions{PreNorm: prenorm}))(t)
		want := Config{
			Encoder: EncoderLinear, DInput: 2, DOutput: 5, DModel: 8, NLayers: 2, Norm: NormLayer, PreNorm: prenorm,
			Residual: true, Activation: ActivationGELU, Mixing: MixingGLU, Pool: PoolMean,
			SSM: ssm.Config{DState: 16, Init: ssm.Imported, Disc: ssm.ZOH},
		}
		must.Equal(t, m.Config, want, "%s", name)
		checkImport(t, "train-tiny-"+name, m)
		valid(t, m)
	}
}

func TestImportCheckpoints(t *testing.T) {
	for _, g := range golden.Checkpoints(t) {
		m := must.Get(ImportPyTorch(g.Path(t), ImportOptions{}))(t)
		c := m.Config
		if c.DInput != 3 || c.DOutput != 10 || c.DModel != 128 || c.NLayers != 4 || c.SSM.DState != 64 {
			t.Errorf("%s: %+v", g.Name, c)
		}
		must.Equal(t, c.CountParams(), 201482, "%s: parameters", g.Name)
		checkImport(t, g.Name, m)
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
