package calibration_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// The built-in model is as good as pretrained/README.md states.
func TestDigits(t *testing.T) {
	dir := filepath.Join(os.Getenv("S4D_DATA"), "fsdd", "recordings")
	if _, err := os.Stat(dir); os.Getenv("S4D_DATA") == "" || err != nil {
		t.Skip("S4D_DATA is not set, or has no folder fsdd/recordings")
	}
	if testing.Short() {
		t.Skip("recognises ten minutes of sound")
	}
	m := must.Get(pretrained.Load("digits"))(t)
	clips, _, _, err := calibration.Clips(dir, calibration.ClipOptions{Labels: m.Meta.Labels, Pattern: regexp.MustCompile(`^(\d)_\w+_[5-9]\.wav$`)})
	must.Do(t, err)
	must.Equal(t, len(clips), 300, "validation clips")
	background := must.Get(calibration.Generated(2, m.Meta.SampleRate, 1))(t)
	for equal, least := range map[bool]float64{true: 0.9, false: 0.7} {
		opt := calibration.DefaultWords(m.Meta.SampleRate)
		opt.Equal = equal
		streams := append(wordStreams(t, clips, opt), background...)
		got := must.Get(calibration.Measure(context.Background(), m, streams, calibration.Defaults(events.DefaultsFor(m))))(t)
		p := got.Points[0]
		t.Logf("equal levels: %t: %+v, %d false alarms in %v h", equal, p.Score, p.FalseAlarms, p.Hours)
		if f1 := p.F1(); f1 < least {
			t.Errorf("equal levels: %t: F1 %.3f, expected at least %v", equal, f1, least)
		}
		if rate, _, _ := p.FalseAlarmRate(); rate > 60 {
			t.Errorf("%v false alarms per hour of noise and notes, expected at most 60", rate)
		}
	}
}
