package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

func TestConvertInspect(t *testing.T) {
	pth := golden.LoadTiny(t, "postnorm").WritePth(t)
	out := filepath.Join(t.TempDir(), "tiny.safetensors")
	ok(t, "convert", pth, out, "--mean", "0,1", "--std", "1,2", "--labels", "a,b,c,d,e")
	var info inspection
	decode(t, ok(t, "inspect", out, "--json"), &info)
	if info.Scores != nil {
		t.Error("inspect prints scores that nobody asked for")
	}
	if info.Parameters != 933 || len(info.Poles) != 2 || info.Meta.Labels[4] != "e" || info.Poles[0].Modulus[1] > 1 {
		t.Errorf("inspection %+v", info)
	}
	text := ok(t, "inspect", out)
	for _, part := range []string{"933", "d_state 16", "a b c d e", "poles 1", "layers.1.mix.weight", "mean 1, standard deviation 2"} {
		if !strings.Contains(text, part) {
			t.Errorf("inspect does not say %q:\n%s", part, text)
		}
	}
	mustSay(t, nil, []string{"convert", pth, out, "--mean", "0", "--std", "1"}, exitUsage, "2 input channels")
	mustSay(t, nil, []string{"convert", pth, out, "--labels", "a"}, exitUsage, "5 outputs")
}

// convert reads full layers, prints what became of each tensor, and asks for what the file cannot tell.
func TestConvertFullLayers(t *testing.T) {
	for _, g := range golden.Imports(t) {
		in, out := g.WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
		args := []string{"convert", in, out, "--disc", g.Config.Disc}
		if g.Config.Version == "v4" {
			code, _, stderr := invoke(nil, args...)
			if code != exitUsage || !strings.Contains(stderr, `--step: not given`) {
				t.Errorf("%s without a step: exit code %d, %s", g.Name, code, stderr)
			}
			args = append(args, "--step", g.Config.DtTransform)
		}
		stdout := ok(t, args...)
		if n := strings.Count(stdout, "\n"); n != len(g.Tensors) || strings.Count(stdout, "(not used)") != map[string]int{"v3": 2, "v4": 0}[g.Config.Version] {
			t.Errorf("%s: %d lines for %d tensors\n%s", g.Name, n, len(g.Tensors), stdout)
		}
		if _, err := model.Load(out); err != nil {
			t.Error(err)
		}
	}
}

// convert writes a checkpoint, of a built-in model too, and with the flags that it prints reads it back as the same model.
func TestConvertToPyTorch(t *testing.T) {
	dir := t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	for _, name := range []string{digitsModel(t), "digits"} {
		flags := strings.Fields(ok(t, "convert", name, out, "--to", "pytorch"))
		ok(t, append([]string{"convert", out, back}, flags...)...)
		a, err := modelFile(name).load()
		if err != nil {
			t.Fatal(err)
		}
		b, err := model.Load(back)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a.Meta, b.Meta) {
			t.Errorf("%+v became %+v by %q", a.Meta, b.Meta, flags)
		}
		want := answer(t, a)
		for i, v := range answer(t, b) {
			if math.Abs(float64(v-want[i])) > 1e-4 {
				t.Errorf("%s: output %d is %v, was %v", name, i, v, want[i])
			}
		}
	}
	m := digitsModel(t)
	mustSay(t, nil, []string{"convert", m, back, "--to", "pytorch"}, exitUsage, ".pth")
	mustSay(t, nil, []string{"convert", m, out, "--to", "pytorch", "--disc", "zoh"}, exitUsage, "accepts no other option")
	mustSay(t, nil, []string{"convert", m, out, "--to", "onnx"}, exitUsage, "onnx")
}

// answer returns what a network says to half a second of a tone.
func answer(t *testing.T, m *model.Model) []float32 {
	t.Helper()
	net, err := recurrent.New(m, recurrent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 4000)
	for i := range x {
		x[i] = float32(math.Sin(float64(i) * float64(i) / 1e4))
	}
	return net.NewStream().Process(x, len(x))
}

