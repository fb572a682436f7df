package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

func TestConvertInspect(t *testing.T) {
	pth := golden.Pth(t, "train-tiny-postnorm")
	out := filepath.Join(t.TempDir(), "tiny.safetensors")
	ok(t, "convert", pth, out, "--mean", "0,1", "--std", "1,2", "--labels", "a,b,c,d,e")
	var info inspection
	decode(t, ok(t, "inspect", out, "--json"), &info)
	if info.Scores != nil {
		t.Error("inspect prints scores without --scores")
	}
	equal(t, "parameters", info.Parameters, 933)
	equal(t, "layers with poles", len(info.Poles), 2)
	equal(t, "labels", strings.Join(info.Meta.Labels, " "), "a b c d e")
	if top := info.Poles[0].Modulus[1]; top > 1 {
		t.Errorf("the largest modulus of the poles of layer 0 is %v, above 1", top)
	}
	contains(t, "inspect", ok(t, "inspect", out),
		"933", "d_state=16", "a b c d e", "poles 1", "layers.1.mix.weight", "mean 1, standard deviation 2")
	checkRun(t, nil, []string{"convert", pth, out, "--mean", "0", "--std", "1"}, exitUsage, "1 means", "2 input channels")
	checkRun(t, nil, []string{"convert", pth, out, "--labels", "a"}, exitUsage, "1 labels for 5 outputs")
	checkRun(t, nil, []string{"convert", pth, out, "--labels", "a,b,c,d,a"}, exitUsage, `label "a" occurs twice`)
}

// convert writes a checkpoint. With the flags that it prints, the checkpoint converts back to the
// same model.
func TestConvertToPyTorch(t *testing.T) {
	dir := t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	name := digitsModel(t)
	flags := strings.Fields(ok(t, "convert", name, out))
	ok(t, append([]string{"convert", out, back}, flags...)...)
	a := must.Get(modelFile(name).read())(t)
	b := must.Get(model.Load(back))(t)
	if !reflect.DeepEqual(a.Meta, b.Meta) {
		t.Errorf("%+v came back as %+v with the flags %q", a.Meta, b.Meta, flags)
	}
	want := modelOutput(t, a)
	for i, v := range modelOutput(t, b) {
		if math.Abs(float64(v-want[i])) > 1e-4 {
			t.Errorf("%s: output %d is %v, expected %v", name, i, v, want[i])
		}
	}
	m := digitsModel(t)
	a.Meta.Series = &model.Series{Mode: model.SeriesClassification, Columns: []string{"x"}, Offsets: []float64{5}}
	offset := filepath.Join(dir, "offset.safetensors")
	must.Do(t, a.Save(offset))
	_, _, stderr := invoke(nil, "convert", offset, out)
	contains(t, "standard error", stderr, `offsets of the columns: the network reads ["x"] less [5]`)
	checkRun(t, nil, []string{"convert", m, out, "--disc", "zoh"}, exitUsage, "accepts no option")
	checkRun(t, nil, []string{"convert", m, filepath.Join(dir, "m.onnx")}, exitUsage, ".safetensors, .pth or .pt")
}

