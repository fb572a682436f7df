package model

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/pth"
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

// storageOrder is the order in which PyTorch wrote the tiny networks' tensors: storage I holds
// tensor I.
var storageOrder = func() []string {
	list := []string{"encoder.weight", "encoder.bias"}
	for i := range 2 {
		for _, name := range []string{"D", "C", "log_dt", "log_A_real", "A_imag", "mix.weight", "mix.bias"} {
			list = append(list, fmt.Sprintf("layers.%d.%s", i, name))
		}
	}
	return append(list, "layers.0.norm.weight", "layers.0.norm.bias", "layers.1.norm.weight", "layers.1.norm.bias",
		"decoder.weight", "decoder.bias")
}()

// Every value of the imported network is the one in the zip file's storage, bit by bit.
func TestImportedBits(t *testing.T) {
	for name, prenorm := range map[string]bool{"postnorm": false, "prenorm": true} {
		path := golden.LoadTiny(t, name).WritePth(t)
		m := must.Get(ImportPyTorch(path, ImportOptions{PreNorm: prenorm}))(t)
		z := must.Get(zip.OpenReader(path))(t)
		defer z.Close()
		storages := map[string][]byte{}
		for _, f := range z.File {
			if _, key, ok := strings.Cut(f.Name, "/data/"); ok {
				storages[key] = entry(t, f)
			}
		}
		must.Equal(t, len(storages), len(storageOrder), "%s: storages", name)
		for _, x := range m.Weights.Tensors() {
			want := storages[fmt.Sprint(slices.Index(storageOrder, x.Name))]
			var got []byte
			for _, v := range x.Data {
				got = binary.LittleEndian.AppendUint32(got, math.Float32bits(v))
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %s: bytes %x…, expected %x…", name, x.Name, got[:8], want[:min(8, len(want))])
			}
		}
	}
}

// checkpointOf writes tensors as a checkpoint, in a dictionary under key unless that is empty.
func checkpointOf(t testing.TB, tensors []pth.Tensor, key string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name string, data []byte) {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: "x/" + name}))(t)
		w.Write(data)
	}
	text := func(s string) string {
		return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	number := func(n int) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	dict := "}("
	for i, x := range tensors {
		var data []byte
		for _, v := range x.Data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		add(fmt.Sprintf("data/%d", i), data)
		shape, stride := "(", "("
		for axis, n := range x.Shape {
			shape += number(n)
			stride += number(size(x.Shape[axis+1:]))
		}
		storage := "(" + text("storage") + "ctorch\nFloatStorage\n" + text(fmt.Sprint(i)) + text("cpu") + number(len(x.Data)) + "tQ"
		dict += text(x.Name) + "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(0) + shape + "t" + stride + "t" +
			"\x89ccollections\nOrderedDict\n)RtR"
	}
	dict += "u"
	if key != "" {
		dict = "}(" + text("epoch") + number(7) + text(key) + dict + "u"
	}
	add("data.pkl", []byte("\x80\x02"+dict+"."))
	must.Do(t, z.Close())
	return out.Bytes()
}

// The same tensors give the same model in every wrapping that is in use.
func TestImportWrappings(t *testing.T) {
	plain := tinyTensors(t)
	prefixed := slices.Clone(plain)
	for i := range prefixed {
		prefixed[i].Name = "module." + prefixed[i].Name
	}
	lightning := slices.Clone(plain)
	for i := range lightning {
		lightning[i].Name = "model." + lightning[i].Name
	}
	reversed := slices.Clone(plain)
	slices.Reverse(reversed)
	want := must.Get(ImportPyTorch(golden.LoadTiny(t, "postnorm").WritePth(t), ImportOptions{}))(t)
	for name, b := range map[string][]byte{
		"plain": checkpointOf(t, plain, ""), "prefixed": checkpointOf(t, prefixed, ""), "reversed": checkpointOf(t, reversed, ""),
		"lightning": checkpointOf(t, lightning, "state_dict"),
		"model":     checkpointOf(t, plain, "model"), "state_dict": checkpointOf(t, prefixed, "state_dict"),
		"model_state_dict": checkpointOf(t, plain, "model_state_dict"), "net": checkpointOf(t, plain, "net"),
	} {
		m, err := parse(t, b)
		if err != nil || m.Hash() != want.Hash() {
			t.Errorf("%s: error %v, or another model", name, err)
		}
	}
	both := append(slices.Clone(plain), prefixed[3])
	for want, b := range map[string][]byte{
		`tensor "` + plain[3].Name + `" is duplicated`: checkpointOf(t, both, "net"),
		`"epoch" is not a tensor`:                      checkpointOf(t, plain, "weights"),
		`tensor "encoder.weight" is missing`:           checkpointOf(t, plain[1:], "net"),
	} {
		must.Reject(parse(t, b))(t, want)
	}
}

// A file of the other format is an error that names its format, in both directions.
func TestOtherFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, mustNew(t, tiny(), 1).Save(path))
	must.Reject(ImportPyTorch(path, ImportOptions{}))(t, ErrSafetensors, path)
	path = golden.LoadTiny(t, "postnorm").WritePth(t)
	must.Reject(Load(path))(t, ErrZip, path)
}
