package events_test

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// The detector of a second signal, after Flush, is like a new one: of a first signal that ends
// inside a frame, neither the incomplete frame nor the frames before it belong to the second.
func TestFlushDiscardsTheSignal(t *testing.T) {
	for name, m := range map[string]*model.Model{"mean": must.Get(tonemodel.New())(t), "frames": must.Get(tonemodel.NewFramewise())(t)} {
		r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
		first, second := &tonemodel.Sound{}, &tonemodel.Sound{}
		first.Silence(0.3)
		first.Tone("low", 0.5)
		first.Samples = first.Samples[:len(first.Samples)-27]
		second.Silence(0.02)
		second.Tone("high", 0.4)
		second.Silence(0.3)
		want := detect(t, r, second.Samples, 800)
		must.Equal(t, len(want), 1, "%s: events %+v", name, want)
		after := int64(len(first.Samples))
		for i := range want {
			want[i].Onset += after
			want[i].End += after
		}
		d := r.NewDetector()
		process(t, d, first.Samples)
		flush(t, d)
		must.Equal(t, d.Position(), after, "%s: position", name)
		got := append(process(t, d, second.Samples), flush(t, d)...)
		must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "%s: events of the second signal", name)

		s := must.Get(r.NewSweep([]events.Options{events.DefaultsFor(m)}))(t)
		must.Get(s.Process(first.Samples))(t)
		must.Get(s.Flush())(t)
		got = nil
		for _, f := range append(append([]events.Found{}, must.Get(s.Process(second.Samples))(t)...), must.Get(s.Flush())(t)...) {
			got = append(got, f.Event)
		}
		must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "%s: events of the second signal in a sweep", name)
	}
}

// If a label must lead for longer than a detector keeps the levels of the audio, the onset of its
// word is near the frame at which it began to lead, and not at the beginning of the signal.
func TestOnsetOfLongConfirmation(t *testing.T) {
	m := must.Get(tonemodel.NewFramewise())(t)
	s := &tonemodel.Sound{}
	s.Silence(2)
	s.Tone("low", 5)
	s.Silence(1)
	for _, confirm := range []int{3, 150, 200, 400} {
		opt := events.DefaultsFor(m)
		opt.Confirm = confirm
		got := detect(t, must.Get(events.New(m, opt))(t), s.Samples, 800)
		if len(got) != 1 || max(got[0].Onset-s.Tones[0].Onset, s.Tones[0].Onset-got[0].Onset) > 0.3*rate {
			t.Errorf("confirm %d: events %+v, expected one from about %d on", confirm, got, s.Tones[0].Onset)
		}
	}
}

// No event begins before its signal.
func TestOnsetOfNextSignal(t *testing.T) {
	m := must.Get(tonemodel.NewFramewise())(t)
	tone := &tonemodel.Sound{}
	tone.Tone("high", 5)
	for _, confirm := range []int{3, 200} {
		opt := events.DefaultsFor(m)
		opt.Confirm = confirm
		d := must.Get(events.New(m, opt))(t).NewDetector()
		for _, skipped := range []int64{0, 12345} {
			must.Get(d.Process(make([]float32, 6400)))(t)
			must.Get(d.Skip(skipped))(t)
			began := d.Position()
			got := append(must.Get(d.Process(tone.Samples))(t), must.Get(d.Flush())(t)...)
			if len(got) != 1 || got[0].Onset < began {
				t.Errorf("confirm %d: events %+v in a signal that begins at %d", confirm, got, began)
			}
		}
	}
}

// Options whose smoothing times are rounded to the same number of frames have the events of a
// Detector each, although their onsets differ.
func TestSweepOfSmoothings(t *testing.T) {
	m := must.Get(tonemodel.NewFramewise())(t)
	options := []events.Options{}
	for _, seconds := range []float64{0.195, 0.199, 0.2, 0.2049} {
		o := events.DefaultsFor(m)
		o.Smoothing = seconds
		options = append(options, o)
	}
	s := &tonemodel.Sound{}
	s.Silence(0.4)
	for i := range 6 { // without a pause, the onset is that of the typical delay
		s.Tone([]string{"low", "high"}[i%2], 0.5)
	}
	s.Silence(0.4)
	r := must.Get(events.New(m, options[0]))(t)
	sweep := must.Get(r.NewSweep(options))(t)
	got := make([][]events.Event, len(options))
	for _, f := range append(append([]events.Found{}, must.Get(sweep.Process(s.Samples))(t)...), must.Get(sweep.Flush())(t)...) {
		got[f.Option] = append(got[f.Option], f.Event)
	}
	for i, o := range options {
		want := detect(t, must.Get(events.New(m, o))(t), s.Samples, 800)
		must.Equal(t, fmt.Sprint(got[i]), fmt.Sprint(want), "events with a smoothing of %v s", o.Smoothing)
	}
}
