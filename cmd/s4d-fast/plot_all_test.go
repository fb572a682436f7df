package main

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// plot all draws every plot of a run, and prints why others are left out.
func TestPlotAll(t *testing.T) {
	dir, run := filepath.Join(t.TempDir(), "made", "here"), delayRunDir(t, "ssm.init=dfout,seed=1", "ssm.a_real=0.5")
	_, _, stderr := invoke(nil, "plot", "all", run, "--out", dir)
	for _, name := range []string{"poles", "kernels", "hinf", "spectrum", "delay"} {
		mustBePNG(t, filepath.Join(dir, name+".png"), 0, 0)
		contains(t, "stderr", stderr, "wrote "+filepath.Join(dir, name+".png")+"\n")
	}
	run = filepath.Join(t.TempDir(), "lru")
	ok(t, append([]string{"train", "fsdd", "--data", tones(t), "--set", "ssm.layer=lru", "--set", "ssm.init=ring", "--out", run}, small...)...)
	code, _, stderr := invoke(nil, "plot", "all", run, "--out", filepath.Join(dir, "lru"))
	must.Equal(t, code, exitOK, "exit code: %s", stderr)
	contains(t, "stderr", stderr, "skipped "+filepath.Join(dir, "lru", "hinf.png")+": ", "an LRU has no step Δ",
		"skipped "+filepath.Join(dir, "lru", "delay.png")+": ", "expected one that repeats a signal", "wrote "+filepath.Join(dir, "lru", "spectrum.png"))
	checkRun(t, nil, []string{"plot", "all", run}, exitUsage, "--out")
	checkRun(t, nil, []string{"plot", "all", run, "--out", write(t, "file", nil)}, exitFailed, "file")
}

// pictures makes six colour images of CIFAR's size in two classes.
func pictures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 6 {
		img := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range img.Pix {
			img.Pix[at] = byte(at * (i + 3))
		}
		class := filepath.Join(dir, "train", []string{"cat", "dog"}[i%2])
		must.Do(t, os.MkdirAll(class, 0o777))
		f := must.Get(os.Create(filepath.Join(class, fmt.Sprint(i, ".png"))))(t)
		must.Do(t, png.Encode(f, img))
		must.Do(t, f.Close())
	}
	return dir
}

// plot paper draws what it has input for, and prints why the other figures are left out.
func TestPlotPaper(t *testing.T) {
	runs, out := t.TempDir(), filepath.Join(t.TempDir(), "figures")
	for _, name := range []string{"lin", "dfout"} {
		m := must.Get(model.Load(saved(t, func(*model.Config) {})))(t)
		m.Meta.Task = "scifar"
		must.Do(t, m.Save(filepath.Join(runs, name+".safetensors")))
	}
	_, _, stderr := invoke(nil, "plot", "paper", "--runs", runs, "--out", out)
	for _, name := range []string{"figure1", "figure2", "figure3", "figure5-hinf", "figure7-kernels", "figure9"} {
		mustBePNG(t, filepath.Join(out, name+".png"), 0, 0)
	}
	contains(t, "stderr", stderr, "skipped "+filepath.Join(out, "figure4.png"), "skipped "+filepath.Join(out, "figure4-kernels.png"))
}
