package events_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// sweepOptions are Options of many thresholds and times.
func sweepOptions() (list []events.Options) {
	for _, threshold := range []float64{0, 0.3, 0.7, 0.99} {
		for _, confirm := range []int{1, 4, 9} {
			for _, refractory := range []float64{0, 0.4} {
				o := events.Defaults().WithThreshold(threshold)
				o.Confirm, o.Refractory, o.Window = confirm, refractory, 0.3
				list = append(list, o)
			}
		}
	}
	return list
}

// tunes returns tones of random lengths, with pauses and changes of level that the gates of
// different Options treat differently.
func tunes(seed uint64) []float32 {
	r, s := random.New(seed, random.Noise, 1, 0), &tonemodel.Sound{}
	for i := range uint64(12) {
		s.Tone([]string{"low", "high"}[int(2*r.Float64(4*i))], 0.1+r.Float64(4*i+1))
		s.Silence(max(0, 1.2*r.Float64(4*i+2)-0.2))
		from := len(s.Samples)
		s.Silence(4 * r.Float64(4*i+3))
		for k := from; k < len(s.Samples); k++ { // a pitch between the labels, for long sounds without one
			s.Samples[k] = float32(0.02 * math.Sin(2*math.Pi*900*float64(k)/rate))
		}
	}
	s.Noise(0.001)
	return s.Samples
}

// A Sweep finds the events of one Detector per set of Options, bit for bit, however the audio is
// cut.
func TestSweep(t *testing.T) {
	options, differ := sweepOptions(), false
	r := recognizer(t, options[0])
	for seed := range uint64(4) {
		x := tunes(seed)
		want := make([]string, len(options))
		for i, o := range options {
			want[i] = fmt.Sprint(detect(t, recognizer(t, o), x, len(x)))
			differ = differ || want[i] != want[0]
		}
		for _, chunk := range []int{79, 800, len(x)} {
			s := must.Get(r.NewSweep(options))(t)
			got := make([][]events.Event, len(options))
			add := func(list []events.Found, err error) {
				must.Do(t, err)
				for _, f := range list {
					got[f.Option] = append(got[f.Option], f.Event)
				}
			}
			for y := x; len(y) > 0; y = y[min(chunk, len(y)):] {
				add(s.Process(y[:min(chunk, len(y))]))
			}
			must.Equal(t, s.Position(), int64(len(x)), "position")
			add(s.Flush())
			for i, o := range options {
				must.Equal(t, fmt.Sprint(got[i]), want[i], "seed %d, chunks of %d, %+v", seed, chunk, o)
			}
		}
	}
	if !differ {
		t.Error("all options find the same events: the signals test nothing")
	}
}

// A Sweep continues after Flush as a Detector does.
func TestSweepFlush(t *testing.T) {
	options, x := sweepOptions(), tunes(9)
	s := must.Get(recognizer(t, options[0]).NewSweep(options))(t)
	got := make([]string, len(options))
	half := len(x) / 2
	for _, part := range [][]float32{x[:half], x[half:]} {
		for _, call := range []func() ([]events.Found, error){func() ([]events.Found, error) { return s.Process(part) }, s.Flush} {
			for _, f := range must.Get(call())(t) {
				got[f.Option] += fmt.Sprint(f.Event)
			}
		}
	}
	for i, o := range options {
		d, want := recognizer(t, o).NewDetector(), ""
		for _, part := range [][]float32{x[:half], x[half:]} {
			for _, e := range append(process(t, d, part), flush(t, d)...) {
				want += fmt.Sprint(e)
			}
		}
		must.Equal(t, got[i], want, "events of %+v", o)
	}
}

func TestSweepErrors(t *testing.T) {
	r := recognizer(t, events.Defaults())
	for want, options := range map[string][]events.Options{
		"no options": nil,
		"options 1: threshold 2: expected 0 … 1":                {events.Defaults(), events.Defaults().WithThreshold(2)},
		"options 0: hop 0.03, window 0.5 and rate 8000":         {with(func(o *events.Options) { o.Window = 0.5 })},
		"options 0: hop 0.05, window 1 and rate 8000, expected": {with(func(o *events.Options) { o.Hop = 0.05 })},
		"rate 16000, expected those of the recognizer":          {with(func(o *events.Options) { o.SampleRate = 16000 })},
	} {
		must.Reject(r.NewSweep(options))(t, want)
	}
	m := toneModel(t)
	m.Weights.DecoderBias[1] = float32(math.NaN())
	s := must.Get(must.Get(events.New(m, events.Defaults()))(t).NewSweep([]events.Options{events.Defaults()}))(t)
	must.Reject(s.Process(tonemodel.Words().Samples))(t, `the model's output for label "high" is NaN`)
}

func TestSweepAllocations(t *testing.T) {
	x := tunes(1)
	s := must.Get(recognizer(t, sweepOptions()[0]).NewSweep(sweepOptions()))(t)
	s.Process(x)
	s.Process(x)
	if n := testing.AllocsPerRun(3, func() { s.Process(x) }); n > 1 { // growing the list of events
		t.Errorf("%v allocations per call", n)
	}
}

func BenchmarkSweep(b *testing.B) {
	x := tonemodel.Words().Samples
	s := must.Get(recognizer(b, sweepOptions()[0]).NewSweep(sweepOptions()))(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Process(x)
	}
	b.ReportMetric(float64(len(x))*float64(b.N)/rate/b.Elapsed().Seconds(), "real-time")
}
