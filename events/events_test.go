package events_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

const rate = tonemodel.SampleRate

func toneModel(t testing.TB) *model.Model {
	t.Helper()
	return must.Get(tonemodel.New())(t)
}

func recognizer(t testing.TB, opt events.Options) *events.Recognizer {
	t.Helper()
	return must.Get(events.New(toneModel(t), opt))(t)
}

// with returns the default options after a change.
func with(change func(o *events.Options)) events.Options {
	opt := events.Defaults()
	change(&opt)
	return opt
}

// process and flush return copies of the Detector's events.
func process(t testing.TB, d *events.Detector, x []float32) []events.Event {
	t.Helper()
	list := must.Get(d.Process(x))(t)
	return slices.Clone(list)
}

func flush(t testing.TB, d *events.Detector) []events.Event {
	t.Helper()
	list := must.Get(d.Flush())(t)
	return slices.Clone(list)
}

// detect processes a signal in chunks of the given sizes, which it repeats.
func detect(t testing.TB, r *events.Recognizer, x []float32, chunks ...int) []events.Event {
	t.Helper()
	d := r.NewDetector()
	var all []events.Event
	for i := 0; len(x) > 0; i++ {
		n := min(chunks[i%len(chunks)], len(x))
		all = append(all, process(t, d, x[:n])...)
		x = x[n:]
	}
	return append(all, flush(t, d)...)
}

func TestEvents(t *testing.T) {
	s := tonemodel.Words()
	got := detect(t, recognizer(t, events.Defaults()), s.Samples, len(s.Samples))
	if len(got) != len(s.Tones) {
		t.Fatalf("events %+v, expected %+v", got, s.Tones)
	}
	const near = 0.05 * rate
	for i, e := range got {
		w := s.Tones[i]
		if e.Label != w.Label || math.Abs(float64(e.Onset-w.Onset)) > near || math.Abs(float64(e.End-w.End)) > near {
			t.Errorf("event %d is %+v, expected %+v", i, e, w)
		}
		if !(e.Confidence >= events.Defaults().Threshold && e.Confidence <= 1) {
			t.Errorf("event %d: confidence %v", i, e.Confidence)
		}
	}
}

// The same events, to the sample and the bit, however the signal is cut.
func TestChunks(t *testing.T) {
	s := tonemodel.Words()
	f := recognizer(t, events.Defaults())
	want := fmt.Sprint(detect(t, f, s.Samples, len(s.Samples)))
	for _, chunks := range [][]int{{1}, {79, 1, 80, 81}, {1024}, {3, 777, 4000}} {
		must.Equal(t, fmt.Sprint(detect(t, f, s.Samples, chunks...)), want, "in chunks of %v", chunks)
	}
}

// Several streams of one Recognizer, processed at the same time, give the events of one.
func TestSharedRecognizer(t *testing.T) {
	s := tonemodel.Words()
	f := recognizer(t, events.Defaults())
	want := fmt.Sprint(detect(t, f, s.Samples, 800))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := fmt.Sprint(detect(t, f, s.Samples, 800)); got != want {
				t.Errorf("%s, expected %s", got, want)
			}
		})
	}
	wg.Wait()
}

// Neither silence nor steady noise of any level gives events, and the gate closes on them. After a
// minute of either, a word is detected as at the beginning.
func TestEndless(t *testing.T) {
	f := recognizer(t, events.Defaults())
	for _, level := range []float64{0, 1e-5, 0.003, 0.02} {
		s := &tonemodel.Sound{}
		s.Silence(60)
		s.Tone("high", 0.4)
		s.Silence(0.5)
		s.Noise(level)
		d := f.NewDetector()
		if got := process(t, d, s.Samples[:59*rate]); len(got) != 0 || d.GateOpen() {
			t.Errorf("noise of %v: events %+v, gate open: %t", level, got, d.GateOpen())
		}
		got := append(process(t, d, s.Samples[59*rate:]), flush(t, d)...)
		if len(got) != 1 || got[0].Label != "high" || math.Abs(float64(got[0].Onset-60*rate)) > 0.05*rate {
			t.Errorf("noise of %v: events %+v, expected one at %d", level, got, 60*rate)
		}
	}
	// Noise that begins all at once is background within two seconds.
	s := &tonemodel.Sound{}
	s.Silence(10)
	r := random.New(1, random.Noise, 0, 0)
	for i := 5 * rate; i < len(s.Samples); i++ {
		s.Samples[i] = float32(0.03 * r.Normal(uint64(i)))
	}
	d := f.NewDetector()
	d.Process(s.Samples[:7*rate])
	if d.GateOpen() {
		t.Error("the gate is open two seconds after noise began")
	}
}

