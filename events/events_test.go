package events_test

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
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

// toneOptions returns options for tones, which may be shorter and closer than words.
func toneOptions() events.Options {
	o := events.Defaults().WithThreshold(0.7)
	o.Smoothing = 0.1
	return o
}

func recognizer(t testing.TB, opt events.Options) *events.Recognizer {
	t.Helper()
	return must.Get(events.New(toneModel(t), opt))(t)
}

func stream(t testing.TB, r *events.Recognizer) *events.Stream {
	t.Helper()
	return must.Get(r.NewStream(0))(t)
}

// listen processes a signal in blocks of the given sizes, which it repeats, and flushes.
func listen(t testing.TB, s *events.Stream, x []float32, blocks ...int) (all []events.Event) {
	t.Helper()
	for i := 0; len(x) > 0; i++ {
		n := min(blocks[i%len(blocks)], len(x))
		all = append(all, must.Get(s.Process(x[:n]))(t)...)
		x = x[n:]
	}
	return append(all, must.Get(s.Flush())(t)...)
}

// later returns events at positions that are n samples later.
func later(list []events.Event, n int64) []events.Event {
	list = slices.Clone(list)
	for i := range list {
		list[i].Onset += n
		list[i].End += n
	}
	return list
}

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

// The events are the tones: far apart, close together with different labels, without a pause, and
// the same one twice with a short pause.
func TestEvents(t *testing.T) {
	r := recognizer(t, toneOptions())
	for name, s := range map[string]*tonemodel.Sound{
		"words":    tonemodel.Words(),
		"loud":     tones(0.02, "low 0.5 0.6", "high 0.4 0.5", "high 0.9 0.4"),
		"close":    tones(0.005, "low 0.3 0.05", "high 0.3 0.05", "low 0.3 0.05", "high 0.4 0.05", "low 0.5 0"),
		"joined":   tones(0.005, "high 0.4 0", "low 0.4 0", "high 0.4 0"),
		"repeated": tones(0.005, "low 0.4 0.35", "low 0.3 0.35", "low 0.4 0.35", "high 0.3 0.35", "high 0.3 0"),
		"noise":    tones(0.02),
	} {
		matches(t, name, listen(t, stream(t, r), s.Samples, len(s.Samples)), s.Tones, 0.16)
	}
}

// A model that labels clips finds tones that are further apart than its clips of a second.
func TestClips(t *testing.T) {
	m := must.Get(tonemodel.NewClips())(t)
	s := tones(0.002, "low 0.4 1.2", "high 0.5 1.2", "low 0.3 1")
	got := must.Get(must.Get(events.New(m, events.DefaultsFor(m)))(t).Recognize(s.Samples))(t)
	matches(t, "clips", got, s.Tones, 0.4)
}

// A tone is found wherever the signal ends behind its middle, and ends there.
func TestEnd(t *testing.T) {
	r := recognizer(t, toneOptions())
	s := tones(0.005, "low 0.4 0")
	onset, end := s.Tones[0].Onset, s.Tones[0].End
	for n := onset + 2000; n < end+3000; n += 333 {
		d := stream(t, r)
		got := listen(t, d, s.Samples[:n], 800)
		if len(got) != 1 || math.Abs(float64(got[0].Onset-onset)) > 0.05*rate || got[0].End > n || got[0].End < min(n, end)-0.2*rate {
			t.Errorf("%d samples: events %+v, expected %+v", n, got, s.Tones)
		}
		must.Equal(t, d.Position(), n, "position")
		must.Equal(t, len(must.Get(d.Flush())(t)), 0, "%d samples: events of the second flush", n)
	}
}

// A stream of a second signal, after Flush or Skip, is like a new one: neither the incomplete frame
// nor the sound at the end of the first signal belongs to the second.
func TestNextSignal(t *testing.T) {
	clips := must.Get(tonemodel.NewClips())(t)
	for name, r := range map[string]*events.Recognizer{"frames": recognizer(t, toneOptions()), "clips": must.Get(events.New(clips, events.Defaults()))(t)} {
		first, second := tonemodel.Words(), tones(0.001, "high 0.4 0")
		cut := int(first.Tones[1].End) - 27
		want := listen(t, stream(t, r), second.Samples, 800)
		must.Equal(t, len(want), 1, "%s: events", name)
		s := stream(t, r)
		listen(t, s, first.Samples[:cut], 800)
		must.Equal(t, fmt.Sprint(listen(t, s, second.Samples, 333)), fmt.Sprint(later(want, int64(cut))), "%s: events after Flush", name)

		s = stream(t, r)
		found := slices.Clone(must.Get(s.Process(first.Samples[:cut]))(t))
		found = append(found, must.Get(s.Skip(1234))(t)...)
		if last := found[len(found)-1]; last.End > int64(cut) {
			t.Errorf("%s: Skip returns %+v, expected an end of at most %d", name, last, cut)
		}
		must.Equal(t, s.Position(), int64(cut)+1234, "%s: position", name)
		must.Equal(t, fmt.Sprint(listen(t, s, second.Samples, 333)), fmt.Sprint(later(want, int64(cut)+1234)), "%s: events after Skip", name)
	}
}

