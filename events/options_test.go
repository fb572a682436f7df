package events_test

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// Each option has the effect that its comment states.
func TestOptions(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(0.5)
	for range 3 {
		s.Tone("low", 0.06) // too short for many evaluations
		s.Silence(0.5)
	}
	s.Noise(0.002)
	count := func(opt events.Options) int { return len(detect(t, recognizer(t, opt), s.Samples, 800)) }
	if n := count(with(func(o *events.Options) { *o = o.WithThreshold(0.3); o.Confirm = 1 })); n != 3 {
		t.Errorf("%d events of 3 short tones at threshold 0.3 with 1 evaluation", n)
	}
	if n := count(with(func(o *events.Options) { *o = o.WithThreshold(0.3); o.Confirm = 20 })); n != 0 {
		t.Errorf("%d events that 20 evaluations agree on", n)
	}
	if n := count(with(func(o *events.Options) { *o = o.WithThreshold(0.999999); o.Confirm = 1 })); n != 0 {
		t.Errorf("%d events at threshold 0.999999", n)
	}

	s = &tonemodel.Sound{}
	s.Silence(0.5)
	for i := range 6 { // a change of pitch every 0.4 s
		s.Tone([]string{"low", "high"}[i%2], 0.4)
	}
	s.Silence(0.5)
	quick, slow := count(with(func(o *events.Options) { o.Window, o.Refractory = 0.1, 0.1 })), count(with(func(o *events.Options) { o.Window, o.Refractory = 0.1, 3 }))
	if quick != 6 || slow != 1 {
		t.Errorf("%d events with a refractory time of 0.1 s, %d with 3 s; expected 6 and 1", quick, slow)
	}
}

// With an off-threshold of 0, a sound that follows a word without a pause belongs to the word's
// event unless it has a label. With a threshold of 0, the most probable label wins.
func TestZeroThresholds(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(0.5)
	s.Tone("low", 0.5)
	from := len(s.Samples)
	s.Silence(1)
	for i := from; i < len(s.Samples); i++ { // a pitch that the model calls none
		s.Samples[i] = float32(0.3 * math.Sin(2*math.Pi*3000*float64(i)/rate))
	}
	loud := len(s.Samples)
	s.Silence(0.5)
	for off, want := range map[float64]int{0.4: from, 0: loud} {
		got := detect(t, recognizer(t, with(func(o *events.Options) { o.Window, o.OffThreshold = 0.1, off })), s.Samples, 800)
		if len(got) != 1 || math.Abs(float64(got[0].End)-float64(want)) > 0.2*rate {
			t.Errorf("off-threshold %v: events %+v, expected one that ends at %d", off, got, want)
		}
	}
	got := detect(t, recognizer(t, events.Defaults().WithThreshold(0)), tonemodel.Words().Samples, 800)
	if len(got) != len(tonemodel.Words().Tones) {
		t.Errorf("threshold 0: events %+v", got)
	}
}

func TestNewErrors(t *testing.T) {
	good := toneModel(t)
	for want, change := range map[string]func(m *model.Model, o *events.Options){
		"threshold 1.5: expected 0 … 1":                          func(_ *model.Model, o *events.Options) { o.Threshold = 1.5 },
		"confirm 0: expected 1 … 1000":                           func(_ *model.Model, o *events.Options) { o.Confirm = 0 },
		"hop 0: expected 0.01 … 3600":                            func(_ *model.Model, o *events.Options) { o.Hop = 0 },
		"window 0: expected 0.01 … 3600":                         func(_ *model.Model, o *events.Options) { o.Window = 0 },
		"rate 50: expected 100":                                  func(_ *model.Model, o *events.Options) { o.SampleRate = 50 },
		"off-threshold 0.9: expected at most the threshold, 0.7": func(_ *model.Model, o *events.Options) { o.OffThreshold = 0.9 },
		"confirm -1: expected 1":                                 func(_ *model.Model, o *events.Options) { o.Confirm = -1 },
		"window NaN":                                             func(_ *model.Model, o *events.Options) { o.Window = math.NaN() },
		"hop 1e-09":                                              func(_ *model.Model, o *events.Options) { o.Hop = 1e-9 },
		"no labels":                                              func(m *model.Model, _ *events.Options) { m.Meta.Labels = nil },
		"sampling rate is 0 Hz":                                  func(m *model.Model, _ *events.Options) { m.Meta.SampleRate = 0 },
		`pool is "last"`:                                         func(m *model.Model, _ *events.Options) { m.Config.Pool = model.PoolLast },
		"expected 1 channel of audio":                            func(m *model.Model, _ *events.Options) { m.Config.DInput = 2 },
		"bidirectional":                                          func(m *model.Model, _ *events.Options) { m.Config.SSM.Bidirectional = true },
	} {
		m, opt := *good, events.Defaults()
		change(&m, &opt)
		if _, err := events.New(&m, opt); err == nil || !strings.HasPrefix(err.Error(), "events: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected one that contains %q", err, want)
		}
	}
}

// At another sampling rate the model, its steps scaled, detects the same events.
func TestSampleRate(t *testing.T) {
	s := tonemodel.Words()
	want := detect(t, recognizer(t, events.Defaults()), s.Samples, 800)
	twice := make([]float32, 2*len(s.Samples)) // 16 kHz, by straight lines
	for i, v := range s.Samples {
		next := s.Samples[min(i+1, len(s.Samples)-1)]
		twice[2*i], twice[2*i+1] = v, (v+next)/2
	}
	f := recognizer(t, with(func(o *events.Options) { o.SampleRate = 2 * rate }))
	must.Equal(t, f.SampleRate(), 2*rate, "rate")
	got := detect(t, f, twice, 800)
	if len(got) != len(want) {
		t.Fatalf("events %+v, expected %+v with all times doubled", got, want)
	}
	for i, e := range got {
		if w := want[i]; e.Label != w.Label || math.Abs(float64(e.Onset-2*w.Onset)) > 0.05*2*rate || math.Abs(float64(e.End-2*w.End)) > 0.05*2*rate {
			t.Errorf("event %d is %+v, expected %+v with its times doubled", i, e, w)
		}
	}
}
