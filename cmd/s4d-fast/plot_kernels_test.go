package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func TestPlotKernels(t *testing.T) {
	both := saved(t, func(c *model.Config) {
		c.NLayers, c.SSMLayers = 3, 2
		c.SSM.Bidirectional, c.SSM.Init, c.SSM.LMax = true, ssm.Lin, 90
	})
	texts := drawn(t, 1200, 2*320+80, "kernels", both, "--stride", "32")
	mustHave(t, texts, "layer 1 of 3: mean over 4 channels, first 90 taps", "layer 2 of 3", "causal", "anticausal",
		"multiples of 32", "mean |K[l]|", "lag l [samples]", "0", "32", "64")

	causal := saved(t, func(c *model.Config) {})
	if texts := drawn(t, 1200, 420+80, "kernels", causal, "--first", "1", "--stride", "0", "--length", "6000"); strings.Contains(texts, "multiples") || strings.Contains(texts, "layer 2") {
		t.Errorf("one layer without marks:\n%s", texts)
	}
	out := filepath.Join(t.TempDir(), "k.png")
	if code, _, stderr := invoke(nil, "plot", "kernels", causal, "--length", "65536", "--stride", "32", "--out", out); code != exitOK || !strings.Contains(stderr, "2048 multiples") {
		t.Errorf("65536 taps: exit code %d, %s", code, stderr)
	}
	checkRun(t, nil, []string{"plot", "kernels", both, "--first", "3", "--out", out}, exitUsage, "--first 3", "2 layers")
	checkRun(t, nil, []string{"plot", "kernels", causal, "--length", "0"}, exitUsage, "--length 0")
	checkRun(t, nil, []string{"plot", "kernels", causal, "--stride=-1"}, exitUsage, "--stride -1")
	checkRun(t, nil, []string{"plot", "kernels", "nowhere.safetensors"}, exitBadInput, "nowhere.safetensors")
	checkRun(t, nil, []string{"plot", "kernels", write(t, "bad.safetensors", []byte("no model")), "--out", out}, exitBadInput, "bad.safetensors")
	checkRun(t, nil, []string{"plot", "kernels", causal, "--out", "k.gif"}, exitUsage, ".png or .svg")
}

// By default, rows are marked for tasks of images and nothing for others. The axis of lags states
// the duration of a sample if there is a sampling rate.
func TestKernelStride(t *testing.T) {
	for _, c := range []struct {
		task  string
		rate  float64
		flags []string
		want  string // "" for no marks
	}{
		{task: "digits", rate: 8000}, {task: ""}, {task: "psmnist"}, {task: "smnist", want: "multiples of 28"}, {task: "scifar", want: "multiples of 32"},
		{task: "smnist", flags: []string{"--stride", "0"}}, {task: "digits", rate: 8000, flags: []string{"--stride", "80"}, want: "multiples of 80"},
	} {
		m := must.Get(model.Load(saved(t, func(*model.Config) {})))(t)
		m.Meta.Task, m.Meta.SampleRate = c.task, c.rate
		path := filepath.Join(t.TempDir(), "m.safetensors")
		must.Do(t, m.Save(path))
		texts := drawn(t, 0, 0, append([]string{"kernels", path}, c.flags...)...)
		if c.want != "" {
			mustHave(t, texts, c.want)
		} else if strings.Contains(texts, "multiples") {
			t.Errorf("%+v: marks in %s", c, texts)
		}
		if c.rate > 0 {
			mustHave(t, texts, "lag l [samples of 0.125 ms]")
		}
	}
}

// Axes of kernels end at a label or a mark.
func TestKernelAxes(t *testing.T) {
	m := must.Get(model.Load(saved(t, func(c *model.Config) {})))(t)
	p := (&plotKernelsCmd{Length: 64}).panels(m, 16)[0]
	if p.XMax != 64 || fmt.Sprint(p.Marks) != "[16 32 48 64]" {
		t.Errorf("axis to %v, marks %v", p.XMax, p.Marks)
	}
	for _, c := range [][4]float64{{0.03, 0.07, 0.02, 0.1}, {0.1, 0.5, 0.1, 0.5}, {2e-7, 0.9, 9e-6, 1}, {0, 0, 0, 0}} {
		curve := figure.Curve{Y: []float64{c[0], c[1]}}
		low, high := kernelRange([]figure.Curve{curve})
		if math.Abs(high-c[3]) > 1e-9 {
			t.Errorf("range of %v to %v ends at %v, expected %v", c[0], c[1], high, c[3])
		}
		if most := max(c[0], c[1]*1e-5) * (1 + 1e-9); low > most {
			t.Errorf("range of %v to %v begins at %v, expected at most %v", c[0], c[1], low, most)
		}
		if c[0] > 1e-5 && math.Abs(low-c[2]) > 1e-9 {
			t.Errorf("range of %v to %v begins at %v, expected %v", c[0], c[1], low, c[2])
		}
	}
}
