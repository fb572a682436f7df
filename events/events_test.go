package events_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

const rate = 8000

// Frequencies that the test model names, in Hz.
var pitches = map[string]float64{"low": 500, "high": 1500}

// listener is a model made by hand: two resonators of one mode, whose rectified mean says how loud their pitch is.
func listener(t testing.TB) *model.Model {
	t.Helper()
	c := model.Default()
	c.DModel, c.DInput, c.DOutput, c.NLayers = 2, 1, 3, 1
	c.Norm, c.Mixing, c.Residual = model.NormNone, model.MixingNone, false
	c.SSM = ssm.Config{DState: 2, Init: ssm.Lin, Disc: ssm.ZOH, AReal: 0.5, DtMin: 0.1, DtMax: 0.1}
	m, err := model.New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Meta = model.Meta{Labels: []string{"low", "high", events.None}, SampleRate: rate}
	w := m.Weights
	w.Zero()
	copy(w.EncoderWeight, []float32{1, 1})
	const step, decay = 1.0, 0.02 // a resonance some 25 Hz wide
	for h, label := range []string{"low", "high"} {
		w.Layers[0].LogStep[h] = float32(math.Log(step))
		w.Layers[0].LogDecay[h] = float32(math.Log(decay))
		w.Layers[0].Freq[h] = float32(2 * math.Pi * pitches[label] / rate)
		w.Layers[0].C[2*h] = 2 * decay
	}
	copy(w.DecoderWeight, []float32{400, -100, -100, 400, 0, 0})
	copy(w.DecoderBias, []float32{-4, -4, 0})
	return m
}

// sound is a signal under construction.
type sound struct {
	x    []float32
	want []events.Event
}

func (s *sound) silence(seconds float64) { s.x = append(s.x, make([]float32, int(seconds*rate))...) }

// tone adds a tone of amplitude 0.3 that is an event.
func (s *sound) tone(label string, seconds float64) {
	from := len(s.x)
	s.silence(seconds)
	for i := from; i < len(s.x); i++ {
		s.x[i] = float32(0.3 * math.Sin(2*math.Pi*pitches[label]*float64(i-from)/rate))
	}
	s.want = append(s.want, events.Event{Onset: int64(from), End: int64(len(s.x)), Label: label})
}

// noise adds noise of an amplitude to all of it.
func (s *sound) noise(level float64) {
	r := random.New(5, random.Noise, 0, 0)
	for i := range s.x {
		s.x[i] += float32(level * r.Normal(uint64(i)))
	}
}

// words are tones of several lengths with pauses, in noise.
func words() *sound {
	s := &sound{}
	s.silence(0.5)
	for i, seconds := range []float64{0.3, 0.5, 0.2, 0.8, 0.3, 0.25, 0.6} {
		s.tone([]string{"low", "high", "high", "low"}[i%4], seconds)
		s.silence(0.35 + 0.1*float64(i))
	}
	s.noise(0.005)
	return s
}

