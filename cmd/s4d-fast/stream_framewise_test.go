package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// recorded writes a sound to a WAV file.
func recorded(t *testing.T, rate int, samples []float32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.wav")
	must.Do(t, audio.WriteWAVFile(path, rate, samples))
	return path
}

// A model that labels every frame gives the tones, at its own rate and from resampled audio. The
// operating point in the model replaces the defaults, and flags replace both.
func TestStreamFramewise(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	path := recorded(t, tonemodel.SampleRate, s.Samples)
	found, _ := lines(t, ok(t, "stream", m, path))
	checkTones(t, found, s, 1)
	high := twice(t, s)
	found, _ = lines(t, ok(t, "stream", m, high, "--resample"))
	checkTones(t, found, s, 2)

	calibrated := toneModel(t, func(m *model.Model) {
		m.Meta.Detection = &model.Detection{Threshold: 1, OffThreshold: 1, Confirm: 1000, Smoothing: 0.1}
	})
	found, _ = lines(t, ok(t, "stream", calibrated, path))
	must.Equal(t, len(found), 0, "events that 1000 frames confirm")
	found, _ = lines(t, ok(t, "stream", calibrated, path, "--threshold", "0.7", "--confirm", "3"))
	checkTones(t, found, s, 1)

	checkRun(t, nil, []string{"stream", m, path, "--window", "11"}, exitUsage, "smoothing 11: expected more than 0 and at most 10")
	checkRun(t, nil, []string{"stream", m, path, "--window", "0"}, exitUsage, "smoothing 0: expected more than 0")
	checkRun(t, nil, []string{"stream", m, high}, exitBadInput, "rate 16000 Hz, the model expects 8000 Hz; --resample converts the audio\n")
	pooled := toneModel(t, func(m *model.Model) { m.Config.Pool = model.PoolMean })
	checkRun(t, nil, []string{"stream", pooled, path}, exitBadInput, `pool is "mean", expected "none"`)
}

// Frames of a model that labels every frame have its averaged posterior at every hop.
func TestStreamFramewiseFrames(t *testing.T) {
	m, s := toneModel(t), &tonemodel.Sound{}
	s.Tone("low", 1)
	s.Tone("high", 1)
	s.Samples = append(s.Samples, make([]float32, 4030)...)
	path := recorded(t, tonemodel.SampleRate, s.Samples)
	all := frames(t, ok(t, "stream", m, path, "--emit", "frames"))
	must.Equal(t, len(all), 26, "frames, one every 0.1 s and one at the end")
	for at, label := range map[int]int{5: 0, 9: 0, 15: 1, 19: 1, 24: 2, 25: 2} {
		if p := all[at].Posterior; len(p) != 3 || !(p[label] > 0.9) || slices.Index(p, slices.Max(p)) != label || !(p[0]+p[1]+p[2] < 1.1) {
			t.Errorf("frame %d: posterior %v, expected label %d", at, p, label)
		}
	}
	short := frames(t, ok(t, "stream", m, path, "--emit", "frames", "--hop", "30"))
	must.Equal(t, len(short), (len(s.Samples)+29)/30-2, "frames, from the first complete frame of the filter bank on")
	quick := frames(t, ok(t, "stream", m, path, "--emit", "frames", "--window", "0.01"))
	if fmt.Sprint(quick) == fmt.Sprint(all) {
		t.Error("--window changes no frame")
	}
}
