package main

import (
	"context"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"math/cmplx"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// plot draws initialisations and models, and rejects input that it cannot draw.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"poles.png":   {"poles", "--init", "lin,dfout-half", "--step", "0.1"},
		"learned.svg": {"poles", digitsModel(t)},
	} {
		path := filepath.Join(dir, name)
		ok(t, append(append([]string{"plot"}, args...), "--out", path)...)
		if info, err := os.Stat(path); err != nil || info.Size() < 5000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for want, args := range map[string][]string{
		`init "circle"`: {"poles", "--init", "circle"}, "100000000 modes": {"poles", "--modes", "100000000"}, "70000 SSMs": {"poles", "--channels", "70000", "--modes", "2"}, "dt_min -1": {"response", "--step=-1"}, ".png or .svg": {"poles", "--out", filepath.Join(dir, "x.jpg")},
	} {
		if code, _, stderr := invoke(nil, append([]string{"plot"}, args...)...); code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("plot %v: exit code %d, stderr %s", args, code, stderr)
		}
	}
}

// The poles of an initialisation depend on the options of train. Options without an effect are
// rejected.
func TestPlotOptions(t *testing.T) {
	moduli := func(set ...string) (list []float64) {
		c := plotPolesCmd{Init: []string{"dfout"}, Step: []float64{0.1}, Channels: new(2), Set: set}
		plane := must.Get(c.initial())(t)
		for _, z := range plane.Panels[0].Poles {
			list = append(list, cmplx.Abs(z))
		}
		return list
	}
	plain, own := moduli(), moduli("ssm.param=width", "ssm.xi_min=0.001")
	if len(plain) != 64 {
		t.Fatalf("%d poles, expected 64", len(plain))
	}
	if low, high := slices.Min(plain), slices.Max(plain); high-low > 1e-12 {
		t.Errorf("one ξ: moduli %v … %v, expected equal ones", low, high)
	}
	if low, high := slices.Min(own), slices.Max(own); high-low < 0.01 {
		t.Errorf("one ξ a mode: moduli %v … %v, expected 0.01 between them", low, high)
	}
	if slices.Equal(own, moduli("ssm.param=width", "ssm.xi_min=0.001", "seed=7")) {
		t.Error("the poles do not depend on the seed")
	}
	if pinned := moduli("ssm.a_real=0"); slices.Min(pinned) < 1-1e-12 {
		t.Errorf("a_real=0: modulus %v", slices.Min(pinned))
	}
	mustHave(t, drawn(t, 780, 800, "poles", "--init", "dfout-half", "--step", "0.1", "--set", "ssm.xi_min=0.01"),
		"dfout-half, ξ from 0.01 to 0.1", "33 modes, 1 SSM", "π/2")
	mustHave(t, drawn(t, 1120, 1160, "poles", "--init", "lin,inv,dfout,dfout-single", "--step", "0.1", "--rate", "16000"), "0 Hz", "2 kHz", "8 kHz")
	drawn(t, 840+420, 2*440, "poles", "--init", "lin,dfout", "--step", "0.001,0.01,0.1")
	mustHave(t, drawn(t, 1200, 720, "response", "--init", "lin,dfout"), "lin, Δ = 0.1, 10 modes", "Re A = 0: unbounded", "Re A = -0.5", "ρ = 0: unbounded", "ρ = 0.5", "0", "π", "angular frequency [rad per sample]")
	mustHave(t, drawn(t, 1200, 500, "response", "--rate", "8000"), "frequency [Hz]", "3500")
	real := drawn(t, 1200, 500, "response", "--init", "real")
	if mustHave(t, real, "Re A = -1, -2, …"); strings.Count(real, "Re A") != 1 {
		t.Errorf("real has one curve:\n%s", real)
	}

	out, m := filepath.Join(t.TempDir(), "p.png"), digitsModel(t)
	for want, args := range map[string][]string{
		"omit them, or the model": {"poles", m, "--init", "lin"}, "--rate -1": {"response", "--rate=-1"}, "at most 1000000 Hz": {"poles", "--rate", "1e300"}, "--set": {"poles", m, "--set", "seed=1"}, "--channels": {"poles", m, "--channels", "3"},
		"--set ssm.init=lin": {"poles", "--set", "ssm.init=lin"}, "--set optim.lr=1": {"response", "--set", "optim.lr=1"},
		"--set ssm.a_real=1": {"response", "--set", "ssm.a_real=1"}, "are fixed": {"poles", "--init", "lin,real", "--set", "ssm.a_real=1"},
		"--decay": {"response", "--init", "lin,real", "--decay", "0"}, `param "width": init "lin"`: {"poles", "--init", "lin", "--set", "ssm.param=width"},
		"ssm.d_state 4098:": {"poles", "--init", "legs", "--modes", "2049"}, "d_state 0": {"poles", "--modes", "0"},
	} {
		checkRun(t, nil, append(append([]string{"plot"}, args...), "--out", out), exitUsage, want)
	}
}

