package events_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// framewise returns a Recognizer of the handmade model that labels every frame.
func framewise(t testing.TB, change func(o *events.Options)) *events.Recognizer {
	t.Helper()
	m := must.Get(tonemodel.NewFramewise())(t)
	opt := events.DefaultsFor(m)
	opt.Smoothing = 0.1 // tones may be shorter and closer than words
	opt = opt.WithThreshold(0.7)
	change(&opt)
	return must.Get(events.New(m, opt))(t)
}

func unchanged(*events.Options) {}

// matches reports an error unless the events are the tones, within a tolerance in seconds.
func matches(t *testing.T, what string, got []events.Event, tones []tonemodel.Tone, tolerance float64) {
	t.Helper()
	if len(got) != len(tones) {
		t.Errorf("%s: events %+v, expected those of %+v", what, got, tones)
		return
	}
	for i, e := range got {
		w := tones[i]
		if e.Label != w.Label || math.Abs(float64(e.Onset-w.Onset)) > tolerance*rate || math.Abs(float64(e.End-w.End)) > tolerance*rate || !(e.Confidence > 0.7 && e.Confidence <= 1) {
			t.Errorf("%s: event %+v, expected %+v", what, e, w)
		}
	}
}

// tones returns a signal of tones "label seconds gap", with half a second of silence around them.
func tones(noise float64, list ...string) *tonemodel.Sound {
	s := &tonemodel.Sound{}
	s.Silence(0.5)
	for _, v := range list {
		var label string
		var seconds, gap float64
		fmt.Sscan(v, &label, &seconds, &gap)
		s.Tone(label, seconds)
		s.Silence(gap)
	}
	s.Silence(0.5)
	s.Noise(noise)
	return s
}

// The events of a model that labels every frame are the tones: far apart, close together with
// different labels, without a pause, and the same one twice with a short pause.
func TestFramewise(t *testing.T) {
	r := framewise(t, unchanged)
	for name, s := range map[string]*tonemodel.Sound{
		"words":    tonemodel.Words(),
		"loud":     tones(0.02, "low 0.5 0.6", "high 0.4 0.5", "high 0.9 0.4"),
		"close":    tones(0.005, "low 0.3 0.05", "high 0.3 0.05", "low 0.3 0.05", "high 0.4 0.05", "low 0.5 0"),
		"joined":   tones(0.005, "high 0.4 0", "low 0.4 0", "high 0.4 0"),
		"repeated": tones(0.005, "low 0.4 0.35", "low 0.3 0.35", "low 0.4 0.35", "high 0.3 0.35", "high 0.3 0"),
	} {
		matches(t, name, detect(t, r, s.Samples, len(s.Samples)), s.Tones, 0.16)
	}
	if got := detect(t, r, tones(0.02).Samples, 800); len(got) != 0 {
		t.Errorf("events in noise: %+v", got)
	}
}

// A word is found wherever the signal ends behind its middle, and ends there.
func TestFramewiseEnd(t *testing.T) {
	r := framewise(t, unchanged)
	s := tones(0.005, "low 0.4 0")
	onset, end := s.Tones[0].Onset, s.Tones[0].End
	for n := onset + 2000; n < end+3000; n += 333 {
		d := r.NewDetector()
		got := append(process(t, d, s.Samples[:n]), flush(t, d)...)
		if len(got) != 1 || math.Abs(float64(got[0].Onset-onset)) > 0.05*rate || got[0].End > n || got[0].End < min(n, end)-0.2*rate {
			t.Errorf("%d samples: events %+v, expected %+v", n, got, s.Tones)
		}
		must.Equal(t, d.Position(), n, "position")
		if again := flush(t, d); len(again) != 0 {
			t.Errorf("%d samples: the second flush returns %+v", n, again)
		}
	}
}

// No split into chunks changes an event, and samples that are not audio are silence.
func TestFramewiseChunks(t *testing.T) {
	s := tonemodel.Words()
	r := framewise(t, unchanged)
	want := fmt.Sprint(detect(t, r, s.Samples, len(s.Samples)))
	for _, chunks := range [][]int{{1}, {79, 81}, {80}, {800, 3}, {5120}, {5121, 1}} {
		must.Equal(t, fmt.Sprint(detect(t, r, s.Samples, chunks...)), want, "events in chunks of %v", chunks)
	}
	bad, silent := slices.Clone(s.Samples), slices.Clone(s.Samples)
	for i, v := range []float64{math.NaN(), math.Inf(1), 1e7} {
		bad[5000+i], silent[5000+i] = float32(v), 0
	}
	must.Equal(t, fmt.Sprint(detect(t, r, bad, 800)), fmt.Sprint(detect(t, r, silent, 800)), "events with bad samples")
}

