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

// offsetBy returns the Recognizer of the handmade model ("low", "high" and "none"), with offsets in
// its operating point.
func offsetBy(t testing.TB, opt events.Options, offsets ...float64) *events.Recognizer {
	t.Helper()
	m := toneModel(t)
	m.Meta.Detection = &model.Detection{Offsets: offsets}
	return must.Get(events.New(m, opt))(t)
}

func logOdds(p float64) float64 { return math.Log(p / (1 - p)) }

// A Stream with an offset finds a tone that it misses without, with the probability that the
// offset makes of the largest one. The other label keeps its event. A negative offset removes it.
func TestOffsets(t *testing.T) {
	opt := events.Options{Confirm: 2, Refractory: 0.25, Smoothing: 0.1}.WithThreshold(0.7)
	r := offsetBy(t, opt)
	s := tones(0.002, "low 0.4 0.6", "high 0.13 0")
	without := listen(t, stream(t, r), s.Samples, 800)
	matches(t, "without offsets", without, s.Tones[:1], 0.16)
	_, peaks, err := r.Classify(s.Samples)
	must.Do(t, err)
	if p := peaks[1]; p > 0.7 || p < 0.01 {
		t.Fatalf("the short tone has the probability %v: the signal tests nothing", p)
	}

	offset := logOdds(0.9) - logOdds(float64(peaks[1])) // so that 0.9 is the highest probability
	with := listen(t, stream(t, offsetBy(t, opt, 0, offset, 0)), s.Samples, 800)
	if len(with) != 2 || with[0] != without[0] || with[1].Label != "high" || math.Abs(with[1].Confidence-0.9) > 1e-6 {
		t.Errorf("with an offset of %.2f: events %+v, expected %+v and one of high at 0.9", offset, with, without)
	}
	must.Equal(t, len(listen(t, stream(t, offsetBy(t, opt, -6, 0, 0)), s.Samples, 800)), 0, "events with an offset of -6")
}

// Offsets are for detection. Classify compares labels, and ignores them.
func TestClassifyWithoutOffsets(t *testing.T) {
	opt := events.Options{Confirm: 2, Refractory: 0.25, Smoothing: 0.1}.WithThreshold(0.7)
	s := tones(0.005, "low 0.5 0.1", "high 0.05 0")
	label, peaks, err := offsetBy(t, opt).Classify(s.Samples)
	must.Do(t, err)
	same, again, err := offsetBy(t, opt, -9, 9, 0).Classify(s.Samples)
	must.Do(t, err)
	if same != label || label != 0 || !slices.Equal(again, peaks) {
		t.Errorf("label %d, peaks %v; with offsets %d, %v", label, peaks, same, again)
	}
}

// A Snapshot continues with the same offsets only.
func TestSnapshotOfOffsets(t *testing.T) {
	opt := events.Options{Confirm: 2, Refractory: 0.25, Smoothing: 0.1}.WithThreshold(0.7)
	r, s := offsetBy(t, opt, -1, 2.5, 0), tonemodel.Words()
	want := fmt.Sprint(listen(t, stream(t, r), s.Samples, len(s.Samples)))
	d, next := stream(t, r), stream(t, r)
	got := slices.Clone(must.Get(d.Process(s.Samples[:20000]))(t))
	must.Do(t, next.Restore(d.Snapshot()))
	got = append(got, listen(t, next, s.Samples[20000:], 800)...)
	must.Equal(t, fmt.Sprint(got), want, "events restored in the middle")
	must.Fail(t, stream(t, offsetBy(t, opt)).Restore(d.Snapshot()), "events: snapshot: taken with offsets [-1 2.5 0], this stream has []")
	must.Fail(t, stream(t, offsetBy(t, opt, -1, 2, 0)).Restore(d.Snapshot()), "this stream has [-1 2 0]")
	must.Fail(t, stream(t, r).Restore(stream(t, offsetBy(t, opt)).Snapshot()), "taken with offsets []")
}
