package main

import (
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/figure"
)

func TestPlotSpectrum(t *testing.T) {
	texts := drawn(t, 1200, 500, "spectrum", "delay", "--set", "data.length=256", "--set", "data.delay=64", "--n", "50", "--set", "seed=3")
	mustHave(t, texts, "delay: mean power spectrum of 50 of 16384 training examples", "power [dB re white noise]", "frequency [Hz]", "1000", "2000")
	white := figure.Panel{Y: "power", Curves: []figure.Curve{{Y: []float64{0, -70}}}}
	if clipSpectrum(&white); white.YMin != 0 || white.YMax != 0 || white.Y != "power" {
		t.Errorf("a spectrum of 70 dB is cut: %+v", white)
	}
	mustHave(t, drawn(t, 1200, 500, "spectrum", "fsdd", "--data", tones(t)), "fsdd: mean power spectrum of all 12 training examples")
	mustHave(t, drawn(t, 1200, 500, "spectrum", "scifar", "--data", pictures(t)), "scifar: mean power spectrum of all 6 training examples", "red", "green", "blue",
		"multiples of 2π/32", "angular frequency [rad per sample]", "π/2", "π")
	tokens := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "listops", tokens, "--n", "3", "--eval", "2")
	mustHave(t, drawn(t, 1200, 500, "spectrum", "listops", "--data", tokens), "listops: mean power spectrum of all 3 training examples, token indices")
}