// The detector of a second signal, after Flush or Skip, is like a new one.
func TestFramewiseSkip(t *testing.T) {
	s := tonemodel.Words()
	r := framewise(t, unchanged)
	cut := int(s.Tones[1].End) - 50
	d := r.NewDetector()
	got := process(t, d, s.Samples[:cut])
	got = append(got, must.Get(d.Skip(1234))(t)...)
	if len(got) != 2 || got[1].End > int64(cut) || got[1].End < int64(cut)-0.05*rate {
		t.Errorf("events %+v, expected two, the second up to %d", got, cut)
	}
	must.Equal(t, d.Position(), int64(cut)+1234, "position")
	got = append(process(t, d, s.Samples[cut:]), flush(t, d)...)
	want := detect(t, r, s.Samples[cut:], 800)
	for i := range want {
		want[i].Onset += int64(cut) + 1234
		want[i].End += int64(cut) + 1234
	}
	must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "events behind the gap")
}

// An output that is not finite is an error at its frame, however the signal is cut, and the
// Detector can continue.
func TestFramewiseFault(t *testing.T) {
	m := must.Get(tonemodel.NewFramewise())(t)
	m.Weights.DecoderBias[1] = float32(math.NaN())
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	s := tonemodel.Words()
	for _, chunk := range []int{1, 80, 777, len(s.Samples)} {
		d := r.NewDetector()
		var fault error
		for x := s.Samples; len(x) > 0 && fault == nil; x = x[min(chunk, len(x)):] {
			_, fault = d.Process(x[:min(chunk, len(x))])
		}
		must.Fail(t, fault, `events: after sample 80: the model's output for label "high" is NaN`)
		must.Equal(t, d.Position(), 80, "position")
		must.Reject(d.Process(s.Samples[:80]))(t, "after sample 160")
	}
	must.Reject(r.Recognize(s.Samples))(t, "after sample 80")
	_, _, err := r.Classify(s.Samples)
	must.Fail(t, err, "after sample 80")
}

