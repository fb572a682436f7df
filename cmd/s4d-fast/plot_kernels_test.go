package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func TestPlotKernels(t *testing.T) {
	both := saved(t, func(c *model.Config) {
		c.NLayers, c.SSMLayers = 3, 2
		c.SSM.Bidirectional, c.SSM.Init, c.SSM.LMax = true, ssm.Lin, 90
	})
	texts := drawn(t, 1200, 2*320+80, "kernels", both)
	mustHave(t, texts, "layer 1 of 3: mean over 4 channels, first 90 taps", "layer 2 of 3", "samples past", "samples ahead",
		"multiples of 32", "mean |K[l]|", "lag l [samples]")

	causal := saved(t, func(c *model.Config) {})
	if texts := drawn(t, 1200, 420+80, "kernels", causal, "--first", "1", "--stride", "0", "--length", "6000"); strings.Contains(texts, "multiples") || strings.Contains(texts, "layer 2") {
		t.Errorf("one layer without marks:\n%s", texts)
	}
	out := filepath.Join(t.TempDir(), "k.png")
	if code, _, stderr := invoke(nil, "plot", "kernels", causal, "--length", "65536", "--out", out); code != exitOK || !strings.Contains(stderr, "2048 multiples") {
		t.Errorf("65536 taps: exit code %d, %s", code, stderr)
	}
	mustSay(t, nil, []string{"plot", "kernels", both, "--first", "3", "--out", out}, exitUsage, "--first 3", "2 layers")
	mustSay(t, nil, []string{"plot", "kernels", causal, "--length", "0"}, exitUsage, "--length 0")
	mustSay(t, nil, []string{"plot", "kernels", causal, "--stride=-1"}, exitUsage, "--stride -1")
	mustSay(t, nil, []string{"plot", "kernels", "nowhere.safetensors"}, exitBadInput, "nowhere.safetensors")
	mustSay(t, nil, []string{"plot", "kernels", write(t, "bad.safetensors", []byte("no model")), "--out", out}, exitBadInput, "bad.safetensors")
	mustSay(t, nil, []string{"plot", "kernels", causal, "--out", "k.gif"}, exitUsage, ".png or .svg")
}

// Axes of kernels end where a label or a mark is.
func TestKernelAxes(t *testing.T) {
	m, err := model.Load(saved(t, func(c *model.Config) {}))
	if err != nil {
		t.Fatal(err)
	}
	p := (&plotKernelsCmd{Length: 64, Stride: 16}).panels(m)[0]
	if p.XMax != 64 || fmt.Sprint(p.Marks) != "[16 32 48 64]" {
		t.Errorf("axis to %v, marks %v", p.XMax, p.Marks)
	}
	for _, c := range [][4]float64{{0.03, 0.07, 0.02, 0.1}, {0.1, 0.5, 0.1, 0.5}, {2e-7, 0.9, 9e-6, 1}, {0, 0, 0, 0}} {
		curve := figure.Curve{Y: []float64{c[0], c[1]}}
		low, high := kernelRange([]figure.Curve{curve})
		if math.Abs(high-c[3]) > 1e-9 || low > max(c[0], c[1]*1e-5)*(1+1e-9) || c[0] > 1e-5 && math.Abs(low-c[2]) > 1e-9 {
			t.Errorf("range of %v to %v: %v to %v", c[0], c[1], low, high)
		}
	}
}