// A sound without pauses that changes its pitch gives an event for each tone.
func TestWithoutPauses(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(0.3)
	for i := range 6 {
		s.Tone([]string{"low", "high"}[i%2], 2)
	}
	s.Silence(0.3)
	got := detect(t, recognizer(t, with(func(o *events.Options) { o.Window = 0.3 })), s.Samples, 500)
	if len(got) != 6 {
		t.Fatalf("events %+v, expected %+v", got, s.Tones)
	}
	for i, e := range got {
		if w := s.Tones[i]; e.Label != w.Label || math.Abs(float64(e.Onset-w.Onset)) > 0.3*rate {
			t.Errorf("event %d is %+v, expected %+v", i, e, w)
		}
	}
}

// Events are in order, have a length and never overlap, whatever tones and pauses follow each
// other.
func TestOrder(t *testing.T) {
	touching := 0
	for seed := range uint64(20) {
		r, s := random.New(seed, random.Noise, 1, 0), &tonemodel.Sound{}
		for i := range uint64(20) {
			s.Tone([]string{"low", "high"}[int(2*r.Float64(3*i))], 0.1+0.6*r.Float64(3*i+1))
			s.Silence(max(0, 0.3*r.Float64(3*i+2)-0.15))
		}
		s.Noise(0.003)
		for _, opt := range []events.Options{
			with(func(o *events.Options) { o.Window, o.Refractory = 0.2, 0.1 }),
			with(func(o *events.Options) { o.Window, o.Refractory, o.Confirm = 0.1, 0.05, 8 }),
			with(func(o *events.Options) { o.OffThreshold = o.Threshold - 0.01 }),
		} {
			last := events.Event{}
			for _, e := range detect(t, recognizer(t, opt), s.Samples, 800) {
				if e.Onset < last.End {
					t.Errorf("seed %d, %+v: %+v overlaps %+v", seed, opt, e, last)
				}
				if e.End <= e.Onset {
					t.Errorf("seed %d, %+v: %+v has no length", seed, opt, e)
				}
				if e.Onset == last.End {
					touching++
				}
				last = e
			}
		}
	}
	if touching == 0 {
		t.Error("no event begins where another ends: the signals test nothing")
	}
}

// What the model recognises in the pause after a sound, below the level at which the gate opens, is
// no event: it would begin after the sound's end and have no length.
func TestPause(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(3)
	s.Noise(0.018)
	s.Tone("low", 0.5)
	end := len(s.Samples)
	s.Tone("high", 0.4)
	for i := range s.Samples {
		if s.Samples[i] *= 10; i >= end {
			s.Samples[i] *= 0.1 // −13.5 dB, over a background of −15 dB
		}
	}
	s.Silence(0.3)
	opt := with(func(o *events.Options) {
		o.Window, o.Confirm, o.Refractory, o.Hop, o.OffThreshold = 0.05, 2, 0.1, 0.01, 0.6
	})
	got := detect(t, recognizer(t, opt), s.Samples, 800)
	if len(got) != 1 || got[0].Label != "low" || got[0].End <= got[0].Onset {
		t.Errorf("events %+v, expected one of the loud tone", got)
	}
}