func TestFramewiseAllocations(t *testing.T) {
	s := tonemodel.Words()
	r := framewise(t, unchanged)
	d := r.NewDetector()
	d.Process(s.Samples)
	if n := testing.AllocsPerRun(3, func() { d.Process(s.Samples) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// A Sweep finds the events of one Detector per set of Options, which may differ in Smoothing, with
// offsets as without.
func TestFramewiseSweep(t *testing.T) {
	plain := sweepFramewise(t, nil)
	if slices.Equal(sweepFramewise(t, []float64{-1.5, 2, 0}), plain) {
		t.Error("offsets change no event: the signal tests nothing")
	}
	must.Reject(framewise(t, unchanged).NewSweep([]events.Options{events.Defaults()}))(t, "hop 0.03, window 1 and rate 8000, expected those of the recognizer: 0, 0")
}

// sweepFramewise compares a Sweep with Detectors. It returns the events with each of the options.
func sweepFramewise(t *testing.T, offsets []float64) []string {
	t.Helper()
	var options []events.Options
	for _, smoothing := range []float64{0.01, 0.1, 0.2} {
		for _, threshold := range []float64{0, 0.3, 0.7, 0.99} {
			for _, confirm := range []int{1, 5} {
				o := events.Options{Confirm: confirm, Refractory: 0.2, Smoothing: smoothing}
				options = append(options, o.WithThreshold(threshold))
			}
		}
	}
	s := tones(0.002, "low 0.3 0.1", "high 0.2 0.05", "low 0.1 0.1", "low 0.3 0.4", "high 0.7 0")
	end := int(s.Tones[4].End)
	sweep := must.Get(offsetBy(t, options[0], offsets...).NewSweep(options))(t)
	got, differ := make([]string, len(options)), false
	add := func(list []events.Found, err error) {
		must.Do(t, err)
		for _, f := range list {
			got[f.Option] += fmt.Sprint(f.Event)
		}
	}
	for range 2 {
		for part := range slices.Chunk(s.Samples[:end], 999) {
			add(sweep.Process(part))
		}
		add(sweep.Flush())
	}
	for i, o := range options {
		d, want := offsetBy(t, o, offsets...).NewDetector(), ""
		for range 2 {
			for _, e := range append(process(t, d, s.Samples[:end]), flush(t, d)...) {
				want += fmt.Sprint(e)
			}
		}
		must.Equal(t, got[i], want, "offsets %v, events of %+v", offsets, o)
		differ = differ || got[i] != got[0]
	}
	if !differ {
		t.Error("all options find the same events: the signal tests nothing")
	}
	return got
}

// Classify returns the label that peaks highest, and none where none reaches the threshold.
func TestClassify(t *testing.T) {
	r := framewise(t, unchanged)
	for want, s := range map[int]*tonemodel.Sound{
		0: tones(0.005, "low 0.5 0.1", "high 0.05 0"),
		1: tones(0.005, "high 0.3 0"),
		2: tones(0.005, "high 0.02 0"),
	} {
		label, peaks, err := r.Classify(s.Samples)
		must.Do(t, err)
		must.Equal(t, label, want, "label")
		if len(peaks) != 3 || slices.Min(peaks) < 0 || slices.Max(peaks) > 1 || want < 2 && !(peaks[want] > 0.7) {
			t.Errorf("peaks %v, expected the largest for label %d", peaks, want)
		}
	}
	// A clip that ends with its word is classified like one with silence behind it.
	s := tones(0, "high 0.16 0")
	short, _, err := r.Classify(s.Samples[s.Tones[0].Onset:s.Tones[0].End])
	must.Do(t, err)
	must.Equal(t, short, 1, "label of a clip without silence")
	_, _, err = recognizer(t, events.Defaults()).Classify(s.Samples)
	must.Fail(t, err, "the model has a mean pool, expected one that labels every frame")
}

func TestFramewiseErrors(t *testing.T) {
	for want, change := range map[string]func(m *model.Model, o *events.Options){
		"smoothing 0: expected a time above 0 for a model that labels every frame":         func(_ *model.Model, o *events.Options) { *o = events.Defaults() },
		"smoothing 0.2: expected 0 with a hop and a window, 0.03 and 1 s":                  func(_ *model.Model, o *events.Options) { o.Hop, o.Window = 0.03, 1 },
		"smoothing 11: expected 0 … 10":                                                    func(_ *model.Model, o *events.Options) { o.Smoothing = 11 },
		"smoothing NaN":                                                                    func(_ *model.Model, o *events.Options) { o.Smoothing = math.NaN() },
		"confirm 0: expected 1":                                                            func(_ *model.Model, o *events.Options) { o.Confirm = 0 },
		"sampling rate 16000 Hz, expected 8000 Hz: a filter bank has a fixed rate":         func(_ *model.Model, o *events.Options) { o.SampleRate = 16000 },
		`pool is "last", expected "none"`:                                                  func(m *model.Model, _ *events.Options) { m.Config.Pool = model.PoolLast },
		`labels ["a" "b" "c"]: a model that labels every frame requires "none" and others`: func(m *model.Model, _ *events.Options) { m.Meta.Labels = []string{"a", "b", "c"} },
		"no labels": func(m *model.Model, _ *events.Options) { m.Meta.Labels = nil },
		"reads 5 channels, and its filter bank has 12 bands":           func(m *model.Model, _ *events.Options) { m.Config.DInput = 5 },
		"8000 frames per second, expected 10 … 1000":                   func(m *model.Model, _ *events.Options) { m.Meta.Filterbank.Hop = 1 },
		"filterbank: compression":                                      func(m *model.Model, _ *events.Options) { m.Meta.Filterbank.Compression = "no" },
		"the operating point has 2 offsets, expected one per label, 3": func(m *model.Model, _ *events.Options) { m.Meta.Detection = &model.Detection{Offsets: []float64{1, 2}} },
		"bidirectional": func(m *model.Model, _ *events.Options) { m.Config.SSM.Bidirectional = true },
	} {
		m := must.Get(tonemodel.NewFramewise())(t)
		opt := events.DefaultsFor(m)
		change(m, &opt)
		must.Reject(events.New(m, opt))(t, "events: ", want)
	}
	must.Reject(events.New(toneModel(t), with(func(o *events.Options) { o.Smoothing = 0.1 })))(t, "smoothing 0.1: expected 0 for a model with a mean pool")
}

// The operating point in a model replaces the defaults of its kind.
func TestDefaultsFor(t *testing.T) {
	frames, gate := must.Get(tonemodel.NewFramewise())(t), toneModel(t)
	must.Equal(t, events.DefaultsFor(gate), events.Defaults(), "defaults of a model with a mean pool")
	d := &model.Detection{Threshold: 0.9, OffThreshold: 0.2, Confirm: 7, Refractory: 0.3, Smoothing: 0.2, Window: 0.5}
	frames.Meta.Detection, gate.Meta.Detection = d, d
	want := events.Options{Threshold: 0.9, OffThreshold: 0.2, Confirm: 7, Refractory: 0.3, Smoothing: 0.2}
	must.Equal(t, events.DefaultsFor(frames), want, "options of a model that labels every frame")
	want.Smoothing, want.Window, want.Hop = 0, 0.5, events.Defaults().Hop
	must.Equal(t, events.DefaultsFor(gate), want, "options of a model with a mean pool")
	for _, m := range []*model.Model{frames, gate} {
		must.Get(events.New(m, events.DefaultsFor(m)))(t)
	}
}
