package model

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

func sampleMeta() Meta {
	return Meta{
		Task: "digits", Labels: []string{"null", "één", "два", "三", ""}, SampleRate: 8000,
		InputMean: []float32{0.1, -2, 0}, InputStd: []float32{0.5, 3, 1e-3},
	}
}

func encode(t testing.TB, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := m.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo: %d, %v; %d bytes arrived", n, err, b.Len())
	}
	return b.Bytes()
}

func TestSaveAndLoad(t *testing.T) {
	for name, c := range variants() {
		m := mustNew(t, c, 2)
		if name == "default" {
			m.Meta = sampleMeta()
		}
		path := filepath.Join(t.TempDir(), "m.safetensors")
		must.Do(t, os.WriteFile(path, []byte("an older file"), 0o600))
		if err := m.Save(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Load(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Config != m.Config || !reflect.DeepEqual(got.Meta, m.Meta) {
			t.Errorf("%s: got %+v, %+v; expected %+v, %+v", name, got.Config, got.Meta, m.Config, m.Meta)
		}
		for i, v := range got.Weights.Flat() {
			if math.Float32bits(v) != math.Float32bits(m.Weights.Flat()[i]) {
				t.Fatalf("%s: weight %d is %v, expected %v", name, i, v, m.Weights.Flat()[i])
			}
		}
		must.Equal(t, got.Hash(), m.Hash(), "%s: hash", name)
		onlyFile(t, filepath.Dir(path), "m.safetensors")
	}
}

func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != name {
		t.Errorf("the folder holds %v, expected %s alone (%v)", files, name, err)
	}
}

// A save that fails leaves the old file, and nothing else.
func TestFailedSave(t *testing.T) {
	m := mustNew(t, tiny(), 1)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, m.Save(path))
	old := must.Get(os.ReadFile(path))(t)
	m.Meta.Labels = []string{"one"}
	if err := m.Save(path); err == nil || err.Error() != "model: "+path+": meta: 1 labels for 5 outputs" {
		t.Errorf("error %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) {
		t.Errorf("the file has changed (%v)", err)
	}
	onlyFile(t, filepath.Dir(path), "m.safetensors")
	missing := filepath.Join(t.TempDir(), "no", "folder", "m.safetensors")
	must.Fail(t, m.Save(missing), filepath.Dir(missing))
}

func TestLoadNamesThePath(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.safetensors")
	must.Do(t, os.WriteFile(bad, []byte("hello"), 0o644))
	for _, path := range []string{bad, filepath.Join(dir, "missing.safetensors"), dir} {
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.HasPrefix(err.Error(), "model: ") {
			t.Errorf("Load(%s): error %v", path, err)
		}
	}
}

// The hash depends on the normalisation, the labels and the sampling rate, and on the sign of 0.
// TestHashOfEverything tries all weights and the configuration.
func TestHash(t *testing.T) {
	fresh := func() *Model {
		m := mustNew(t, tiny(), 1)
		m.Meta = sampleMeta()
		return m
	}
	want := fresh().Hash()
	for name, change := range map[string]func(m *Model){
		"mean":             func(m *Model) { m.Meta.InputMean[1]++ },
		"std":              func(m *Model) { m.Meta.InputStd[1]++ },
		"label":            func(m *Model) { m.Meta.Labels[0] = "other" },
		"sampling rate":    func(m *Model) { m.Meta.SampleRate++ },
		"no normalisation": func(m *Model) { m.Meta.InputMean, m.Meta.InputStd = nil, nil },
		"sign of zero":     func(m *Model) { m.Weights.Layers[0].NormBias[1] = float32(math.Copysign(0, -1)) },
	} {
		m := fresh()
		if change(m); m.Hash() == want {
			t.Errorf("%s: the hash does not change", name)
		}
	}
	m := fresh()
	m.Meta.Task = "other"
	must.Equal(t, m.Hash(), want, "hash of a model of another task")
}

func TestWeightsValidate(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		value    float32
		inC      string
		inDecays string
	}{
		{1, "", ""}, {nan, `tensor "layers.1.C": element 3 is NaN`, `tensor "layers.0.log_A_real": element 2 is NaN`},
		{inf, `tensor "layers.1.C": element 3 is +Inf`, `tensor "layers.0.log_A_real": element 2 is +Inf`},
		{-inf, `tensor "layers.1.C": element 3 is -Inf`, ""},
	} {
		w := mustNew(t, tiny(), 1).Weights
		w.Layers[1].C[3] = c.value
		if err := w.Validate(); (err == nil) != (c.inC == "") || err != nil && err.Error() != c.inC {
			t.Errorf("C of %v: error %v, expected %q", c.value, err, c.inC)
		}
		w.Layers[1].C[3], w.Layers[0].Decay[2] = 0, c.value
		if err := w.Validate(); (err == nil) != (c.inDecays == "") || err != nil && err.Error() != c.inDecays {
			t.Errorf("log decay of %v: error %v, expected %q", c.value, err, c.inDecays)
		}
	}
}

// altered writes a model after a change to the file's arrays and metadata.
func altered(t testing.TB, c Config, change func(f *safetensors.File)) []byte {
	t.Helper()
	f := must.Get(safetensors.Read(bytes.NewReader(encode(t, mustNew(t, c, 1)))))(t)
	change(f)
	var b bytes.Buffer
	must.Get(f.WriteTo(&b))(t)
	return b.Bytes()
}

// config returns a change of the configuration in a file's metadata.
func config(change func(c *Config)) func(f *safetensors.File) {
	return func(f *safetensors.File) {
		var c Config
		if err := json.Unmarshal([]byte(f.Metadata[configKey]), &c); err != nil {
			panic(err)
		}
		change(&c)
		text, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		f.Metadata[configKey] = string(text)
	}
}