// Noise that begins with the stream does not keep the gate open, even with a word before the gate
// has adapted, whether the model labels the noise none or is sure of no label.
func TestNoisyStart(t *testing.T) {
	lost := toneModel(t)
	lost.Meta.Labels[2] = "other"
	lost.Weights.DecoderBias[2] = lost.Weights.DecoderBias[0] // noise is any of the three
	for name, m := range map[string]*model.Model{"none": toneModel(t), "lost": lost} {
		f := must.Get(events.New(m, events.Defaults()))(t)
		for _, deviation := range []float64{0.003, 0.005, 0.02} { // 0.005 is −46 dB
			for _, at := range []float64{0, 0.1, 0.2, 1} {
				s := &tonemodel.Sound{}
				s.Silence(at)
				s.Tone("low", 0.4)
				s.Silence(10)
				s.Noise(deviation)
				d := f.NewDetector()
				got := process(t, d, s.Samples)
				if d.GateOpen() || len(got) != 1 || got[0].Label != "low" {
					t.Errorf("%s, noise %v, word at %v s: events %+v, gate open: %t", name, deviation, at, got, d.GateOpen())
				}
			}
		}
	}
}

// An evaluation counts once, also if the stream is flushed right after it.
func TestFlushCountsOnce(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(0.5)
	s.Tone("low", 0.5)
	for count := 1; count <= 4; count++ {
		for confirm := count; confirm <= count+1; confirm++ {
			f := recognizer(t, with(func(o *events.Options) { o.Confirm = confirm }))
			d := f.NewDetector()
			open := 0                                               // frames
			for x := s.Samples; open < 3*count; x = x[f.Frame():] { // 3 are a hop
				d.Process(x[:f.Frame()])
				if d.GateOpen() {
					open++
				}
			}
			must.Equal(t, len(flush(t, d)), count+1-confirm, "events of %d evaluations with confirm %d", count, confirm)
		}
	}
}

// Check finds samples that are no audio. A Detector treats them as silence.
func TestNoAudio(t *testing.T) {
	s := tonemodel.Words()
	f := recognizer(t, events.Defaults())
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	if n, err := events.Check([]float32{1e6, -1e6, 0}); n != 3 || err != nil {
		t.Errorf("Check of good samples: %d, %v", n, err)
	}
	for _, bad := range []float32{nan, inf, -inf, 1.1e6, -math.MaxFloat32} {
		if n, err := events.Check([]float32{0, 1, bad, nan}); n != 2 || err == nil || !strings.Contains(err.Error(), fmt.Sprint(bad)) {
			t.Errorf("Check returns %d good samples before %v, error %v", n, bad, err)
		}
		x, silent := slices.Clone(s.Samples), slices.Clone(s.Samples)
		// The gate is closed at some of these, open at others.
		for _, from := range []int{0, 100, int(s.Tones[0].End) - 500, int(s.Tones[1].End) + 100} {
			for i := from; i < from+200; i++ {
				x[i], silent[i] = bad, 0
			}
		}
		if got, want := detect(t, f, x, 800), detect(t, f, silent, 800); len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("with samples of %v: %+v, with silence %+v", bad, got, want)
		}
	}
}

// A model whose output is NaN or infinite is an error, after the events before it, however the
// signal is cut.
func TestModelFault(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(0.5)
	s.Tone("low", 0.5)
	s.Silence(0.5)
	for name, weight := range map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1)} {
		m := toneModel(t)
		m.Weights.DecoderBias[1] = float32(weight)
		r := must.Get(events.New(m, events.Defaults()))(t)
		for _, chunk := range []int{80, 777, len(s.Samples)} {
			d := r.NewDetector()
			var fault error
			for x := s.Samples; len(x) > 0 && fault == nil; x = x[min(chunk, len(x)):] {
				var list []events.Event
				if list, fault = d.Process(x[:min(chunk, len(x))]); len(list) != 0 {
					t.Errorf("%s: events %+v", name, list)
				}
			}
			const want = "events: after sample 4400: the model's output for label \"high\" is "
			if fault == nil || !strings.HasPrefix(fault.Error(), want+name) {
				t.Errorf("%s in chunks of %d: error %v, expected %q", name, chunk, fault, want+name)
			}
			if d.GateOpen() {
				t.Errorf("%s in chunks of %d: the gate is open after the error", name, chunk)
			}
		}
	}
}

