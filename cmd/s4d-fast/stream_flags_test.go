package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// Invalid flags of events are errors before any audio is read. So is a model without labels.
func TestStreamEventFlags(t *testing.T) {
	m, recording := toneModel(t), clip(t, 8000, 10)
	for want, args := range map[string][]string{
		"--threshold, --confirm, --refractory, --window: threshold 1.5: expected 0 … 1": {"--threshold", "1.5"},
		"confirm -1":                   {"--confirm=-1"},
		"confirm 0":                    {"--confirm=0"},
		"refractory -2":                {"--refractory=-2"},
		"--hop requires --emit frames": {"--hop", "80"},
		"--window 1e+09":               {"--window", "1e9"},
		"smoothing 0:":                 {"--window", "0"},
		"--window -1:":                 {"--window=-1", "--emit", "frames"},
		"require --emit events":        {"--threshold", "0.8", "--emit", "frames"},
	} {
		checkRun(t, nil, append([]string{"stream", m, recording}, args...), exitUsage, want)
	}
	unlabelled := saved(t, func(c *model.Config) { c.DInput, c.DOutput = 1, 3 })
	checkRun(t, nil, []string{"stream", unlabelled, clip(t, 8000, 10)}, exitBadInput, "labels", "--emit frames")

	s := tonemodel.Words()
	path := recorded(t, tonemodel.SampleRate, s.Samples)
	count := func(args ...string) int {
		found, _ := lines(t, ok(t, append([]string{"stream", m, path}, args...)...))
		return len(found)
	}
	must.Equal(t, count("--confirm", "1000"), 0, "events that 1000 outputs confirm")
	all := count("--refractory", "0")
	must.Equal(t, all, len(s.Tones), "events without a refractory time")
	if few := count("--threshold", "0.999999999"); few >= all {
		t.Errorf("%d events at threshold 0.999999999, expected fewer than %d", few, all)
	}
}

// --threshold changes the off-threshold too, and 0 is a valid value.
func TestStreamOptions(t *testing.T) {
	zero, low := 0.0, 0.3
	for _, c := range []struct {
		cmd            streamCmd
		threshold, off float64
		refractory     float64
	}{
		{streamCmd{}, events.Defaults().Threshold, events.Defaults().OffThreshold, events.Defaults().Refractory},
		{streamCmd{Threshold: &low}, 0.3, 0.15, events.Defaults().Refractory},
		{streamCmd{Threshold: &zero, Refractory: &zero}, 0, 0, 0},
	} {
		o := must.Get(c.cmd.options(new(model.Model)))(t)
		must.Equal(t, [3]float64{o.Threshold, o.OffThreshold, o.Refractory}, [3]float64{c.threshold, c.off, c.refractory}, "threshold, off-threshold and refractory time")
	}
	d := events.Defaults()
	help := strings.Join(strings.Fields(ok(t, "stream", "--help")), " ")
	doc := string(read(t, filepath.Join("..", "..", "docs", "stream.md")))
	const record = "arecord -q -t raw -f S16_LE -r 8000 -c 1"
	if !strings.Contains(help, record) {
		t.Errorf("--help does not show %q", record)
	}
	if !strings.Contains(doc, record) {
		t.Errorf("docs/stream.md does not show %q", record)
	}
	for flag, value := range map[string]string{
		"threshold": fmt.Sprint(d.Threshold), "confirm": fmt.Sprint(d.Confirm), "refractory": fmt.Sprint(d.Refractory, " s"), "window": fmt.Sprint(d.Smoothing, " s"),
	} {
		row := fmt.Sprintf("| `--%s` | %s", flag, value)
		if !strings.Contains(doc, row+" |") && !strings.Contains(doc, row+"; ") {
			t.Errorf("docs/stream.md does not state the default of --%s, %s", flag, value)
		}
		if !strings.Contains(help, "default: "+strings.TrimSuffix(value, " s")) {
			t.Errorf("--help does not state the default of --%s, %s: %s", flag, value, help)
		}
	}
}

// Frames with --window depend on the window alone; without it, or with 0, the last frame covers all
// audio.
func TestStreamFramesWindow(t *testing.T) {
	m, s := filepath.Join(t.TempDir(), "clips.safetensors"), &tonemodel.Sound{}
	must.Do(t, must.Get(tonemodel.NewClips())(t).Save(m))
	s.Tone("low", 8)
	s.Tone("high", 2)
	path := recorded(t, tonemodel.SampleRate, s.Samples)
	last := func(args ...string) []float32 {
		all := frames(t, ok(t, append([]string{"stream", m, path, "--emit", "frames"}, args...)...))
		return all[len(all)-1].Posterior
	}
	whole := last()
	if !(whole[0] > 0.9) {
		t.Errorf("posterior %v of all audio, expected more than 0.9 for the low tone, which comes first", whole)
	}
	if near := last("--window", "1"); !(near[1] > 0.9) {
		t.Errorf("posterior %v of the last second, expected more than 0.9 for the high tone, which comes last", near)
	}
	must.Equal(t, fmt.Sprint(last("--window", "0")), fmt.Sprint(whole), "last frame with --window 0")
}
