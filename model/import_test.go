package model

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Options that the file of a full layer does not store are required, and options that do not apply
// are rejected. The error names the option.
func TestImportOptions(t *testing.T) {
	for _, g := range golden.Imports(t) {
		path := golden.Pth(t, g.Name)
		v4 := g.Config.Version == "v4"
		whole := ImportOptions{Disc: ssm.ZOH}
		if v4 {
			whole.Step = StepExp
		}
		var theirs, ours []string
		whole.Moved = func(from, to string) {
			theirs, ours = append(theirs, from), append(ours, to)
		}
		m := must.Get(ImportPyTorch(path, whole))(t)
		c := m.Config
		if c.NLayers != 2 || c.DModel != 8 || c.SSM.DState != 16 || c.SSM.Bidirectional != g.Config.Bidirectional || !c.SSM.TrainB {
			t.Errorf("%s: %+v", g.Name, c)
		}
		if slices.Sort(theirs); !slices.Equal(theirs, slices.Sorted(maps.Keys(g.Tensors))) {
			t.Errorf("%s: Moved got %q, the file has %v", g.Name, theirs, g.Tensors)
		}
		for _, x := range m.Weights.Tensors() {
			if !slices.Contains(ours, x.Name) {
				t.Errorf("%s: %s comes from nowhere", g.Name, x.Name)
			}
		}
		if v4 {
			whole.Disc, whole.Length, whole.Moved = DiscDSS, 96, nil
			dss := must.Get(ImportPyTorch(path, whole))(t)
			if c := dss.Config.SSM; c.Layer != ssm.LayerDSS || c.LKernel != 96 {
				t.Errorf("%s as DSS: %+v", g.Name, c)
			}
			if !slices.Equal(dss.Weights.Layers[1].Decay, m.Weights.Layers[1].Decay) {
				t.Errorf("%s as DSS: A_real is not that of the file", g.Name)
			}
		}
		for want, opt := range map[string]ImportOptions{
			"discretise":                  {Step: whole.Step},
			`Disc: "foh": full S4 layers`: {Disc: "foh", Step: whole.Step},
			`Activation: "relu"`:          {Disc: ssm.ZOH, Step: whole.Step, Activation: "relu"},
			`Mixing: "linear"`:            {Disc: ssm.ZOH, Step: whole.Step, Mixing: MixingLinear},
			map[bool]string{true: "Length: 0: the normaliser of DSS", false: `Disc: "dss": full S4 layers`}[v4]: {Disc: DiscDSS, Step: whole.Step},
			map[bool]string{true: `Step: "relu": full S4 layers`, false: `Step: "softplus": full S4 layers of version 3 have "exp"`}[v4]: {
				Disc: ssm.Bilinear, Step: map[bool]string{true: "relu", false: StepSoftplus}[v4]},
		} {
			_, err := ImportPyTorch(path, opt)
			if !isOption(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v: error %v, expected one that says %s", g.Name, opt, err, want)
			}
		}
		if _, err := ImportPyTorch(path, ImportOptions{Disc: ssm.ZOH}); v4 && (!isOption(err) || !strings.Contains(err.Error(), "store the transform of Δ")) {
			t.Errorf("%s: no step: error %v", g.Name, err)
		}
	}
	minimal := golden.Pth(t, "train-tiny-postnorm")
	for _, opt := range []ImportOptions{{Disc: ssm.Bilinear}, {Length: 9}, {Mixing: MixingLinear}} {
		if _, err := ImportPyTorch(minimal, opt); !isOption(err) {
			t.Errorf("minimal layers, %+v: error %v", opt, err)
		}
	}
}

func isOption(err error) bool {
	var o *ImportOptionError
	return errors.As(err, &o)
}

// fromPyTorchTensors imports the tensors of a state dict that is the whole file.
func fromPyTorchTensors(tensors []pth.Tensor, opt ImportOptions) (*Model, error) {
	opt.Moved, opt.Note = func(_, _ string) {}, func(_, _ string) {}
	return fromPyTorch(tensors, "", opt)
}

// loadTensors returns all tensors of the first state dict of a checkpoint.
func loadTensors(t testing.TB, path string) []pth.Tensor {
	t.Helper()
	return must.Get(pth.Load(path, func(s []pth.State) (pth.State, error) { return s[0], nil }))(t)
}

