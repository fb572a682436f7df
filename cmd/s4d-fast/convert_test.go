package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/model"
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
			if code != exitUsage || !strings.Contains(stderr, `want step "exp" or "softplus"`) {
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

// convert writes a checkpoint, and reads it back as the same network.
func TestConvertToPyTorch(t *testing.T) {
	m := digitsModel(t)
	dir := t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	stdout := ok(t, "convert", m, out, "--to", "pytorch")
	if !strings.Contains(stdout, "input 0: subtract") {
		t.Errorf("stdout %q", stdout)
	}
	ok(t, "convert", out, back)
	a, err := model.Load(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Load(back)
	if err != nil {
		t.Fatal(err)
	}
	if a.Config.DModel != b.Config.DModel || a.Config.NLayers != b.Config.NLayers || a.Weights.Layers[0].MixWeight[3] != b.Weights.Layers[0].MixWeight[3] {
		t.Errorf("%+v became %+v", a.Config, b.Config)
	}
	mustSay(t, nil, []string{"convert", m, back, "--to", "pytorch"}, exitUsage, ".pth")
	mustSay(t, nil, []string{"convert", m, out, "--to", "pytorch", "--disc", "zoh"}, exitUsage, "takes no other option")
	mustSay(t, nil, []string{"convert", m, out, "--to", "onnx"}, exitUsage, "onnx")
	mustSay(t, nil, []string{"convert", out, out, "--to", "pytorch"}, exitBadInput, out)
}
