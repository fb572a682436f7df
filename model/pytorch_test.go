package model

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
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
		m := must.Get(ImportPyTorch(golden.LoadTiny(t, name).WritePth(t), ImportOptions{PreNorm: prenorm}))(t)
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
	return must.Get(pth.Load(golden.LoadTiny(t, "postnorm").WritePth(t)))(t)
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
	reshape := func(name string, shape ...int) func(l list) list {
		return func(l list) list { find(l, name).Shape = shape; return l }
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
		{"no first D", without("s4_layers.0.D"), `tensor "s4_layers.0.D" is missing`},
		{"no layers", replaceAll("s4_layers", "lstm"), `tensor "s4_layers.0.kernel.A_imag" is missing: not a network`},
		{"no norm", without("norms.0.weight", "norms.0.bias", "norms.1.weight", "norms.1.bias"), `tensor "norms.0.weight" is missing`},
		{"renamed", rename("s4_layers.0.kernel.log_A_real", "s4_layers.0.kernel.log_A_rea1"), `tensor "s4_layers.0.kernel.log_A_real" is missing`},
		{"v3 layer", replaceAll(".kernel.", ".kernel.kernel."), "does not store how its full S4 layers of version 3 discretise"},
		{"v4 layer", replaceAll(".kernel.", ".layer.kernel."), "does not store how its full S4 layers of version 4 discretise"},
		{"trained B", add(pth.Tensor{Name: "s4_layers.0.kernel.B", Shape: []int{8, 8, 2}}), `tensor "s4_layers.0.kernel.B", shape [8 8 2], is unexpected in a network of minimal S4D layers`},
		{"batch norm", add(pth.Tensor{Name: "norms.0.running_mean", Shape: []int{8}}), `tensor "norms.0.running_var" is missing`},
		{"twice", add(pth.Tensor{Name: "decoder.bias", Shape: []int{5}}), `tensor "decoder.bias" is duplicated`},
		{"another kernel", reshape("s4_layers.1.kernel.C", 8, 4, 4), `tensor "s4_layers.1.kernel.C": shape [8 4 4], expected [8 8 2]`},
		{"bidirectional", zeros("s4_layers.1.kernel.C", 16, 8, 2), `tensor "s4_layers.1.kernel.C": shape [16 8 2], expected [8 8 2]`},
		{"no GLU", zeros("s4_layers.0.output_linear.0.weight", 8, 8, 1), `tensor "s4_layers.0.output_linear.0.weight": shape [8 8 1], expected [16 8 1]`},
		{"linear for convolution", reshape("s4_layers.0.output_linear.0.weight", 16, 8), `shape [16 8], expected [16 8 1]`},
		{"encoder of rank 3", reshape("encoder.weight", 8, 2, 1), `tensor "encoder.weight": shape [8 2 1], expected 2 dimensions`},
		{"no inputs", zeros("encoder.weight", 8, 0), "d_input 0: expected ≥ 1"},
		{"no modes", zeros("s4_layers.0.kernel.A_imag", 8, 0), "d_state 0: expected ≥ 2"},
		{"modes without bytes", zeros("s4_layers.0.kernel.A_imag", 0, 1<<22), `expected [8 4194304]`},
		{"width without bytes", zeros("encoder.weight", 10_000, 1), `tensor "encoder.bias": shape [8], expected [10000]`},
		{"overflow", zeros("s4_layers.0.kernel.A_imag", 0, math.MaxInt32), "d_state 4294967294: expected ≤ 16777216"},
		{"NaN", func(l list) list { find(l, "norms.1.bias").Data[3] = float32(math.NaN()); return l }, `tensor "norms.1.bias": element 3 is NaN`},
		{"infinite", func(l list) list { find(l, "s4_layers.0.D").Data[0] = float32(math.Inf(-1)); return l }, `tensor "s4_layers.0.D": element 0 is -Inf`},
	}
	for _, tt := range tests {
		l := tt.change(tinyTensors(t))
		var err error
		used := must.Allocated(func() { _, err = fromPyTorch(l, ImportOptions{}) })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, expected one that says %q", tt.name, err, tt.want)
		}
		if used > 1<<20 {
			t.Errorf("%s: %d bytes allocated", tt.name, used)
		}
	}
}

func TestImportNamesThePath(t *testing.T) {
	dir := t.TempDir()
	whole := must.Get(os.ReadFile(golden.LoadTiny(t, "postnorm").WritePth(t)))(t)
	for name, b := range map[string][]byte{"text.pth": []byte("hello"), "cut.pth": whole[:len(whole)/2]} {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, b, 0o644))
		_, err := ImportPyTorch(path, ImportOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "model: "+path+": ") || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := ImportPyTorch(filepath.Join(dir, "gone.pth"), ImportOptions{}); err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a file that is not there: error %v", err)
	}
}

// unwrapAll returns the last error of a chain.
func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}

// parse is ImportPyTorch without a file. A model that it returns must be usable.
func parse(t testing.TB, b []byte) (*Model, error) {
	tensors, err := pth.Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	m, err := fromPyTorch(tensors, ImportOptions{})
	if err == nil {
		valid(t, m)
	}
	return m, err
}

// repacked returns the checkpoint with another pickle and a matching checksum.
func repacked(t testing.TB, whole, pickle []byte) []byte {
	t.Helper()
	z := must.Get(zip.NewReader(bytes.NewReader(whole), int64(len(whole))))(t)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		data := pickle
		if !strings.HasSuffix(f.Name, "data.pkl") {
			data = entry(t, f)
		}
		dst := must.Get(w.CreateHeader(&zip.FileHeader{Name: f.Name}))(t)
		dst.Write(data)
	}
	must.Do(t, w.Close())
	return out.Bytes()
}

func entry(t testing.TB, f *zip.File) []byte {
	t.Helper()
	r := must.Get(f.Open())(t)
	defer r.Close()
	return must.Get(io.ReadAll(r))(t)
}

// tinyCheckpoint returns the bytes of the tiny checkpoint and of its pickle.
func tinyCheckpoint(t testing.TB) (whole, pickle []byte) {
	t.Helper()
	whole = must.Get(os.ReadFile(golden.LoadTiny(t, "postnorm").WritePth(t)))(t)
	z := must.Get(zip.NewReader(bytes.NewReader(whole), int64(len(whole))))(t)
	return whole, entry(t, z.File[slices.IndexFunc(z.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, "data.pkl") })])
}

func FuzzImportPyTorch(f *testing.F) {
	whole, pickle := tinyCheckpoint(f)
	f.Add(pickle, true)
	f.Add(whole, false)
	for _, path := range must.Get(filepath.Glob("../internal/golden/testdata/*.pth"))(f) {
		f.Add(must.Get(os.ReadFile(path))(f), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, isPickle bool) {
		if isPickle {
			b = repacked(t, whole, b)
		}
		parse(t, b)
	})
}
