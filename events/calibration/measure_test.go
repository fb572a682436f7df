package calibration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

const rate = tonemodel.SampleRate

// memory is audio from a slice.
type memory struct {
	x   []float32
	err error // at the end; nil: io.EOF
}

func (m *memory) Read(dst []float32) (int, error) {
	n := copy(dst, m.x)
	if m.x = m.x[n:]; n > 0 {
		return n, nil
	}
	if m.err != nil {
		return 0, m.err
	}
	return 0, io.EOF
}

func (*memory) Close() error { return nil }

// stream returns a stream of what s holds; its tones are words if it is no background.
func stream(group string, s *tonemodel.Sound) calibration.Stream {
	out := calibration.Stream{Name: group, Background: group, Open: func() (calibration.Audio, error) { return &memory{x: s.Samples}, nil }}
	if group == "" {
		for _, tone := range s.Tones {
			out.Words = append(out.Words, calibration.Word{Onset: tone.Onset, End: tone.End, Label: tone.Label})
		}
	}
	return out
}

// isolated returns tones of half a second with pauses, each with a factor of its amplitude.
func isolated(gains map[string][]float64) *tonemodel.Sound {
	s := &tonemodel.Sound{}
	s.Silence(1)
	for _, label := range []string{"high", "low"} {
		for _, gain := range gains[label] {
			from := len(s.Samples)
			s.Tone(label, 0.5)
			for i := from; i < len(s.Samples); i++ {
				s.Samples[i] *= float32(gain)
			}
			s.Silence(1.5)
		}
	}
	return s
}

func toneModel(t testing.TB) *model.Model { return must.Get(tonemodel.New())(t) }

// candidates are options of several thresholds, with one confirmation or four.
func candidates(m *model.Model) (list []events.Options) {
	for _, threshold := range []float64{0.05, 0.2, 0.5, 0.8, 0.95, 0.99} {
		for _, confirm := range []int{1, 4} {
			o := events.DefaultsFor(m).WithThreshold(threshold)
			o.Confirm = confirm
			list = append(list, o)
		}
	}
	return list
}

func options(t testing.TB) calibration.Options {
	return calibration.Options{Candidates: candidates(toneModel(t)), Tolerance: 0.3}
}

func measure(t testing.TB, streams []calibration.Stream, opt calibration.Options) *calibration.Measurement {
	t.Helper()
	return must.Get(calibration.Measure(context.Background(), toneModel(t), streams, opt))(t)
}

// Loud tones are found at every threshold and silent ones at none. Whatever is found in background
// is a false alarm of its group.
func TestMeasure(t *testing.T) {
	words := isolated(map[string][]float64{"low": {1, 1, 0}, "high": {1, 0, 0, 0}})
	street, yard := isolated(map[string][]float64{"low": {1, 1}}), isolated(map[string][]float64{"high": {1}})
	m := measure(t, []calibration.Stream{stream("street", street), stream("", words), stream("yard", yard), stream("street", street)}, options(t))
	must.Equal(t, fmt.Sprint(m.Labels, m.Words), "[low high none] [3 4 0]", "words")
	seconds := func(s *tonemodel.Sound) float64 { return float64(len(s.Samples)) / rate }
	must.Equal(t, m.Seconds, seconds(words), "seconds of words")
	hours := (2*seconds(street) + seconds(yard)) / 3600
	for _, p := range m.Points {
		must.Equal(t, p.Score, calibration.Score{Words: 7, Events: 3, Correct: 3}, "%+v: score", p.Options)
		must.Equal(t, fmt.Sprint(p.MissedWords), "[1 3 0]", "%+v: missed", p.Options)
		want := []calibration.Background{{"street", 2 * (seconds(street) / 3600), 4, []int{4, 0, 0}}, {"yard", seconds(yard) / 3600, 1, []int{0, 1, 0}}}
		must.Equal(t, fmt.Sprint(p.Backgrounds), fmt.Sprint(want), "%+v: backgrounds", p.Options)
		all := p.All()
		must.Equal(t, fmt.Sprint(all.FalseAlarms, all.ByLabel), "5 [4 1 0]", "%+v: false alarms", p.Options)
		if math.Abs(all.Hours-hours) > 1e-12 {
			t.Errorf("%v hours, expected %v", all.Hours, hours)
		}
		if len(p.Latency) != 3 || p.Latency[0] < 0 || p.Latency[2] > 0.7 || !slices.IsSorted(p.Latency) {
			t.Errorf("%+v: latencies %v, expected three of less than 0.7 s", p.Options, p.Latency)
		}
	}
	p := m.Points[0]
	worst := p.Worst()
	must.Equal(t, worst.Name, "street", "worst background")
	got, _, _ := worst.FalseAlarmRate()
	if missed, _, _ := p.MissRate(); missed != 4./7 {
		t.Errorf("%v missed, expected %v", missed, 4./7)
	}
	if d := p.Detection(); d.FalseAlarmsPerHour != got || d.MissRate != 4./7 || d.Words != 7 || d.Threshold != 0.05 || d.Confirm != 1 || d.Smoothing != 0.2 {
		t.Errorf("detection %+v", d)
	}
}