// The flags that export prints come through a shell and convert whatever the labels are; those that cannot are left out, and that is said.
func TestConvertFlags(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	in, out, back := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "m.pth"), filepath.Join(dir, "back.safetensors")
	for _, labels := range [][]string{{"no", "don't, please", "$(x) \"y\""}, {"a, b", "", "c"}, {"a\\", "b", "c"}, {"a", "b\nc", "d"}, {"a", "b\x1b[2J", "c"}} {
		m, err := model.Load(digitsModel(t))
		if err != nil {
			t.Fatal(err)
		}
		m.Meta.Labels, m.Meta.SampleRate, m.Config.PreNorm = labels, 22050.5, true
		if err := m.Save(in); err != nil {
			t.Fatal(err)
		}
		code, flags, stderr := invoke(nil, "convert", in, out, "--to", "pytorch")
		if code != exitOK {
			t.Fatalf("%q: exit code %d: %s", labels, code, stderr)
		}
		words, err := exec.Command(shell, "-c", `printf '%s\0' `+strings.ReplaceAll(flags, "\n", " ")).Output()
		if err != nil {
			t.Fatalf("%q: %v", flags, err)
		}
		ok(t, append([]string{"convert", out, back}, strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")...)...)
		got, err := model.Load(back)
		if err != nil {
			t.Fatal(err)
		}
		want := labels
		if slices.ContainsFunc(labels, unflaggable) {
			want = nil
		}
		if !slices.Equal(got.Meta.Labels, want) || got.Meta.SampleRate != 22050.5 || !got.Config.PreNorm || strings.Contains(stderr, "backslash") != (want == nil) {
			t.Errorf("labels %q came back as %q by %s, stderr %s", labels, got.Meta.Labels, flags, stderr)
		}
	}
}

// A flag that is wrong or missing is named as it is spelt.
func TestConvertBadFlags(t *testing.T) {
	pth, out := golden.LoadTiny(t, "postnorm").WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
	for _, bad := range []struct{ flag, want string }{
		{"--rate=-5", "--rate -5"}, {"--rate=NaN", "--rate NaN"}, {"--task=juggling", `--task "juggling": expected one of`},
		{"--disc=bilinear", `--disc: "bilinear": minimal S4D layers have "zoh"`}, {"--step=softplus", `--step: "softplus"`},
	} {
		mustSay(t, nil, []string{"convert", pth, out, bad.flag}, exitUsage, bad.want)
	}
	mustSay(t, nil, []string{"convert", pth, out, "--mean=0,0", "--std=1,0"}, exitUsage, "--std 0")
	mustSay(t, nil, []string{"convert", pth, out, "--mean=NaN,0", "--std=1,1"}, exitUsage, "--mean NaN")
	full := golden.Imports(t)[0].WritePth(t)
	mustSay(t, nil, []string{"convert", full, out, "--step=exp"}, exitUsage, "--disc: not given", "discretise")
	if _, err := os.Stat(out); err == nil {
		t.Errorf("a refused conversion left %s behind", out)
	}
}

// A file of the wrong kind is called what it is, with the way to convert it.
func TestConvertWrongWay(t *testing.T) {
	pth, m, dir := golden.LoadTiny(t, "postnorm").WritePth(t), digitsModel(t), t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	mustSay(t, nil, []string{"convert", pth, out, "--to", "pytorch"}, exitBadInput, pth, "PyTorch checkpoint", "s4d-fast convert "+pth)
	mustSay(t, nil, []string{"inspect", pth}, exitBadInput, pth, "PyTorch checkpoint", "convert")
	mustSay(t, nil, []string{"convert", m, back}, exitBadInput, m, "model file", "--to pytorch")
	mustSay(t, nil, []string{"convert", "digits", back}, exitBadInput, "digits", "--to pytorch")
}

// A missing folder is named, not the temporary file that would be in it.
func TestConvertNoFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nowhere")
	for _, args := range [][]string{
		{"convert", golden.LoadTiny(t, "postnorm").WritePth(t), filepath.Join(missing, "m.safetensors")},
		{"convert", "digits", filepath.Join(missing, "m.pth"), "--to", "pytorch"},
	} {
		code, _, stderr := invoke(nil, args...)
		if code != exitFailed || !strings.Contains(stderr, missing+": ") || strings.Contains(stderr, ".tmp") || strings.Contains(stderr, "model:") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
}

// What the file cannot tell and no flag told is said.
func TestConvertAssumptions(t *testing.T) {
	pth, out := golden.LoadTiny(t, "prenorm").WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
	_, _, stderr := invoke(nil, "convert", pth, out)
	if !strings.Contains(stderr, "--prenorm") || !strings.Contains(stderr, "--mean") {
		t.Errorf("what was assumed is not said: %s", stderr)
	}
	_, _, stderr = invoke(nil, "convert", pth, out, "--prenorm", "--mean=0,0", "--std=1,1")
	if strings.Contains(stderr, "assumed") {
		t.Errorf("nothing was assumed: %s", stderr)
	}
}
