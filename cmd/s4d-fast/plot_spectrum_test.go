package main

import (
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/figure"
)

func TestPlotSpectrum(t *testing.T) {
	texts := drawn(t, 1200, 500, "spectrum", "delay", "--set", "data.length=256", "--set", "data.delay=64", "--n", "50", "--stride", "32")
	mustHave(t, texts, "delay: mean power spectrum of 50 of 16384 training examples", "power [dB re white noise]", "frequency [Hz]", "multiples of 2π/32", "1000", "2000")
	clips := tones(t)
	white := figure.Panel{Y: "power", Curves: []figure.Curve{{Y: []float64{0, -70}}}}
	if clipSpectrum(&white); white.YMin != 0 || white.YMax != 0 || white.Y != "power" {
		t.Errorf("a spectrum of 70 dB is cut: %+v", white)
	}
	mustHave(t, drawn(t, 1200, 500, "spectrum", "fsdd", "--data", clips, "--mark", "500,1000"), "fsdd: mean power spectrum of all 12 training examples", "500, 1000 Hz")
	mustHave(t, drawn(t, 1200, 500, "spectrum", "scifar", "--data", pictures(t)), "scifar: mean power spectrum of all 6 training examples", "red", "green", "blue",
		"multiples of 2π/32", "angular frequency [rad per sample]", "π/2", "π")
	tokens := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "listops", tokens, "--n", "3", "--eval", "2")
	mustHave(t, drawn(t, 1200, 500, "spectrum", "listops", "--data", tokens), "listops: mean power spectrum of all 3 training examples, token indices")

	out := filepath.Join(t.TempDir(), "s.png")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	checkRun(t, nil, []string{"plot", "spectrum", "juggling"}, exitUsage, `"juggling"`)
	checkRun(t, nil, []string{"plot", "spectrum", "smnist"}, exitUsage, "--data")
	checkRun(t, nil, []string{"plot", "spectrum", "smnist", "--data", nowhere, "--out", out}, exitBadInput, nowhere)
	checkRun(t, nil, []string{"plot", "spectrum", "delay", "--n", "0"}, exitUsage, "--n 0")
	checkRun(t, nil, []string{"plot", "spectrum", "delay", "--mark", "2001"}, exitUsage, "--mark 2001", "2000 Hz")
	checkRun(t, nil, []string{"plot", "spectrum", "delay", "--mark", "1", "--stride", "32"}, exitUsage, "--stride", "--mark")
	checkRun(t, nil, []string{"plot", "spectrum", "delay", "--set", "data.length=2"}, exitUsage, "length 2")
}