func finder(t testing.TB, opt events.Options) *events.Finder {
	t.Helper()
	f, err := events.New(listener(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// listen feeds a signal in chunks of the sizes given, again and again.
func listen(f *events.Finder, x []float32, chunks ...int) []events.Event {
	d := f.NewDetector()
	var all []events.Event
	for i := 0; len(x) > 0; i++ {
		n := min(chunks[i%len(chunks)], len(x))
		all = append(all, d.Process(x[:n])...)
		x = x[n:]
	}
	return append(all, d.Close()...)
}

func TestEvents(t *testing.T) {
	s := words()
	got := listen(finder(t, events.Options{}), s.x, len(s.x))
	if len(got) != len(s.want) {
		t.Fatalf("events %+v, want %+v", got, s.want)
	}
	const near = 0.05 * rate
	for i, e := range got {
		w := s.want[i]
		if e.Label != w.Label || math.Abs(float64(e.Onset-w.Onset)) > near || math.Abs(float64(e.End-w.End)) > near {
			t.Errorf("event %d is %+v, want %+v", i, e, w)
		}
		if !(e.Confidence >= events.Defaults().Threshold && e.Confidence <= 1) {
			t.Errorf("event %d: confidence %v", i, e.Confidence)
		}
	}
}

// The same events, to the sample and the bit, however the signal is cut.
func TestChunks(t *testing.T) {
	s := words()
	f := finder(t, events.Options{})
	want := fmt.Sprint(listen(f, s.x, len(s.x)))
	for _, chunks := range [][]int{{1}, {79, 1, 80, 81}, {1024}, {3, 777, 4000}} {
		if got := fmt.Sprint(listen(f, s.x, chunks...)); got != want {
			t.Errorf("in chunks of %v: %s, want %s", chunks, got, want)
		}
	}
}

// Many streams of one Finder at once hear what one hears.
func TestSharedFinder(t *testing.T) {
	s := words()
	f := finder(t, events.Options{})
	want := fmt.Sprint(listen(f, s.x, 800))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := fmt.Sprint(listen(f, s.x, 800)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	wg.Wait()
}

// Silence, and noise of any level that stays, are no events, and the gate closes on them; after a minute of either a word is
// heard as ever.
func TestEndless(t *testing.T) {
	f := finder(t, events.Options{})
	for _, level := range []float64{0, 1e-5, 0.003, 0.02} {
		s := &sound{}
		s.silence(60)
		s.tone("high", 0.4)
		s.silence(0.5)
		s.noise(level)
		d := f.NewDetector()
		if got := d.Process(s.x[:59*rate]); len(got) != 0 || d.Listening() {
			t.Errorf("noise of %v: events %+v, gate open: %t", level, got, d.Listening())
		}
		got := append(slices.Clone(d.Process(s.x[59*rate:])), d.Close()...)
		if len(got) != 1 || got[0].Label != "high" || math.Abs(float64(got[0].Onset-60*rate)) > 0.05*rate {
			t.Errorf("noise of %v: events %+v, want one at %d", level, got, 60*rate)
		}
	}
	// Noise that begins all at once is background within two seconds.
	s := &sound{}
	s.silence(10)
	r := random.New(1, random.Noise, 0, 0)
	for i := 5 * rate; i < len(s.x); i++ {
		s.x[i] = float32(0.03 * r.Normal(uint64(i)))
	}
	d := f.NewDetector()
	d.Process(s.x[:7*rate])
	if d.Listening() {
		t.Error("the gate is open two seconds after noise began")
	}
}

// A tone that never pauses changes its pitch: an event for each, one after the other.
func TestWithoutPauses(t *testing.T) {
	s := &sound{}
	s.silence(0.3)
	for i := range 6 {
		s.tone([]string{"low", "high"}[i%2], 2)
	}
	s.silence(0.3)
	got := listen(finder(t, events.Options{Window: 0.3}), s.x, 500)
	if len(got) != 6 {
		t.Fatalf("events %+v, want %+v", got, s.want)
	}
	for i, e := range got {
		if w := s.want[i]; e.Label != w.Label || math.Abs(float64(e.Onset-w.Onset)) > 0.3*rate {
			t.Errorf("event %d is %+v, want %+v", i, e, w)
		}
	}
}

// Each option moves what it says it moves.
func TestOptions(t *testing.T) {
	s := &sound{}
	s.silence(0.5)
	for range 3 {
		s.tone("low", 0.06) // too short for many answers
		s.silence(0.5)
	}
	s.noise(0.002)
	count := func(opt events.Options) int { return len(listen(finder(t, opt), s.x, 800)) }
	if n := count(events.Options{Confirm: 1, Threshold: 0.3}); n != 3 {
		t.Errorf("%d events of 3 short tones at threshold 0.3 with 1 answer", n)
	}
	if n := count(events.Options{Confirm: 20, Threshold: 0.3}); n != 0 {
		t.Errorf("%d events that 20 answers agree on", n)
	}
	if n := count(events.Options{Confirm: 1, Threshold: 0.999999}); n != 0 {
		t.Errorf("%d events at threshold 0.999999", n)
	}

	s = &sound{}
	s.silence(0.5)
	for i := range 6 { // a change of pitch every 0.4 s
		s.tone([]string{"low", "high"}[i%2], 0.4)
	}
	s.silence(0.5)
	quick, slow := count(events.Options{Window: 0.1, Refractory: 0.1}), count(events.Options{Window: 0.1, Refractory: 3})
	if quick != 6 || slow != 1 {
		t.Errorf("%d events with a refractory time of 0.1 s, %d with 3 s; want 6 and 1", quick, slow)
	}
}

func TestNewRefuses(t *testing.T) {
	good := listener(t)
	for want, change := range map[string]func(m *model.Model, o *events.Options){
		"threshold 1.5: want 0 … 1":              func(_ *model.Model, o *events.Options) { o.Threshold = 1.5 },
		"off-threshold 0.9 is above the thresho": func(_ *model.Model, o *events.Options) { o.OffThreshold = 0.9 },
		"confirm -1: want 1":                     func(_ *model.Model, o *events.Options) { o.Confirm = -1 },
		"window NaN":                             func(_ *model.Model, o *events.Options) { o.Window = math.NaN() },
		"hop 1e-09":                              func(_ *model.Model, o *events.Options) { o.Hop = 1e-9 },
		"no labels":                              func(m *model.Model, _ *events.Options) { m.Meta.Labels = nil },
		"sampling rate is 0 Hz":                  func(m *model.Model, _ *events.Options) { m.Meta.SampleRate = 0 },
		`pool is "last"`:                         func(m *model.Model, _ *events.Options) { m.Config.Pool = model.PoolLast },
		"audio has 1 channel":                    func(m *model.Model, _ *events.Options) { m.Config.DInput = 2 },
		"bidirectional":                          func(m *model.Model, _ *events.Options) { m.Config.SSM.Bidirectional = true },
	} {
		m, opt := *good, events.Options{}
		change(&m, &opt)
		if _, err := events.New(&m, opt); err == nil || !strings.HasPrefix(err.Error(), "events: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestAllocations(t *testing.T) {
	s := words()
	d := finder(t, events.Options{}).NewDetector()
	d.Process(s.x)
	if n := testing.AllocsPerRun(3, func() { d.Process(s.x) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkDetector(b *testing.B) {
	s := words()
	d := finder(b, events.Options{}).NewDetector()
	b.ReportAllocs()
	for b.Loop() {
		d.Process(s.x)
	}
	b.ReportMetric(float64(len(s.x))*float64(b.N)/rate/b.Elapsed().Seconds(), "real-time")
}