// What is counted with each of the candidates is what a Recognizer with these options finds.
func TestMeasureIsRecognizer(t *testing.T) {
	words := tonemodel.Words()
	background := isolated(map[string][]float64{"low": {0.1, 0.15, 0.2, 0.3, 0.5, 1}, "high": {0.12, 0.17, 0.25, 0.4, 0.7}})
	background.Noise(0.001)
	for name, m := range map[string]*model.Model{"clips": must.Get(tonemodel.NewClips())(t), "frames": toneModel(t)} {
		opt := calibration.Options{Candidates: candidates(m), Tolerance: 0.3}
		got := must.Get(calibration.Measure(context.Background(), m, []calibration.Stream{stream("", words), stream("b", background)}, opt))(t)
		counts := map[int]bool{}
		for i, o := range opt.Candidates {
			r := must.Get(events.New(m, o))(t)
			want, _ := calibration.Compare(stream("", words).Words, must.Get(r.Recognize(words.Samples))(t), 0.3*rate)
			must.Equal(t, got.Points[i].Score, want, "%s, %+v: score", name, o)
			n := got.Points[i].Backgrounds[0].FalseAlarms
			must.Equal(t, n, len(must.Get(r.Recognize(background.Samples))(t)), "%s, %+v: false alarms", name, o)
			counts[n] = true
		}
		if len(counts) < 2 {
			t.Errorf("%s: false alarms %v at all thresholds: the background tests nothing", name, counts)
		}
	}
}

// The result does not depend on the number of workers.
func TestWorkers(t *testing.T) {
	var streams []calibration.Stream
	for i := range 9 {
		group := []string{"", "a", "b"}[i%3]
		streams = append(streams, stream(group, isolated(map[string][]float64{"low": {1, 0.02 * float64(i)}, "high": {0.03 * float64(i)}})))
	}
	want := ""
	for _, workers := range []int{1, 2, 5, 0} {
		opt := options(t)
		opt.Workers = workers
		var last calibration.Progress
		opt.Progress = func(p calibration.Progress) { last = p }
		got := fmt.Sprintf("%+v", measure(t, streams, opt))
		if want == "" {
			want = got
		}
		must.Equal(t, got, want, "%d workers", workers)
		if last.Streams != 9 || last.Of != 9 || math.Abs(last.Seconds-9*7) > 1e-6 {
			t.Errorf("%d workers: progress %+v at the end", workers, last)
		}
	}
}

// hour is an hour of a soft tone that is computed as it is read.
type hour struct{ at int }

func (h *hour) Read(dst []float32) (int, error) {
	n := min(len(dst), 3600*rate-h.at)
	for i := range n {
		dst[i] = float32(0.01 * math.Sin(float64(h.at+i)))
	}
	if h.at += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*hour) Close() error { return nil }

// An hour of background, 115 MB of samples, takes constant memory.
func TestMemory(t *testing.T) {
	s := calibration.Stream{Background: "b", Open: func() (calibration.Audio, error) { return &hour{}, nil }}
	words := stream("", isolated(map[string][]float64{"low": {1}}))
	var m *calibration.Measurement
	must.Allocates(t, 8<<20, func() { m = measure(t, []calibration.Stream{s, words}, options(t)) }, "an hour of background")
	if hours := m.Points[0].All().Hours; math.Abs(hours-1) > 1e-6 {
		t.Errorf("%v hours, expected 1", hours)
	}
}

