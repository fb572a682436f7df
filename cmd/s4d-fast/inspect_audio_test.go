package main

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// inspect prints the filter bank and the operating point, and convert reports that a checkpoint
// has neither.
func TestInspectFilterbank(t *testing.T) {
	f := filterbank.Default(8000)
	m := must.Get(model.Load(saved(t, func(c *model.Config) { c.DInput = f.Bands })))(t)
	m.Meta = model.Meta{SampleRate: 8000, Filterbank: &f, InputMean: make([]float32, f.Bands), InputStd: make([]float32, f.Bands)}
	for i := range m.Meta.InputStd {
		m.Meta.InputMean[i], m.Meta.InputStd[i] = float32(-i), float32(1+i)
	}
	for i := range m.Config.DOutput {
		m.Meta.Labels = append(m.Meta.Labels, fmt.Sprintf("word%d", i))
	}
	m.Meta.Labels[1] = "none"
	m.Meta.Detection = &model.Detection{
		Threshold: 0.8, OffThreshold: 0.25, Confirm: 3, Refractory: 0.2, Smoothing: 0.1,
		FalseAlarmsPerHour: 0.5, MissRate: 0.08, Interval: [2]float64{0.06, 0.11}, BackgroundHours: 3.5, Words: 400,
	}
	m.Meta.Detection.Offsets = make([]float64, m.Config.DOutput)
	m.Meta.Detection.Offsets[0] = math.Log(4) // odds of 4 instead of 1 to 1
	dir := t.TempDir()
	path := filepath.Join(dir, "m.safetensors")
	must.Do(t, m.Save(path))
	text := ok(t, "inspect", path)
	contains(t, "inspect", text,
		"40 bands, 60 … 3800 Hz, compression pcen, frames of 256 samples every 160 (50 per second)",
		"means -39 … 0, standard deviations 1 … 40", "threshold 0.8, off-threshold 0.25, confirm 3, refractory 0.2 s, smoothing 0.1 s",
		"by label", "threshold word0 0.5, word2 0.8",
		"miss rate 0.080 (95 % interval 0.060 … 0.110) of 400 words, 0.5 false alarms per hour in the worst background (3.5 hours)", " Hz)")
	checkRun(t, nil, []string{"convert", path, filepath.Join(dir, "m.pth")}, exitOK,
		"do not include the filter bank", "do not include the operating point")
}
