package main

import (
	"context"
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/model"
)

// Input that a plot command cannot draw is rejected, and nothing is written.
func TestPlotRejects(t *testing.T) {
	out, m, pinned := filepath.Join(t.TempDir(), "p.png"), digitsModel(t), saved(t, func(c *model.Config) { c.SSM.AReal = 0 })
	words := sweepDir(t, "words", "ssm.init"+sweepHead, "lin,1"+result("0.5"))
	wild := sweepDir(t, "wild", "model.dropout"+sweepHead, "0.1,1"+diverged)
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"poles " + m + " --set seed=1", exitUsage, []string{"omit them, or the model"}},
		{"poles " + m + " --step 0.1", exitUsage, []string{"omit them, or the model"}},
		{"poles --set ssm.init=circle", exitUsage, []string{`init "circle"`}},
		{"poles --set ssm.init", exitUsage, []string{`"ssm.init": expected KEY=VALUE`}},
		{"poles --set ssm.d_state=0", exitUsage, []string{"d_state 0"}},
		{"poles --set ssm.init=legs --set ssm.d_state=4098", exitUsage, []string{"ssm.d_state 4098:"}},
		{"poles --set ssm.layer=x", exitUsage, []string{`layer "x": expected one of`}},
		{"poles --set ssm.layer=s4 --set ssm.init=lin", exitUsage, []string{`init "lin"`, `layer "s4" expects`}},
		{"response --step=-1", exitUsage, []string{"dt_min -1"}},
		{"response --set ssm.layer=dss", exitUsage, []string{"ssm.l_kernel"}},
		{"kernels " + m + " --length 0", exitUsage, []string{"--length"}},
		{"kernels " + m + " --stride=-1", exitUsage, []string{"--stride"}},
		{"kernels nowhere.safetensors", exitBadInput, []string{"nowhere.safetensors"}},
		{"hinf " + pinned, exitBadInput, []string{pinned, "finite score"}},
		{"spectrum juggling", exitUsage, []string{`"juggling"`}},
		{"spectrum smnist", exitUsage, []string{"--data"}},
		{"spectrum smnist --data nowhere", exitBadInput, []string{"nowhere"}},
		{"spectrum delay --n 0", exitUsage, []string{"--n 0: expected 1"}},
		{"spectrum delay --set data.length=2", exitUsage, []string{"length 2"}},
		{"delay nowhere", exitBadInput, []string{"nowhere"}},
		{"delay " + filepath.Dir(m), exitBadInput, []string{"config.toml is missing"}},
		{"delay " + m, exitBadInput, []string{"m.safetensors", `task "delay"`}},
		{"sweep " + filepath.Dir(m), exitBadInput, []string{"sweep.csv", "sweep --out"}},
		{"sweep " + words, exitBadInput, []string{words, "no swept key is a number"}},
		{"sweep " + wild, exitBadInput, []string{wild, "diverged"}},
		{"all nowhere", exitBadInput, []string{"nowhere"}},
		{"hinf " + m + " --out x.gif", exitUsage, []string{".png or .svg"}},
	} {
		checkRun(t, nil, append([]string{"plot"}, strings.Fields(strings.Replace(c.args+" --out "+out, "x.gif --out "+out, "x.gif", 1))...), c.code, c.want...)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a rejected plot was written")
	}
}

// A signal ends a computation that does not check its context. No plot is written.
func TestPlotInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(program.Signal(syscall.SIGTERM))
	out := filepath.Join(t.TempDir(), "p.png")
	args := []string{"plot", "poles", "--set", "ssm.init=legs", "--set", "ssm.d_state=800", "--out", out}
	must.Equal(t, run(ctx, args, streams{out: io.Discard, err: io.Discard}), 128+int(syscall.SIGTERM), "exit code")
	if _, err := os.Stat(out); err == nil {
		t.Error("an interrupted plot was written")
	}
	v, err := orInterrupt(t.Context(), func() (int, error) { return 3, io.EOF })
	must.Equal(t, v, 3, "uninterrupted: value")
	must.Equal(t, err, io.EOF, "uninterrupted: error")
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

// drawn runs a plot command and returns the texts of an SVG. If a size is given, it also checks a
// PNG.
func drawn(t *testing.T, width, height int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	bitmap, vector := filepath.Join(dir, "picture.png"), filepath.Join(dir, "picture.svg")
	if width > 0 {
		ok(t, append(append([]string{"plot"}, args...), "--out", bitmap)...)
		mustBePNG(t, bitmap, width, height)
	}
	ok(t, append(append([]string{"plot"}, args...), "--out", vector)...)
	return svgTexts(t, vector)
}

// mustBePNG fails unless the file is a PNG of that size, higher by at most four rows of legends,
// with at least ten colours; 0 is any size.
func mustBePNG(t *testing.T, path string, width, height int) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if got := img.Bounds().Size(); width > 0 && (got.X != width || got.Y < height || got.Y > height+4*24) {
		t.Errorf("%s: %v pixels, expected %d×%d", filepath.Base(path), got, width, height)
	}
	colours := map[any]bool{}
	for y := 0; y < img.Bounds().Dy() && len(colours) < 10; y++ {
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
