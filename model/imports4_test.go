package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// A checkpoint of the official trainer is read whole: every tensor has a place, and what the shapes
// and names say becomes the configuration.
func TestImportS4(t *testing.T) {
	g, path := golden.Load[golden.S4Import](t, "s4-dplr"), golden.Pth(t, "s4-dplr")
	var theirs []string
	m := must.Get(ImportPyTorch(path, ImportOptions{Step: StepSoftplus, Moved: func(from, _ string) {
		theirs = append(theirs, from)
	}}))(t)
	var want []string
	for name := range maps.Keys(g.Tensors) {
		want = append(want, name)
	}
	slices.Sort(want)
	if slices.Sort(theirs); !slices.Equal(theirs, want) {
		t.Errorf("Moved got %q, the file has %q", theirs, want)
	}
	c := m.Config
	must.Equal(t, c.SSM, ssm.Config{Layer: ssm.LayerS4, DState: 16, Init: ssm.Imported, Disc: ssm.Bilinear, NSSM: 2, LKernel: 96, LMax: 96, Bidirectional: true}, "SSM")
	must.Equal(t, [3]any{c.Norm, c.PreNorm, c.FinalNorm}, [3]any{NormBatch, true, true}, "norms")
	must.Equal(t, [4]int{c.DInput, c.DModel, c.DOutput, c.NLayers}, [4]int{2, 8, 5, 2}, "sizes")
}

func TestImportS4Options(t *testing.T) {
	path := golden.Pth(t, "train-tiny-s4")
	m := must.Get(ImportPyTorch(path, ImportOptions{Disc: ssm.Bilinear, Step: StepExp}))(t)
	must.Equal(t, m.Config.SSM.LKernel, golden.TinyLen, "l_kernel")
	must.Equal(t, [2]any{m.Config.Norm, m.Config.PreNorm}, [2]any{NormLayer, false}, "norms")
	for want, opt := range map[string]ImportOptions{
		`Disc: "zoh": full S4 layers of version 4 with low-rank kernels have "bilinear"`: {Disc: ssm.ZOH, Step: StepExp},
		"store the transform of Δ": {},
		"Length: -2: expected":     {Step: StepExp, Length: -2},
	} {
		_, err := ImportPyTorch(path, opt)
		must.Fail(t, err, want)
		if !isOption(err) {
			t.Errorf("%+v: error %v is not an *ImportOptionError", opt, err)
		}
	}
}

// goldenS4 are the official networks of S4 layers with their checkpoints' tensors: LayerNorm and
// Δ = e^x, and BatchNorm, two directions and softplus.
func goldenS4(t *testing.T) map[string]struct {
	m       *Model
	tensors []pth.Tensor
} {
	t.Helper()
	trainer := golden.Pth(t, "s4-dplr")
	list := map[string]struct {
		m       *Model
		tensors []pth.Tensor
	}{}
	for path, step := range map[string]string{golden.Pth(t, "train-tiny-s4"): StepExp, trainer: StepSoftplus} {
		e := list[step]
		e.m = must.Get(ImportPyTorch(path, ImportOptions{Step: step}))(t)
		e.tensors = loadTensors(t, path)
		list[step] = e
	}
	return list
}

// An exported checkpoint has the tensors of the official one, with its names, shapes and types, and
// bit by bit its values. Only Δ is always stored for e^x.
func TestExportS4Tensors(t *testing.T) {
	for step, g := range goldenS4(t) {
		path := filepath.Join(t.TempDir(), "m.pth")
		must.Do(t, g.m.ExportPyTorch(path))
		got := must.Get(index(loadTensors(t, path), ""))(t)
		must.Equal(t, len(got), len(g.tensors), "%s: tensors", step)
		for _, want := range g.tensors {
			name := exampleName(want.Name)
			x := got[name]
			if x == nil || x.Name != name || !slices.Equal(x.Shape, want.Shape) || x.Count != want.Count {
				t.Errorf("%s: %s: %v, expected shape %v, count %v", step, name, x, want.Shape, want.Count)
				continue
			}
			converted := step == StepSoftplus && strings.HasSuffix(name, "inv_dt") || strings.HasSuffix(name, "num_batches_tracked")
			if !converted && !slices.Equal(x.Data, want.Data) {
				t.Errorf("%s: %s: %v, expected %v", step, name, x.Data, want.Data)
			}
		}
	}
}