func TestReadRejects(t *testing.T) {
	type file = safetensors.File
	set := func(key, text string) func(f *file) { return func(f *file) { f.Metadata[key] = text } }
	value := func(name string, v float64) func(f *file) {
		return func(f *file) { f.Find(name).F32[1] = float32(v) }
	}
	tests := []struct {
		name   string
		change func(f *file)
		want   string
	}{
		{"no metadata", func(f *file) { f.Metadata = nil }, `not an s4d-fast file: its metadata has no "s4d-fast"`},
		{"other version", set(formatKey, "2"), `format version "2": this program reads "1"`},
		{"no configuration", func(f *file) { delete(f.Metadata, configKey) }, `metadata "config": is missing or empty`},
		{"two configurations", set(configKey, "{} {}"), `metadata "config": trailing data`},
		{"unknown field", set(configKey, `{"colour":"red"}`), `metadata "config": json: unknown field "colour"`},
		{"empty configuration", set(configKey, "{}"), "d_input 0: expected ≥ 1"},
		{"many layers", config(func(c *Config) { c.NLayers = 2048 }), "n_layers 2048 in a file of 22 tensors"},
		{"one more layer", config(func(c *Config) { c.NLayers = 3 }), `tensor "layers.2.log_dt" is missing`},
		{"fewer layers", config(func(c *Config) { c.NLayers = 1 }), `tensor "layers.1.log_dt", shape [6], does not belong to the network`},
		{"wrong modes", config(func(c *Config) { c.SSM.DState = 16 }), `tensor "layers.0.log_A_real": shape [6 4], expected [6 8]`},
		{"wrong choice", config(func(c *Config) { c.Pool = "max" }), `pool "max": expected one of ["mean" "mean-max" "last" "none"]`},
		{"missing tensor", func(f *file) { f.Arrays = f.Arrays[:len(f.Arrays)-1] }, `tensor "decoder.bias" is missing`},
		{"extra tensor", func(f *file) { f.Arrays = append(f.Arrays, safetensors.Array{Name: "x", Shape: []int{0}}) }, `tensor "x", shape [0], does not belong`},
		{"transposed", func(f *file) { f.Find("layers.1.C").Shape = []int{4, 6, 2} }, `tensor "layers.1.C": shape [4 6 2], expected [6 4 2]`},
		{"NaN", value("layers.1.C", math.NaN()), `tensor "layers.1.C": element 1 is NaN`},
		{"−Inf", value("layers.0.log_dt", math.Inf(-1)), `tensor "layers.0.log_dt": element 1 is -Inf`},
		{"infinite step", value("layers.1.log_dt", 1000), `tensor "layers.1.log_dt": element 1 is 1000`},
		{"labels", set(metaKey, `{"labels":["a"]}`), "meta: 1 labels for 5 outputs"},
		{"label twice", set(metaKey, `{"labels":["a","b","c","a","d"]}`), `meta: label "a" occurs twice`},
		{"channels", set(metaKey, `{"input_mean":[1],"input_std":[1]}`), "meta: 1 means and 1 standard deviations for 3 input channels"},
		{"no deviation", set(metaKey, `{"input_mean":[0,1,0],"input_std":[1,0,1]}`), "meta: input channel 1 has mean 1 and standard deviation 0"},
	}
	for _, tt := range tests {
		b := altered(t, tiny(), tt.change)
		var err error
		used := must.Allocated(func() { _, err = Read(bytes.NewReader(b)) })
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "model: ") != 1 {
			t.Errorf("%s: error %v, expected one that says %q", tt.name, err, tt.want)
		}
		if used > 16<<20 {
			t.Errorf("%s: %d bytes allocated", tt.name, used)
		}
	}
	b := altered(t, variants()["batch norm"], value("layers.0.norm.running_var", -1))
	must.Reject(Read(bytes.NewReader(b)))(t, `tensor "layers.0.norm.running_var": element 1 is -1: a variance`)
}

// smallest returns a model file of few bytes.
func smallest(t testing.TB) []byte {
	c := tiny()
	c.DModel, c.NLayers, c.SSM.DState, c.DInput, c.DOutput = 2, 1, 2, 1, 2
	m := mustNew(t, c, 1)
	m.Meta = Meta{Task: "x", Labels: []string{"a", "b"}, SampleRate: 8000, InputMean: []float32{1}, InputStd: []float32{2}}
	return encode(t, m)
}

// valid fails the test unless the model that was read can be used and written.
func valid(t testing.TB, m *Model) {
	t.Helper()
	if err := m.validate(); err != nil {
		t.Errorf("an invalid model was read: %v", err)
	}
	for _, x := range m.Weights.Tensors() {
		if err := x.Validate(); err != nil {
			t.Errorf("an invalid model was read: %s: %v", x.Name, err)
		}
	}
	if _, err := Read(bytes.NewReader(encode(t, m))); err != nil {
		t.Errorf("what was read cannot be written and read again: %v", err)
	}
}

// withoutSum renames the checksum's key in a file, which is then read without this check.
func withoutSum(b []byte) []byte {
	return bytes.Replace(b, []byte(`"sha256"`), []byte(`"other!"`), 1)
}

func FuzzRead(f *testing.F) {
	f.Add(smallest(f))
	f.Add(smallest(f)[:100])
	f.Add(withoutSum(smallest(f)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := Read(bytes.NewReader(b)); err == nil {
			valid(t, m)
		}
	})
}
