package model

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Options that the file of a full layer does not store are required, and options that do not apply
// are rejected. The error names the option.
func TestImportOptions(t *testing.T) {
	for _, g := range golden.Imports(t) {
		path := g.WritePth(t)
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
			"Length: 9: only kernels":     {Disc: ssm.ZOH, Step: whole.Step, Length: 9},
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
	minimal := golden.LoadTiny(t, "postnorm").WritePth(t)
	if _, err := ImportPyTorch(minimal, ImportOptions{Disc: ssm.Bilinear}); !isOption(err) {
		t.Errorf("minimal layers, bilinear: error %v", err)
	}
}

func isOption(err error) bool {
	var o *ImportOptionError
	return errors.As(err, &o)
}

// The same tensors give the same model whatever their order and the prefix of their names.
func TestImportWrappings(t *testing.T) {
	plain := tinyTensors(t)
	want := must.Get(fromPyTorch(plain, ImportOptions{}))(t).Hash()
	lightning := slices.Clone(plain)
	slices.Reverse(lightning)
	for i := range lightning {
		lightning[i].Name = "model." + lightning[i].Name
	}
	must.Equal(t, must.Get(fromPyTorch(lightning, ImportOptions{}))(t).Hash(), want, "hash")
	must.Reject(fromPyTorch(append(plain, lightning[3]), ImportOptions{}))(t, "is duplicated")
}

// A file of the other format is an error that names its format, in both directions.
func TestOtherFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, mustNew(t, tiny(), 1).Save(path))
	must.Reject(ImportPyTorch(path, ImportOptions{}))(t, ErrSafetensors, path)
	path = golden.LoadTiny(t, "postnorm").WritePth(t)
	must.Reject(Load(path))(t, ErrZip, path)
}
