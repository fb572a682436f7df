package events_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// sweepOptions are Options of many thresholds and times. Some smoothing times are rounded to the
// same number of frames, although their onsets differ.
func sweepOptions() (list []events.Options) {
	for _, smoothing := range []float64{0.01, 0.1, 0.195, 0.2, 0.2049} {
		for _, threshold := range []float64{0, 0.3, 0.7, 0.99} {
			for _, confirm := range []int{1, 5} {
				o := events.Options{Confirm: confirm, Refractory: 0.2, Smoothing: smoothing}
				list = append(list, o.WithThreshold(threshold))
			}
		}
	}
	return list
}

// A Sweep finds the events of one Stream per set of Options, bit for bit, however the audio is cut
// and in every signal, with offsets as without. Offsets and options change the events.
func TestSweep(t *testing.T) {
	if slices.Equal(sweep(t, []float64{-1.5, 2, 0}), sweep(t, nil)) {
		t.Error("offsets change no event: the signal tests nothing")
	}
}

// sweep compares a Sweep with Streams. It returns the events with each of the options.
func sweep(t *testing.T, offsets []float64) []string {
	t.Helper()
	options := sweepOptions()
	s := tones(0.002, "low 0.3 0.1", "high 0.2 0.05", "low 0.1 0.1", "low 0.3 0.4", "high 0.7 0", "low 0.5 0", "high 0.5 0")
	end := int(s.Tones[6].End)
	sweep := must.Get(offsetBy(t, options[0], offsets...).NewSweep(options))(t)
	var all []string
	for _, block := range []int{79, 999, end} {
		got := make([][]events.Event, len(options))
		add := func(list []events.Found, err error) {
			must.Do(t, err)
			for _, f := range list {
				got[f.Option] = append(got[f.Option], f.Event)
			}
		}
		for part := range slices.Chunk(s.Samples[:end], block) {
			add(sweep.Process(part))
		}
		add(sweep.Flush())
		all = all[:0]
		for i, o := range options {
			want := fmt.Sprint(listen(t, stream(t, offsetBy(t, o, offsets...)), s.Samples[:end], end))
			must.Equal(t, fmt.Sprint(got[i]), want, "offsets %v, blocks of %d, events of %+v", offsets, block, o)
			all = append(all, want)
		}
	}
	if slices.Equal(all[:1], all[len(all)-1:]) {
		t.Error("all options find the same events: the signal tests nothing")
	}
	return all
}

func TestSweepErrors(t *testing.T) {
	r := recognizer(t, toneOptions())
	must.Reject(r.NewSweep(nil))(t, "no options")
	must.Reject(r.NewSweep([]events.Options{toneOptions(), toneOptions().WithThreshold(2)}))(t, "options 1: threshold 2: expected 0 … 1")
}

func TestSweepAllocations(t *testing.T) {
	x := tonemodel.Words().Samples
	s := must.Get(recognizer(t, toneOptions()).NewSweep(sweepOptions()))(t)
	s.Process(x)
	s.Process(x)
	if n := testing.AllocsPerRun(3, func() { s.Process(x) }); n > 1 { // growing the list of events
		t.Errorf("%v allocations per call", n)
	}
}

func BenchmarkSweep(b *testing.B) {
	x := tonemodel.Words().Samples
	s := must.Get(recognizer(b, toneOptions()).NewSweep(sweepOptions()))(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Process(x)
	}
	b.ReportMetric(float64(len(x))*float64(b.N)/rate/b.Elapsed().Seconds(), "real-time")
}
