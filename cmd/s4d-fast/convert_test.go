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

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func TestConvertInspect(t *testing.T) {
	pth := golden.LoadTiny(t, "postnorm").WritePth(t)
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
		"933", "d_state 16", "a b c d e", "poles 1", "layers.1.mix.weight", "mean 1, standard deviation 2")
	checkRun(t, nil, []string{"convert", pth, out, "--mean", "0", "--std", "1"}, exitUsage, "2 input channels")
	checkRun(t, nil, []string{"convert", pth, out, "--labels", "a"}, exitUsage, "5 outputs")
	checkRun(t, nil, []string{"convert", pth, out, "--labels", "a,b,c,d,a"}, exitUsage, `label "a" occurs twice`)
}

// convert reads full layers, prints how each tensor was converted, and requires the flags that the
// file cannot replace.
func TestConvertFullLayers(t *testing.T) {
	for _, g := range golden.Imports(t) {
		in, out := g.WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
		args := []string{"convert", in, out, "--disc", g.Config.Disc}
		if g.Config.Version == "v4" {
			checkRun(t, nil, args, exitUsage, "--step: missing")
			args = append(args, "--step", g.Config.DtTransform)
		}
		stdout := ok(t, args...)
		equal(t, g.Name+": lines", strings.Count(stdout, "\n"), len(g.Tensors))
		equal(t, g.Name+": unused tensors", strings.Count(stdout, "(not used)"), map[string]int{"v3": 2, "v4": 0}[g.Config.Version])
		if _, err := model.Load(out); err != nil {
			t.Error(err)
		}
	}
}

// convert writes a checkpoint. With the flags that it prints, the checkpoint converts back to the
// same model.
func TestConvertToPyTorch(t *testing.T) {
	dir := t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	name := digitsModel(t)
	flags := strings.Fields(ok(t, "convert", name, out, "--to", "pytorch"))
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
	checkRun(t, nil, []string{"convert", m, back, "--to", "pytorch"}, exitUsage, ".pth")
	checkRun(t, nil, []string{"convert", m, out, "--to", "pytorch", "--disc", "zoh"}, exitUsage, "accepts no other option")
	checkRun(t, nil, []string{"convert", m, out, "--to", "onnx"}, exitUsage, "onnx")
}

// S4 is exported as it is: with the printed flags the checkpoint converts back to the same file.
func TestConvertS4ToPyTorch(t *testing.T) {
	dir := t.TempDir()
	name, out, back := filepath.Join(dir, "s4.safetensors"), filepath.Join(dir, "s4.pth"), filepath.Join(dir, "back.safetensors")
	ok(t, "convert", golden.TinyS4Pth(t), name, "--step", "exp", "--prenorm")
	flags := strings.Fields(ok(t, "convert", name, out, "--to", "pytorch"))
	equal(t, "flags", strings.Join(flags, " "), "--prenorm --step=exp")
	ok(t, append([]string{"convert", out, back}, flags...)...)
	a, b := must.Get(model.Load(name))(t), must.Get(model.Load(back))(t)
	if a.Hash() != b.Hash() {
		t.Error("another model came back")
	}
	checkRun(t, nil, []string{"convert", name, out, "--to", "pytorch", "--length", "9"}, exitUsage, "accepts no other option")
}

// DSS is exported as minimal layers with the same output, unless modes grow.
func TestConvertDSSToPyTorch(t *testing.T) {
	dir := t.TempDir()
	name, out, back := filepath.Join(dir, "dss.safetensors"), filepath.Join(dir, "dss.pth"), filepath.Join(dir, "back.safetensors")
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 1, 3, 4, 2, 8
	c.SSM.Layer, c.SSM.Init, c.SSM.TrainB, c.SSM.LKernel = ssm.LayerDSS, ssm.LegS, true, 64
	m := must.Get(model.New(c, 1))(t)
	must.Do(t, m.Save(name))
	ok(t, "convert", name, out, "--to", "pytorch")
	ok(t, "convert", out, back)
	minimal := must.Get(model.Load(back))(t)
	equal(t, "minimal layers have a normaliser", minimal.Config.SSM.FixedLength(), false)
	want := modelOutput(t, m)
	for i, v := range modelOutput(t, minimal) {
		if math.Abs(float64(v-want[i])) > 1e-4 {
			t.Errorf("output %d is %v, expected %v", i, v, want[i])
		}
	}
	m.Weights.Layers[1].Decay[2] = -0.5
	must.Do(t, m.Save(name))
	checkRun(t, nil, []string{"convert", name, out, "--to", "pytorch"}, exitBadInput, "layer 1: a mode that grows")
}

// A DSS checkpoint whose modes grow is converted, but the network is limited to the given length.
func TestConvertGrowingDSS(t *testing.T) {
	for _, g := range golden.Imports(t) {
		if g.Config.Version != "v4" {
			continue
		}
		out := filepath.Join(t.TempDir(), "m.safetensors")
		// As DSS, the file's log −Re A, which is negative, is −Re A.
		ok(t, "convert", g.WritePth(t), out, "--disc", "dss", "--length", "96", "--step", g.Config.DtTransform)
		m := must.Get(model.Load(out))(t)
		n := must.Get(convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: 96}))(t)
		n.Close()
		must.Reject(convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: 97}))(t, "grow without bound after ssm.l_kernel = 96 samples")
		if !g.Config.Bidirectional {
			must.Reject(recurrent.New(m, recurrent.Options{}))(t, "grow without bound, but a stream has no end")
		}
	}
}

