package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// Poles on the unit circle have their own colour, whether they are some or all of the poles.
func TestPlotPolesUnbounded(t *testing.T) {
	pinned := saved(t, func(c *model.Config) { c.SSM.AReal = 0 })
	if texts := drawn(t, 0, 0, "poles", pinned); strings.Contains(texts, "NaN") || strings.Contains(texts, "less") {
		t.Errorf("all poles on the unit circle:\n%s", texts)
	} else {
		mustHave(t, texts, "H∞ score of the mode [dB]", "unbounded", "layer 1: 4 SSMs, 16 poles")
	}
	m := must.Get(model.Load(saved(t, func(c *model.Config) { c.SSM.Bidirectional = true })))(t)
	m.Weights.Layers[1].Decay[3] = float32(math.Inf(-1))
	m.Weights.Layers[0].Decay[0] = float32(math.Inf(-1)) // whose weight is 0 in both directions
	for _, i := range []int{0, 1, 32, 33} {
		m.Weights.Layers[0].C[i] = 0
	}
	mixed := filepath.Join(t.TempDir(), "mixed.safetensors")
	must.Do(t, m.Save(mixed))
	mustHave(t, drawn(t, 0, 0, "poles", mixed, pinned), "mixed: 2 layers, 32 poles", "unbounded")
	texts := drawn(t, 0, 0, "poles", mixed)
	mustHave(t, texts, "unbounded", "less")
	if strings.Contains(texts, "NaN") {
		t.Errorf("one pole on the unit circle:\n%s", texts)
	}
	plane, err := (&plotPolesCmd{Models: []modelFile{modelFile(mixed)}}).learned()
	if err != nil || !math.IsInf(plane.Panels[0].Value[0], -1) || !math.IsInf(plane.Panels[1].Value[3], 1) {
		t.Errorf("without weight %v, with weight %v, %v", plane.Panels[0].Value[0], plane.Panels[1].Value[3], err)
	}
}