func TestMeasureErrors(t *testing.T) {
	good := stream("", isolated(map[string][]float64{"low": {1}}))
	broken := func(text string) calibration.Stream {
		return calibration.Stream{Name: text, Background: "b", Open: func() (calibration.Audio, error) {
			return &memory{x: make([]float32, 3*rate), err: errors.New(text)}, nil
		}}
	}
	closed := calibration.Stream{Background: "b", Open: func() (calibration.Audio, error) { return nil, errors.New("missing file") }}
	for want, streams := range map[string][]calibration.Stream{
		"torn":         {good, broken("torn"), good},
		"missing file": {closed},
	} {
		for _, workers := range []int{1, 4} {
			opt := options(t)
			opt.Workers = workers
			must.Reject(calibration.Measure(context.Background(), toneModel(t), streams, opt))(t, want)
		}
	}
	for want, change := range map[string]func(o *calibration.Options){
		"no options":              func(o *calibration.Options) { o.Candidates = nil },
		"threshold 2: expected 0": func(o *calibration.Options) { o.Candidates = []events.Options{events.Defaults().WithThreshold(2)} },
	} {
		opt := options(t)
		change(&opt)
		must.Reject(calibration.Measure(context.Background(), toneModel(t), []calibration.Stream{good}, opt))(t, want)
	}
	silent := toneModel(t)
	silent.Weights.DecoderBias[1] = float32(math.NaN())
	must.Reject(calibration.Measure(context.Background(), silent, []calibration.Stream{good}, options(t)))(t, `label "high" is NaN`)
}

// Measure stops in the middle of a stream when its context is cancelled.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	opt := options(t)
	opt.Progress = func(p calibration.Progress) {
		if p.Seconds > 10 {
			cancel(errors.New("enough"))
		}
		if p.Seconds > 60 {
			t.Error("a minute after the context was cancelled, Measure reads on")
		}
	}
	s := calibration.Stream{Background: "b", Open: func() (calibration.Audio, error) { return &hour{}, nil }}
	must.Reject(calibration.Measure(ctx, toneModel(t), []calibration.Stream{s, s, s}, opt))(t, "enough")
}

// The first event that overlaps a word, or is within the tolerance of it, is correct if it has its
// label, however late it begins. Others count as events of another label or as events without a
// word. An event belongs to the word that it overlaps most.
func TestCompare(t *testing.T) {
	words := []calibration.Word{
		{Onset: 1000, End: 3000, Label: "a"}, {Onset: 5000, End: 8000, Label: "b"}, {Onset: 9000, End: 9900, Label: "b"}, {Onset: 20000, End: 21000, Label: "c"},
	}
	found := []events.Event{
		{Onset: 2900, End: 3500, Label: "a"},     // correct: late
		{Onset: 3200, End: 3600, Label: "a"},     // the same word again
		{Onset: 5500, End: 7000, Label: "a"},     // of another label
		{Onset: 7500, End: 9500, Label: "b"},     // both words overlap it equally: the first
		{Onset: 10800, End: 11000, Label: "b"},   // correct: just within the tolerance
		{Onset: 18000, End: 18900, Label: "c"},   // too early
		{Onset: 100000, End: 100500, Label: "c"}, // without a word
	}
	s, which := calibration.Compare(words, found, 1000)
	must.Equal(t, s, calibration.Score{Words: 4, Events: 7, Correct: 3, Mistaken: 1, False: 3}, "score")
	must.Equal(t, fmt.Sprint(which), "[0 3 4 -1]", "events of words")
	if s.Precision() != 3./7 || s.Recall() != 3./4 || s.F1() != 6./11 || s.Missed() != 1 {
		t.Errorf("precision %v, recall %v, F1 %v, missed %d", s.Precision(), s.Recall(), s.F1(), s.Missed())
	}
	s, which = calibration.Compare(words, found[4:5], 899)
	must.Equal(t, fmt.Sprint(s.False, which), "1 [-1 -1 -1 -1]", "an event beyond the tolerance")
}