// The flags that convert prints survive a shell and convert itself.
func TestConvertFlags(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	in, out, back := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "m.pth"), filepath.Join(dir, "back.safetensors")
	for _, labels := range [][]string{{"no", "don't, please", "$(x) \"y\""}, {"a, b", "", "c"}} {
		m := must.Get(model.Load(digitsModel(t)))(t)
		m.Meta.Labels, m.Meta.SampleRate, m.Config.PreNorm = labels, 22050.5, true
		must.Do(t, m.Save(in))
		code, flags, stderr := invoke(nil, "convert", in, out)
		if code != exitOK {
			t.Fatalf("%q: exit code %d: %s", labels, code, stderr)
		}
		words, err := exec.Command(shell, "-c", `printf '%s\0' `+strings.ReplaceAll(flags, "\n", " ")).Output()
		if err != nil {
			t.Fatalf("%q: %v", flags, err)
		}
		ok(t, append([]string{"convert", out, back}, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")...)...)
		got := must.Get(model.Load(back))(t)
		what := fmt.Sprintf("labels %q: ", labels)
		equal(t, what+"labels", fmt.Sprintf("%q", got.Meta.Labels), fmt.Sprintf("%q", labels))
		equal(t, what+"sampling rate", got.Meta.SampleRate, 22050.5)
		equal(t, what+"pre-norm", got.Config.PreNorm, true)
	}
}

// The error about an invalid or missing flag has the flag as it is written.
func TestConvertBadFlags(t *testing.T) {
	pth, out := golden.Pth(t, "train-tiny-postnorm"), filepath.Join(t.TempDir(), "m.safetensors")
	for _, bad := range []struct{ flag, want string }{
		{"--rate=-5", "sample rate -5"}, {"--task=juggling", `--task "juggling": expected one of`},
		{"--disc=bilinear", `--disc: "bilinear": minimal S4D layers have "zoh"`}, {"--step=softplus", `--step: "softplus"`},
	} {
		checkRun(t, nil, []string{"convert", pth, out, bad.flag}, exitUsage, bad.want)
	}
	checkRun(t, nil, []string{"convert", pth, out, "--mean=0,0", "--std=1,0"}, exitUsage, "mean 0 and standard deviation 0")
	full := golden.Pth(t, golden.Imports(t)[0].Name)
	checkRun(t, nil, []string{"convert", full, out, "--step=exp"}, exitUsage, "--disc: missing", "discretise")
	if _, err := os.Stat(out); err == nil {
		t.Errorf("a rejected conversion created %s", out)
	}
}

// The error about a file of the wrong kind states its kind, and how to convert it.
func TestConvertWrongWay(t *testing.T) {
	pth, m, dir := golden.Pth(t, "train-tiny-postnorm"), digitsModel(t), t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	checkRun(t, nil, []string{"convert", pth, out}, exitBadInput, pth, "PyTorch checkpoint", "s4d-fast convert "+pth)
	checkRun(t, nil, []string{"inspect", pth}, exitBadInput, pth, "PyTorch checkpoint", "convert")
	checkRun(t, nil, []string{"convert", m, back}, exitBadInput, m, "model file", ".pth")
	checkRun(t, nil, []string{"convert", "digits", back}, exitBadInput, "digits", ".pth")
}

// An output that is the input is an error, also through a link, and the input stays.
func TestConvertOntoInput(t *testing.T) {
	in, link := golden.Pth(t, "train-tiny-postnorm"), filepath.Join(t.TempDir(), "m.pth")
	if err := os.Symlink(in, link); err != nil {
		t.Skip(err)
	}
	before := read(t, in)
	for _, args := range [][]string{{link, in}, {in, link}, {in, in}} {
		checkRun(t, nil, append([]string{"convert"}, args...), exitUsage, args[1]+`" is an input`)
	}
	if !slices.Equal(read(t, in), before) {
		t.Error("the input changed")
	}
	csv, m := write(t, "a.csv", []byte("a,b\n1,x\n")), digitsModel(t)
	must.Do(t, os.Remove(link))
	must.Do(t, os.Symlink(m, link))
	for _, out := range []string{csv, m, link} {
		checkRun(t, nil, []string{"eval", m, "--data", csv, "--predictions", out}, exitUsage, out+`" is an input`)
	}
	link = filepath.Join(t.TempDir(), "m.png")
	must.Do(t, os.Symlink(m, link))
	for _, args := range []string{"plot poles M --out", "plot kernels M --out", "calibrate M --words x --background x --plot"} {
		checkRun(t, nil, append(strings.Fields(strings.Replace(args, "M", m, 1)), link), exitUsage, link+`" is an input`)
	}
	checkRun(t, nil, []string{"calibrate", m, "--words", csv, "--background", csv, "--write", csv}, exitUsage, csv+`" is an input`)
}

// The first choice among several networks is a note with the flag that changes it, and an error
// with --strict.
func TestConvertWeights(t *testing.T) {
	tensors := must.Get(pth.Load(golden.Pth(t, "train-tiny-postnorm"), func(s []pth.State) (pth.State, error) { return s[0], nil }))(t)
	for _, x := range slices.Clone(tensors) {
		x.Name, x.Data = "ema_model."+x.Name, slices.Clone(x.Data)
		for i := range x.Data {
			x.Data[i] /= 2
		}
		tensors = append(tensors, x)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.pth"), filepath.Join(dir, "m.safetensors")
	f := must.Get(os.Create(in))(t)
	must.Do(t, pth.Write(f, tensors))
	must.Do(t, f.Close())
	for weights, note := range map[string]string{"": `"." were converted (--weights)`, "ema_model": `the weights are those of "ema_model"`} {
		_, moves, stderr := invoke(nil, "convert", in, out, "--weights", weights)
		contains(t, "stderr", stderr, note)
		contains(t, "stdout", moves, "(not used)")
		i := slices.IndexFunc(tensors, func(x pth.Tensor) bool { return x.Name == strings.Trim(weights+".decoder.bias", ".") })
		if got := must.Get(model.Load(out))(t).Weights.DecoderBias; !slices.Equal(got, tensors[i].Data) {
			t.Errorf("weights %q: %v, expected %v", weights, got, tensors[i].Data)
		}
	}
	checkRun(t, nil, []string{"convert", in, out, "--weights=best"}, exitUsage, `--weights: "best": the file has the weights ".", "ema_model"`)
	checkRun(t, nil, []string{"convert", in, out, "--strict"}, exitBadInput, "--weights", "--prenorm")
}

// convert reports what it assumes where neither the checkpoint nor a flag states it.
func TestConvertAssumptions(t *testing.T) {
	pth, out := golden.Pth(t, "train-tiny-prenorm"), filepath.Join(t.TempDir(), "m.safetensors")
	_, _, stderr := invoke(nil, "convert", pth, out)
	contains(t, "stderr", stderr, "--prenorm", "--mean")
	_, _, stderr = invoke(nil, "convert", pth, out, "--prenorm", "--mean=0,0", "--std=1,1")
	if strings.Contains(stderr, "assumed") {
		t.Errorf("an assumption is stated although flags were given: %s", stderr)
	}
	pth = golden.Pth(t, "import-lmax")
	full := []string{"convert", pth, out, "--disc=zoh", "--step=exp", "--no-prenorm", "--mean=0", "--std=1"}
	_, _, stderr = invoke(nil, full...)
	contains(t, "stderr", stderr, "note: assumed", "--length", "activation gelu (--activation)", "pool mean (--pool)", "mixing glu, no gate, no bottleneck")
	ok(t, append(full, "--strict", "--length=16", "--activation=gelu", "--pool=mean")...)
	equal(t, "l_max", must.Get(model.Load(out))(t).Config.SSM.LMax, 16)
	ok(t, append(full, "--length=0")...)
	equal(t, "l_max", must.Get(model.Load(out))(t).Config.SSM.LMax, 0)
}

func modelOutput(t *testing.T, m *model.Model) []float32 {
	t.Helper()
	net := must.Get(recurrent.New(m, recurrent.Options{}))(t)
	x := make([]float32, 4000)
	for i := range x {
		x[i] = float32(math.Sin(float64(i) * float64(i) / 1e4))
	}
	return net.NewStream().Process(x, len(x))
}