// A Detector whose network has failed has a snapshot that can be restored.
func TestSnapshotAfterModelFault(t *testing.T) {
	m := toneModel(t)
	m.Weights.EncoderBias[0] = float32(math.NaN())
	r := must.Get(events.New(m, events.Defaults()))(t)
	d := r.NewDetector()
	must.Reject(d.Process(tonemodel.Words().Samples))(t, "expected a finite number")
	must.Do(t, r.NewDetector().Restore(d.Snapshot()))
}

func TestAllocations(t *testing.T) {
	s := tonemodel.Words()
	d := recognizer(t, events.Defaults()).NewDetector()
	d.Process(s.Samples)
	if n := testing.AllocsPerRun(3, func() { d.Process(s.Samples) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// A Detector takes the memory that StateBytes returns, and at most an eighth more, since the
// runtime rounds sizes up.
func TestStateBytes(t *testing.T) {
	digits := must.Get(pretrained.Load("digits"))(t)
	frames := must.Get(tonemodel.NewFramewise())(t)
	for name, m := range map[string]*model.Model{"tones": toneModel(t), "digits": digits, "frames": frames} {
		f := must.Get(events.New(m, events.DefaultsFor(m)))(t)
		x := make([]float32, rate)
		detectors := make([]*events.Detector, 50)
		f.NewDetector().Process(x) // the working memory that all share
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range detectors {
			detectors[i] = f.NewDetector()
			detectors[i].Process(x)
		}
		runtime.ReadMemStats(&after)
		got, want := float64(after.TotalAlloc-before.TotalAlloc)/50, float64(f.StateBytes())
		if got < want || got > 1.125*want {
			t.Errorf("%s: a detector takes %.0f bytes, StateBytes says %.0f", name, got, want)
		}
	}
}

func BenchmarkDetector(b *testing.B) {
	s := tonemodel.Words()
	d := recognizer(b, events.Defaults()).NewDetector()
	b.ReportAllocs()
	for b.Loop() {
		d.Process(s.Samples)
	}
	b.ReportMetric(float64(len(s.Samples))*float64(b.N)/rate/b.Elapsed().Seconds(), "real-time")
}

// A stream neither goes back nor reaches a position of which no snapshot can be restored.
func TestSkipTooFar(t *testing.T) {
	d := recognizer(t, events.Defaults()).NewDetector()
	must.Get(d.Skip(7))(t)
	for _, n := range []int64{-1, events.MaxPosition - 6, math.MaxInt64} {
		func() {
			defer func() {
				must.Equal(t, fmt.Sprint(recover()), fmt.Sprintf("events: Skip of %d samples: expected 0 to %d", n, int64(events.MaxPosition-7)), "panic")
			}()
			d.Skip(n)
		}()
	}
	must.Get(d.Skip(events.MaxPosition - 7))(t)
	must.Equal(t, d.Position(), events.MaxPosition, "position")
}

// Skip ends the event under way, counts the lost samples, and forgets the past.
func TestSkip(t *testing.T) {
	s := &tonemodel.Sound{}
	s.Silence(0.5)
	s.Tone("low", 0.5)
	cut := len(s.Samples)
	s.Silence(0.3)
	s.Tone("high", 0.5)
	s.Silence(0.3)
	f := recognizer(t, events.Defaults())
	d := f.NewDetector()
	if got := process(t, d, s.Samples[:cut]); len(got) != 0 {
		t.Fatalf("events %+v before the tone has ended", got)
	}
	got := must.Get(d.Skip(1234))(t)
	if len(got) != 1 || got[0].Label != "low" || got[0].End != int64(cut) {
		t.Errorf("skip returns %+v, expected the tone, cut at %d", got, cut)
	}
	if d.Position() != int64(cut)+1234 || d.GateOpen() {
		t.Errorf("position %d, gate open: %t", d.Position(), d.GateOpen())
	}
	fresh := f.NewDetector()
	want := append(process(t, fresh, s.Samples[cut:]), flush(t, fresh)...)
	got = append(process(t, d, s.Samples[cut:]), flush(t, d)...)
	if len(got) != 1 || len(want) != 1 {
		t.Fatalf("behind the gap %+v, expected %+v later", got, want)
	}
	for i := range want {
		want[i].Onset += int64(cut) + 1234
		want[i].End += int64(cut) + 1234
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("behind the gap %+v, expected %+v", got, want)
	}
}