// point returns a point of so many words missed of 100 and false alarms in ten hours.
func point(threshold float64, confirm, missed, falseAlarms int) calibration.Point {
	o := events.Defaults().WithThreshold(threshold)
	o.Confirm = confirm
	return calibration.Point{Options: o, Score: calibration.Score{Words: 100, Correct: 100 - missed}, Backgrounds: []calibration.Background{{FalseAlarms: falseAlarms, Hours: 10}}}
}

// A point that the sum of the backgrounds allows is forbidden by the worst of them.
func TestWorstBackground(t *testing.T) {
	low, high := point(0.3, 1, 5, 3), point(0.7, 1, 9, 4)
	low.Backgrounds = append(low.Backgrounds, calibration.Background{Name: "street", FalseAlarms: 2, Hours: math.Nextafter(0.5, 0)}) // up to rounding
	high.Backgrounds = append(high.Backgrounds, calibration.Background{Name: "street", Hours: 0.5})
	m := &calibration.Measurement{Points: []calibration.Point{low, high}}
	if all := low.All(); float64(all.FalseAlarms) > all.Hours {
		t.Fatalf("more than one false alarm per hour in all backgrounds: %+v", all)
	}
	for limit, want := range map[float64]float64{1: 0.7, 3.9: 0.7, 4: 0.3} {
		p, ok := m.Best(limit)
		must.Equal(t, fmt.Sprint(p.Options.Threshold, ok), fmt.Sprint(want, true), "threshold for %v false alarms per hour", limit)
	}
	_, ok := m.Best(0.3)
	must.Equal(t, ok, false, "a point at 0.3 per hour")
	p := m.Curve()[0]
	if worst := p.Worst(); p.Options.Threshold != 0.7 || worst.FalseAlarms != 4 || low.Worst().Name != "street" {
		t.Errorf("the first point of the curve is %+v", p)
	}
}

func TestBestAndCurve(t *testing.T) {
	m := &calibration.Measurement{Points: []calibration.Point{
		point(0.7, 1, 100, 1000), // the base
		point(0.5, 1, 2, 50), point(0.6, 1, 5, 12), point(0.7, 2, 5, 10), point(0.68, 1, 5, 10), point(0.8, 1, 9, 3), point(0.75, 1, 12, 3),
		point(0.9, 1, 9, 2), point(0.999, 1, 40, 0), point(0.99, 1, 40, 0), point(0.9999, 1, 60, 0),
	}}
	for limit, want := range map[float64]string{0: "0.99 1", 0.1: "0.99 1", 0.2: "0.9 1", 0.99: "0.9 1", 1: "0.68 1", 4.9: "0.68 1", 100: "0.5 1"} {
		p, ok := m.Best(limit)
		must.Equal(t, ok, true, "a point at %v false alarms per hour", limit)
		must.Equal(t, fmt.Sprint(p.Options.Threshold, p.Options.Confirm), want, "point at %v false alarms per hour", limit)
	}
	var got []string
	for _, p := range m.Curve() {
		got = append(got, fmt.Sprint(p.Worst().FalseAlarms, "/", p.Missed()))
	}
	must.Equal(t, strings.Join(got, " "), "0/40 2/9 10/5 50/2", "curve")
	if _, ok := (&calibration.Measurement{Points: m.Points[:4]}).Best(0.5); ok {
		t.Error("a point at half a false alarm per hour, but all have more")
	}
}

// Candidates are valid, all different, and their thresholds are short numbers.
func TestCandidates(t *testing.T) {
	base := events.Defaults()
	base.Refractory = 0.35
	list := calibration.Candidates(base)
	must.Equal(t, list[0], base, "first candidate")
	for i, o := range list {
		must.Do(t, o.Validate())
		if slices.Contains(list[:i], o) || len(fmt.Sprint(o.Threshold)) > 8 || o.Refractory != 0.35 || o.OffThreshold != o.Threshold/2 {
			t.Errorf("candidate %+v", o)
		}
	}
	if first, last := list[1].Threshold, list[len(list)-1].Threshold; first > 0.12 || last < 0.993 { // log-odds are at most 5
		t.Errorf("thresholds from %v to %v, expected 0.12 to 0.993", first, last)
	}
}