// modelOutput returns a network's output for half a second of a rising tone.
func modelOutput(t *testing.T, m *model.Model) []float32 {
	t.Helper()
	net := must.Get(recurrent.New(m, recurrent.Options{}))(t)
	x := make([]float32, 4000)
	for i := range x {
		x[i] = float32(math.Sin(float64(i) * float64(i) / 1e4))
	}
	return net.NewStream().Process(x, len(x))
}

// The flags that convert prints survive a shell and convert itself, whatever the labels are. Labels
// that --labels cannot express are left out, with a message.
func TestConvertFlags(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	in, out, back := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "m.pth"), filepath.Join(dir, "back.safetensors")
	for _, labels := range [][]string{{"no", "don't, please", "$(x) \"y\""}, {"a, b", "", "c"}, {"a\\", "b", "c"}, {"a", "b\nc", "d"}, {"a", "b\x1b[2J", "c"}} {
		m := must.Get(model.Load(digitsModel(t)))(t)
		m.Meta.Labels, m.Meta.SampleRate, m.Config.PreNorm = labels, 22050.5, true
		must.Do(t, m.Save(in))
		code, flags, stderr := invoke(nil, "convert", in, out, "--to", "pytorch")
		if code != exitOK {
			t.Fatalf("%q: exit code %d: %s", labels, code, stderr)
		}
		words, err := exec.Command(shell, "-c", `printf '%s\0' `+strings.ReplaceAll(flags, "\n", " ")).Output()
		if err != nil {
			t.Fatalf("%q: %v", flags, err)
		}
		ok(t, append([]string{"convert", out, back}, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")...)...)
		got := must.Get(model.Load(back))(t)
		want := labels
		if slices.ContainsFunc(labels, unflaggable) {
			want = nil
		}
		what := fmt.Sprintf("labels %q: ", labels)
		equal(t, what+"labels", fmt.Sprintf("%q", got.Meta.Labels), fmt.Sprintf("%q", want))
		equal(t, what+"sampling rate", got.Meta.SampleRate, 22050.5)
		equal(t, what+"pre-norm", got.Config.PreNorm, true)
		equal(t, what+"message about the labels", strings.Contains(stderr, "backslash"), want == nil)
	}
}

// The error about an invalid or missing flag has the flag as it is written.
func TestConvertBadFlags(t *testing.T) {
	pth, out := golden.LoadTiny(t, "postnorm").WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
	for _, bad := range []struct{ flag, want string }{
		{"--rate=-5", "--rate -5"}, {"--rate=NaN", "--rate NaN"}, {"--task=juggling", `--task "juggling": expected one of`},
		{"--disc=bilinear", `--disc: "bilinear": minimal S4D layers have "zoh"`}, {"--step=softplus", `--step: "softplus"`},
	} {
		checkRun(t, nil, []string{"convert", pth, out, bad.flag}, exitUsage, bad.want)
	}
	checkRun(t, nil, []string{"convert", pth, out, "--mean=0,0", "--std=1,0"}, exitUsage, "--std 0")
	checkRun(t, nil, []string{"convert", pth, out, "--mean=NaN,0", "--std=1,1"}, exitUsage, "--mean NaN")
	full := golden.Imports(t)[0].WritePth(t)
	checkRun(t, nil, []string{"convert", full, out, "--step=exp"}, exitUsage, "--disc: missing", "discretise")
	if _, err := os.Stat(out); err == nil {
		t.Errorf("a rejected conversion created %s", out)
	}
}

// The error about a file of the wrong kind states its kind, and how to convert it.
func TestConvertWrongWay(t *testing.T) {
	pth, m, dir := golden.LoadTiny(t, "postnorm").WritePth(t), digitsModel(t), t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	checkRun(t, nil, []string{"convert", pth, out, "--to", "pytorch"}, exitBadInput, pth, "PyTorch checkpoint", "s4d-fast convert "+pth)
	checkRun(t, nil, []string{"inspect", pth}, exitBadInput, pth, "PyTorch checkpoint", "convert")
	checkRun(t, nil, []string{"convert", m, back}, exitBadInput, m, "model file", "--to pytorch")
	checkRun(t, nil, []string{"convert", "digits", back}, exitBadInput, "digits", "--to pytorch")
}

// The error about a missing folder names the folder, not the temporary file that would be in it.
func TestConvertNoFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nowhere")
	for _, args := range [][]string{
		{"convert", golden.LoadTiny(t, "postnorm").WritePth(t), filepath.Join(missing, "m.safetensors")},
		{"convert", digitsModel(t), filepath.Join(missing, "m.pth"), "--to", "pytorch"},
	} {
		code, _, stderr := invoke(nil, args...)
		equal(t, "exit code", code, exitFailed)
		contains(t, "stderr", stderr, missing+": ")
		for _, word := range []string{".tmp", "model:"} {
			if strings.Contains(stderr, word) {
				t.Errorf("stderr has %q: %s", word, stderr)
			}
		}
	}
}

// convert reports what it assumes where neither the checkpoint nor a flag states it.
func TestConvertAssumptions(t *testing.T) {
	pth, out := golden.LoadTiny(t, "prenorm").WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
	_, _, stderr := invoke(nil, "convert", pth, out)
	contains(t, "stderr", stderr, "--prenorm", "--mean")
	_, _, stderr = invoke(nil, "convert", pth, out, "--prenorm", "--mean=0,0", "--std=1,1")
	if strings.Contains(stderr, "assumed") {
		t.Errorf("an assumption is stated although flags were given: %s", stderr)
	}
}