// Events are in order, have a length and never overlap, whatever tones and pauses follow each
// other.
func TestOrder(t *testing.T) {
	touching := 0
	for seed := range uint64(8) {
		r, s := random.New(seed, random.Noise, 1, 0), &tonemodel.Sound{}
		for i := range uint64(20) {
			s.Tone([]string{"low", "high"}[int(2*r.Float64(3*i))], 0.1+0.6*r.Float64(3*i+1))
			s.Silence(max(0, 0.3*r.Float64(3*i+2)-0.15))
		}
		s.Noise(0.003)
		for _, o := range []events.Options{
			{Threshold: 0.7, OffThreshold: 0.35, Confirm: 3, Refractory: 0.1, Smoothing: 0.1},
			{Threshold: 0.5, OffThreshold: 0.49, Confirm: 8, Refractory: 0.05, Smoothing: 0.05},
		} {
			last := events.Event{}
			for _, e := range listen(t, stream(t, recognizer(t, o)), s.Samples, 800) {
				if e.Onset < last.End || e.End <= e.Onset {
					t.Errorf("seed %d, %+v: %+v after %+v", seed, o, e, last)
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

// Check finds samples that are no audio.
func TestCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	if n, err := events.Check([]float32{1e6, -1e6, 0}); n != 3 || err != nil {
		t.Errorf("Check of good samples: %d, %v", n, err)
	}
	for _, bad := range []float32{nan, inf, -inf, 1.1e6, -math.MaxFloat32} {
		if n, err := events.Check([]float32{0, 1, bad, nan}); n != 2 || err == nil || !strings.Contains(err.Error(), fmt.Sprint(bad)) {
			t.Errorf("Check returns %d good samples before %v, error %v", n, bad, err)
		}
	}
}

// An output that is not finite is an error at its frame, however the signal is cut. The stream then
// continues with a new signal.
func TestModelFault(t *testing.T) {
	m := toneModel(t)
	m.Weights.DecoderBias[1] = float32(math.NaN())
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	x := tonemodel.Words().Samples
	for _, block := range []int{1, 80, 777, len(x)} {
		s := stream(t, r)
		var fault error
		for y := x; len(y) > 0 && fault == nil; y = y[min(block, len(y)):] {
			_, fault = s.Process(y[:min(block, len(y))])
		}
		must.Fail(t, fault, `events: after sample 80: the model's output for label "high" is NaN`)
		at := s.Position()
		must.Reject(s.Process(x[:5000]))(t, fmt.Sprintf("after sample %d", at+80))
		must.Equal(t, s.Position(), at+5000, "position")
		must.Do(t, stream(t, r).Restore(s.Snapshot()))
	}
	must.Reject(r.Recognize(x))(t, "after sample 80")
	_, _, err := r.Classify(x)
	must.Fail(t, err, "after sample 80")
	must.Reject(must.Get(r.NewStream(16000))(t).Process(x))(t, "after sample 160")
	must.Reject(must.Get(r.NewSweep([]events.Options{toneOptions()}))(t).Process(x))(t, "after sample 80")
}

func TestAllocations(t *testing.T) {
	x, r := tonemodel.Words().Samples, recognizer(t, toneOptions())
	for _, hz := range []float64{8000, 16000} {
		s := must.Get(r.NewStream(hz))(t)
		s.Process(x)
		must.Equal(t, testing.AllocsPerRun(3, func() { s.Process(x) }), 0, "%g Hz: allocations per call", hz)
	}
}

// A Stream takes the memory that StateBytes returns, and at most an eighth more, since the runtime
// rounds sizes up.
func TestStateBytes(t *testing.T) {
	// The garbage collector frees the working memory that all share. Each processor has its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	digits, clips := must.Get(pretrained.Load("digits"))(t), must.Get(tonemodel.NewClips())(t)
	for name, m := range map[string]*model.Model{"tones": toneModel(t), "digits": digits, "clips": clips} {
		r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
		x := make([]float32, rate)
		streams := make([]*events.Stream, 50)
		stream(t, r).Process(x) // the working memory that all share
		got := float64(must.Allocated(func() {
			for i := range streams {
				streams[i], _ = r.NewStream(0)
				streams[i].Process(x)
			}
		})) / 50
		want := float64(r.StateBytes())
		if got < want || got > 1.125*want && !must.RaceEnabled {
			t.Errorf("%s: a stream takes %.0f bytes, StateBytes returns %.0f", name, got, want)
		}
	}
}

// Classify returns the label that peaks highest, and none where none reaches the threshold for
// clips, which is lower than that of this detector.
func TestClassify(t *testing.T) {
	r := recognizer(t, toneOptions().WithThreshold(0.9999))
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
	clips := must.Get(tonemodel.NewClips())(t)
	_, _, err = must.Get(events.New(clips, events.Defaults()))(t).Classify(s.Samples)
	must.Fail(t, err, "the model labels clips, expected one that labels the frames of a filter bank")
}

func BenchmarkStream(b *testing.B) {
	x := tonemodel.Words().Samples
	s := stream(b, recognizer(b, toneOptions()))
	b.ReportAllocs()
	for b.Loop() {
		s.Process(x)
	}
	b.ReportMetric(float64(len(x))*float64(b.N)/rate/b.Elapsed().Seconds(), "real-time")
}