// A signal ends a computation that does not check its context. No plot is written.
func TestPlotInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError{syscall.SIGTERM})
	modes, out := 400, filepath.Join(t.TempDir(), "p.png")
	c := plotPolesCmd{Init: []string{"legs"}, Step: []float64{0.1}, Modes: &modes, Out: plotFile(out)}
	err := c.Run(&streams{err: io.Discard}, &ctxBox{ctx})
	if code := exitCode(ctx, err); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d, error %v", code, err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an interrupted plot was written")
	}
	v, err := orInterrupt(t.Context(), func() (int, error) { return 3, io.EOF })
	must.Equal(t, v, 3, "uninterrupted: value")
	must.Equal(t, err, io.EOF, "uninterrupted: error")
}

// The help of every plot command has an example.
func TestPlotHelp(t *testing.T) {
	for _, command := range []string{"poles", "response", "kernels", "spectrum", "hinf", "delay", "sweep", "all"} {
		if got := ok(t, "plot", command, "--help"); !strings.Contains(got, "Example") || !strings.Contains(got, "s4d-fast plot "+command) {
			t.Errorf("plot %s --help shows no example: %q", command, got)
		}
	}
}

// saved writes an untrained network of two layers of four channels, with changes, and returns the
// path of its file.
func saved(t *testing.T, change func(*model.Config)) string {
	t.Helper()
	c := model.Default()
	c.DModel, c.NLayers, c.DOutput, c.SSM.DState = 4, 2, 3, 8
	change(&c)
	m := must.Get(model.New(c, 1))(t)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, m.Save(path))
	return path
}

// drawn runs a plot command twice. It checks the size of a PNG and returns the texts of an SVG.
func drawn(t *testing.T, width, height int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	bitmap, vector := filepath.Join(dir, "picture.png"), filepath.Join(dir, "picture.svg")
	ok(t, append(append([]string{"plot"}, args...), "--out", bitmap)...)
	mustBePNG(t, bitmap, width, height)
	ok(t, append(append([]string{"plot"}, args...), "--out", vector)...)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(left) > 0 {
		t.Errorf("plot %v leaves %v", args, left)
	}
	return svgTexts(t, vector)
}

// mustBePNG fails unless the file is a PNG of that size with at least ten colours; 0 is any size.
func mustBePNG(t *testing.T, path string, width, height int) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if got := img.Bounds().Size(); width > 0 && got != image.Pt(width, height) {
		t.Errorf("%s: %v pixels, expected %d×%d", filepath.Base(path), got, width, height)
	}
	colours := map[any]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			colours[img.At(x, y)] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("%s has %d colours: expected at least 10", filepath.Base(path), len(colours))
	}
}

// svgTexts returns the texts of a well-formed SVG, one per line.
func svgTexts(t *testing.T, path string) string {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	var texts []string
	d := xml.NewDecoder(f)
	for {
		token, err := d.Token()
		if token == nil {
			if err.Error() != "EOF" {
				t.Errorf("%s: %v", path, err)
			}
			return strings.Join(texts, "\n") + "\n"
		}
		if text, ok := token.(xml.CharData); ok && len(strings.TrimSpace(string(text))) > 0 {
			texts = append(texts, string(text))
		}
	}
}

// mustHave reports each line that is missing in the texts.
func mustHave(t *testing.T, texts string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+texts, "\n"+line+"\n") {
			t.Errorf("the plot has no text %q:\n%s", line, texts)
		}
	}
}