// Export and import give the same model, bit by bit.
func TestExportS4(t *testing.T) {
	models := map[string]*Model{}
	for step, g := range goldenS4(t) {
		models[step] = g.m
	}
	for name, change := range map[string]func(c *Config){
		"LegS":          func(c *Config) {},
		"C, not C̃":     func(c *Config) { c.SSM.LKernel = 0 },
		"one copy":      func(c *Config) { c.SSM.NSSM = 1 },
		"bidirectional": func(c *Config) { c.SSM.Bidirectional = true },
		"FouT":          func(c *Config) { c.SSM.Init = ssm.FouT },
		"pre-norm":      func(c *Config) { c.PreNorm = true },
		"final norm":    func(c *Config) { c.PreNorm, c.FinalNorm = true, true },
		"batch norm":    func(c *Config) { c.Norm = NormBatch },
	} {
		models[name] = mustNew(t, s4Config(change), 3)
	}
	for name, m := range models {
		path := filepath.Join(t.TempDir(), "m.pth")
		must.Do(t, m.ExportPyTorch(path))
		back := must.Get(ImportPyTorch(path, ImportOptions{Step: StepExp, PreNorm: m.Config.PreNorm, Length: cmp.Or(m.Config.SSM.LMax, WholeKernel)}))(t)
		want := m.Config
		want.SSM = ssm.Config{Layer: ssm.LayerS4, DState: want.SSM.DState, Init: ssm.Imported, Disc: ssm.Bilinear,
			NSSM: want.SSM.NSSM, LKernel: want.SSM.LKernel, LMax: want.SSM.LMax, Bidirectional: want.SSM.Bidirectional}
		must.Equal(t, back.Config, want, "%s: configuration", name)
		for i, x := range m.Weights.Tensors() {
			if got := back.Weights.Tensors()[i]; got.Name != x.Name || !slices.Equal(got.Data, x.Data) {
				t.Errorf("%s: %s came back as %s %v, expected %v", name, x.Name, got.Name, got.Data, x.Data)
			}
		}
	}
}

// s4Config returns the configuration of a small network of S4 layers.
func s4Config(change func(c *Config)) Config {
	c := Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 5, 8, 2
	c.SSM = ssm.Config{Layer: ssm.LayerS4, DState: 16, Init: ssm.LegS, Disc: ssm.Bilinear, DtMin: 0.001, DtMax: 0.1, LKernel: 32}
	change(&c)
	return c
}

func TestExportS4Rejects(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"the encoder is an embedding, which the network of full S4 layers": func(c *Config) { c.Encoder = EncoderEmbedding },
		`norm "none"`:                 func(c *Config) { c.Norm = NormNone },
		"a norm after the last layer": func(c *Config) { c.FinalNorm = true },
		"norm_eps 1e-06":              func(c *Config) { c.NormEps = 1e-6 },
		`mixing "half-glu1"`:          func(c *Config) { c.Mixing = MixingHalfGLU1 },
	} {
		err := mustNew(t, s4Config(change), 1).ExportPyTorch(filepath.Join(t.TempDir(), "m.pth"))
		must.Fail(t, err, errors.ErrUnsupported, want)
	}
}

// asVersion3 returns an exported network of S4 layers as version 3 names and stores it. The mixing
// is a convolution or a matrix.
func asVersion3(t *testing.T, tensors []pth.Tensor, logReal string, convolution bool) []pth.Tensor {
	t.Helper()
	var list []pth.Tensor
	for _, x := range tensors {
		switch x.Data = slices.Clone(x.Data); {
		case strings.HasSuffix(x.Name, "A_imag"):
			for i := range x.Data {
				x.Data[i] = -x.Data[i]
			}
		case strings.HasSuffix(x.Name, "inv_dt"):
			x.Shape = x.Shape[:1]
		case strings.HasSuffix(x.Name, "output_linear.0.weight") && convolution:
			x.Shape = append(slices.Clone(x.Shape), 1)
		}
		x.Name = strings.NewReplacer(".layer.kernel.inv_dt", ".kernel.kernel.log_dt", ".layer.kernel.A_real", ".kernel.kernel."+logReal,
			".layer.kernel.A_imag", ".kernel.kernel.w_imag", ".layer.kernel.l_kernel", ".kernel.kernel.L",
			".layer.kernel.", ".kernel.kernel.", ".layer.D", ".D").Replace(x.Name)
		list = append(list, x)
	}
	return list
}

// A checkpoint of version 3, also with the trainer's names, is the model that the same one of
// version 4 is.
func TestImportS4Version3(t *testing.T) {
	for step, g := range goldenS4(t) {
		path := filepath.Join(t.TempDir(), "m.pth")
		must.Do(t, g.m.ExportPyTorch(path))
		exported := loadTensors(t, path)
		for i, logReal := range []string{"inv_w_real", "log_w_real"} {
			tensors := asVersion3(t, exported, logReal, i == 1)
			for j, x := range tensors {
				if rest, ok := strings.CutPrefix(x.Name, "s4_layers."); ok && i == 1 {
					layer, rest, _ := strings.Cut(rest, ".")
					tensors[j].Name = fmt.Sprintf("model.layers.%s.layer.%s", layer, rest)
				}
			}
			m := must.Get(fromPyTorchTensors(tensors, ImportOptions{}))(t)
			must.Equal(t, m.Hash(), g.m.Hash(), "%s, %s: hash", step, logReal)
			for want, opt := range map[string]ImportOptions{
				`Step: "softplus": full S4 layers of version 3 with low-rank kernels have "exp"`: {Step: StepSoftplus},
				`Disc: "zoh"`: {Disc: ssm.ZOH},
			} {
				must.Reject(fromPyTorchTensors(tensors, opt))(t, want)
			}
			tensors = slices.DeleteFunc(tensors, func(x pth.Tensor) bool { return strings.HasSuffix(x.Name, ".L") })
			must.Reject(fromPyTorchTensors(tensors, ImportOptions{}))(t, `tensor "s4_layers.0.kernel.kernel.L" is missing`)
		}
	}
}
