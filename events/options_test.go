package events_test

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// Each option has the effect that its comment states.
func TestOptions(t *testing.T) {
	short := tones(0.002, "low 0.2 0.5", "low 0.2 0.5", "low 0.2 0.5")
	joined := tones(0.002, "low 0.4 0.05", "high 0.4 0.05", "low 0.4 0.05", "high 0.4 0.05", "low 0.4 0.05", "high 0.4 0")
	for name, c := range map[string]struct {
		sound  *tonemodel.Sound
		change func(o *events.Options)
		want   int
	}{
		"low threshold, one frame":    {short, func(o *events.Options) { *o = o.WithThreshold(0.3); o.Confirm = 1 }, 3},
		"more frames than a tone has": {short, func(o *events.Options) { *o = o.WithThreshold(0.3); o.Confirm = 60 }, 0},
		"threshold above the peaks":   {short, func(o *events.Options) { *o = o.WithThreshold(0.9999); o.Confirm = 1 }, 0},
		"long smoothing":              {short, func(o *events.Options) { o.Smoothing = 2 }, 0},
		"short refractory time":       {joined, func(o *events.Options) { o.Refractory = 0.1 }, 6},
		"long refractory time":        {joined, func(o *events.Options) { o.Refractory = 3 }, 1},
		"no off-threshold":            {joined, func(o *events.Options) { o.OffThreshold = 0 }, 1},
	} {
		o := toneOptions()
		c.change(&o)
		got := listen(t, stream(t, recognizer(t, o)), c.sound.Samples, 800)
		must.Equal(t, len(got), c.want, "%s: events", name)
	}
}

// If a label must lead for longer than a stream keeps the levels of the audio, the onset of its
// word is near the frame at which it began to lead. No event begins before its signal.
func TestOnsetOfLongConfirmation(t *testing.T) {
	late := &tonemodel.Sound{}
	late.Silence(2)
	late.Tone("low", 5)
	late.Silence(1)
	for _, confirm := range []int{3, 150, 200, 400} {
		o := events.Defaults()
		o.Confirm = confirm
		s := stream(t, recognizer(t, o))
		got := listen(t, s, late.Samples, 800)
		if len(got) != 1 || max(got[0].Onset-late.Tones[0].Onset, late.Tones[0].Onset-got[0].Onset) > 0.3*rate {
			t.Errorf("confirm %d: events %+v, expected one from about %d on", confirm, got, late.Tones[0].Onset)
		}
		began := s.Position()
		got = listen(t, s, late.Samples[late.Tones[0].Onset:late.Tones[0].End], 800)
		if len(got) != 1 || got[0].Onset < began {
			t.Errorf("confirm %d: events %+v in a signal that begins at %d", confirm, got, began)
		}
	}
}

func TestNewErrors(t *testing.T) {
	frames := map[string]func(m *model.Model, o *events.Options){
		"threshold 1.5: expected 0 … 1":                          func(_ *model.Model, o *events.Options) { o.Threshold = 1.5 },
		"off-threshold 0.9: expected at most the threshold, 0.5": func(_ *model.Model, o *events.Options) { o.OffThreshold = 0.9 },
		"confirm 0: expected 1 … 1000":                           func(_ *model.Model, o *events.Options) { o.Confirm = 0 },
		"refractory NaN":                                         func(_ *model.Model, o *events.Options) { o.Refractory = math.NaN() },
		"smoothing 0: expected more than 0 and at most 10":       func(_ *model.Model, o *events.Options) { o.Smoothing = 0 },
		"smoothing 11":                                           func(_ *model.Model, o *events.Options) { o.Smoothing = 11 },
		`pool is "last", expected "none"`:                        func(m *model.Model, _ *events.Options) { m.Config.Pool = model.PoolLast },
		`labels ["a" "b" "c"]: events require "none" and others`: func(m *model.Model, _ *events.Options) { m.Meta.Labels = []string{"a", "b", "c"} },
		"labels []": func(m *model.Model, _ *events.Options) { m.Meta.Labels = nil },
		"reads 5 channels, and its filter bank has 12 bands":           func(m *model.Model, _ *events.Options) { m.Config.DInput = 5 },
		"8000 frames per second, expected 10 … 1000":                   func(m *model.Model, _ *events.Options) { m.Meta.Filterbank.Hop = 1 },
		"filterbank: compression":                                      func(m *model.Model, _ *events.Options) { m.Meta.Filterbank.Compression = "no" },
		"the operating point has 2 offsets, expected one per label, 3": func(m *model.Model, _ *events.Options) { m.Meta.Detection = &model.Detection{Offsets: []float64{1, 2}} },
		"bidirectional": func(m *model.Model, _ *events.Options) { m.Config.SSM.Bidirectional = true },
	}
	clips := map[string]func(m *model.Model, o *events.Options){
		"sampling rate is 0 Hz":       func(m *model.Model, _ *events.Options) { m.Meta.SampleRate = 0 },
		`pool is "last"`:              func(m *model.Model, _ *events.Options) { m.Config.Pool = model.PoolLast },
		"expected 1 channel of audio": func(m *model.Model, _ *events.Options) { m.Config.DInput = 2 },
	}
	for i, errors := range []map[string]func(m *model.Model, o *events.Options){frames, clips} {
		for want, change := range errors {
			m, opt := must.Get([]func() (*model.Model, error){tonemodel.New, tonemodel.NewClips}[i]())(t), events.Defaults()
			change(m, &opt)
			must.Reject(events.New(m, opt))(t, "events: ", want)
		}
	}
}

// The operating point in a model replaces the defaults.
func TestDefaultsFor(t *testing.T) {
	m := toneModel(t)
	must.Equal(t, events.DefaultsFor(m), events.Defaults(), "options of a model without an operating point")
	m.Meta.Detection = &model.Detection{Threshold: 0.9, OffThreshold: 0.2, Confirm: 7, Refractory: 0.3}
	want := events.Options{Threshold: 0.9, OffThreshold: 0.2, Confirm: 7, Refractory: 0.3, Smoothing: events.Defaults().Smoothing}
	must.Equal(t, events.DefaultsFor(m), want, "options of an operating point without smoothing")
	m.Meta.Detection.Smoothing, want.Smoothing = 0.1, 0.1
	must.Equal(t, events.DefaultsFor(m), want, "options")
}