// The same tensors give the same model whatever their order, the prefix of their names and the kind
// of the file.
func TestImportWrappings(t *testing.T) {
	plain := tinyTensors(t)
	want := must.Get(fromPyTorchTensors(plain, ImportOptions{}))(t).Hash()
	for _, prefix := range []string{"", "module.", "model.", "net.", "_orig_mod.", "model._orig_mod.", "model.module.", "_orig_mod.module.model.", "pl.backbone.", "model_ema.module.", "inner"} {
		wrapped := slices.Clone(plain)
		slices.Reverse(wrapped)
		file := safetensors.File{}
		inner := strings.NewReplacer("encoder.", "encoder._fsdp_wrapped_module.", "s4_layers.1.", "s4_layers.1._orig_mod._checkpoint_wrapped_module.")
		for i := range wrapped {
			if wrapped[i].Name = prefix + wrapped[i].Name; prefix == "inner" {
				wrapped[i].Name = inner.Replace(plain[len(plain)-1-i].Name)
			}
			file.Arrays = append(file.Arrays, safetensors.Array{Name: wrapped[i].Name, Shape: wrapped[i].Shape, F32: wrapped[i].Data})
		}
		var zipped, flat bytes.Buffer
		must.Do(t, pth.Write(&zipped, wrapped))
		must.Get(file.WriteTo(&flat))(t)
		for _, content := range [][]byte{zipped.Bytes(), flat.Bytes()} {
			path := filepath.Join(t.TempDir(), "a")
			must.Do(t, os.WriteFile(path, content, 0o600))
			must.Equal(t, must.Get(ImportPyTorch(path, ImportOptions{}))(t).Hash(), want, "hash, prefix %q", prefix)
		}
	}
	must.Reject(fromPyTorchTensors(append(plain, plain[3]), ImportOptions{}))(t, "is duplicated")
}

// Of several networks the weights are read before their moving average, and a note names both. The
// option Weights chooses. Tensors of the others and of wrappers are left out, and no more.
func TestImportChooses(t *testing.T) {
	state := func(path string, names ...string) pth.State { return pth.State{Path: path, Names: names} }
	one, model := "encoder.weight", "model.encoder.weight"
	for _, c := range []struct {
		name, weights string
		states        []pth.State
		path, prefix  string
		note          string
	}{
		{"plain", "", []pth.State{state("", one)}, "", "", ""},
		{"trainer", "", []pth.State{state("state_dict", "model.encoder.0.weight")}, "state_dict", "model.", `: the weights are those of "state_dict.model"`},
		{"average first", "", []pth.State{state("state_dict_ema", one), state("state_dict", one)}, "state_dict", "", `Weights: the checkpoint has the weights "state_dict", "state_dict_ema"; "state_dict" were converted`},
		{"average chosen", "state_dict_ema", []pth.State{state("state_dict_ema", one), state("state_dict", one)}, "state_dict_ema", "", `: the weights are those of "state_dict_ema"`},
		{"average only", "", []pth.State{state("model_ema", one)}, "model_ema", "", `: the weights are those of "model_ema"`},
		{"average beside", "", []pth.State{state("", "ema_model."+one, "step", model)}, "", "model.", `Weights: the checkpoint has the weights "model", "ema_model"; "model" were converted`},
		{"average without dots", "", []pth.State{state("", model, "model_ema.encoderweight")}, "", "model.", `: the weights are those of "model"`},
		{"averaged model", "", []pth.State{state("", "n_averaged", "module."+one)}, "", "module.", `: the weights are those of "module"`},
		{"average of the whole file", "ema", []pth.State{state("", one), state("ema", one)}, "ema", "", `: the weights are those of "ema"`},
		{"a loss beside", "", []pth.State{state("", model, "criterion.weight")}, "", "model.", `: the weights are those of "model"Weights: the names of ["criterion.weight"] do not begin with "model": they are not converted`},
		{"teacher first", "", []pth.State{state("", "teacher."+one, "student."+one)}, "", "student.", `Weights: the checkpoint has the weights "student", "teacher"; "student" were converted`},
		{"optimiser", "", []pth.State{state("optimizer.state", "exp_avg"), state("model", one)}, "model", "", `: the weights are those of "model"`},
		{"usual key", "", []pth.State{state("best", one), state("net", one)}, "net", "", `Weights: the checkpoint has the weights "net", "best"; "net" were converted`},
	} {
		note := ""
		opt := ImportOptions{Weights: c.weights, Moved: func(_, _ string) {}, Note: func(text, option string) { note += option + ": " + text }}
		got, prefix, err := opt.choose(c.states)
		must.Do(t, err)
		must.Equal(t, [3]string{got.Path, prefix, note}, [3]string{c.path, c.prefix, c.note}, "%s", c.name)
		must.Equal(t, len(got.Names), 1, "%s: names %q", c.name, got.Names)
	}
	opt := ImportOptions{Weights: ".", Moved: func(_, _ string) {}, Note: func(_, _ string) {}}
	got, _, err := opt.choose([]pth.State{state("ema", one), state("", one)})
	must.Do(t, err)
	must.Equal(t, got.Path, "", "the weights at the top of the file")
	opt.Weights = "ema"
	_, _, err = opt.choose([]pth.State{state("", one), state("best", one)})
	must.Fail(t, err, `Weights: "ema": the file has the weights ".", "best"`)
}

// A file of the other format is an error that names its format, in both directions.
func TestOtherFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, mustNew(t, tiny(), 1).Save(path))
	must.Reject(ImportPyTorch(path, ImportOptions{}))(t, ErrSafetensors, path)
	path = golden.Pth(t, "train-tiny-postnorm")
	must.Reject(Load(path))(t, ErrZip, path)
}
