package events

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The label that leads longest names a word, and none between two labels tells two words apart,
// unless the refractory time has not passed.
func TestDecision(t *testing.T) {
	type part struct {
		label  string
		p      float32
		frames int
	}
	for name, c := range map[string]struct {
		parts []part
		want  string
	}{
		"one word":                          {[]part{{"a", 0.9, 20}, {"none", 0.9, 9}}, "a 0.9"},
		"too short to be confirmed":         {[]part{{"a", 0.9, 2}, {"none", 0.9, 9}}, ""},
		"below the threshold":               {[]part{{"a", 0.65, 20}, {"none", 0.9, 9}}, ""},
		"unsure for a moment":               {[]part{{"a", 0.8, 10}, {"a", 0.4, 20}, {"a", 0.9, 10}, {"none", 0.9, 9}}, "a 0.9"},
		"the second label leads longer":     {[]part{{"a", 0.9, 20}, {"b", 0.75, 30}, {"none", 0.9, 9}}, "b 0.75"},
		"the first label leads longer":      {[]part{{"a", 0.75, 30}, {"b", 0.9, 20}, {"none", 0.9, 9}}, "a 0.75"},
		"two words":                         {[]part{{"a", 0.9, 20}, {"none", 0.9, 9}, {"b", 0.8, 20}, {"none", 0.9, 9}}, "a 0.9, b 0.8"},
		"the same word twice":               {[]part{{"a", 0.9, 20}, {"none", 0.9, 9}, {"a", 0.8, 20}}, "a 0.9, a 0.8"},
		"two words, none without certainty": {[]part{{"a", 0.9, 20}, {"none", 0.7, 9}, {"b", 0.8, 20}}, "a 0.9, b 0.8"},
		"one that breaks off":               {[]part{{"a", 0.9, 8}, {"none", 0.9, 4}, {"a", 0.8, 8}, {"none", 0.9, 9}}, "a 0.9"},
		"another label too soon":            {[]part{{"a", 0.9, 8}, {"none", 0.9, 4}, {"b", 0.8, 8}, {"none", 0.9, 9}}, "a 0.9"},
	} {
		labels := []string{"a", "b", None}
		opt := Options{Confirm: 3, Refractory: 0.25, Smoothing: 0.01}.WithThreshold(0.7)
		r := rules{labels: labels, sampleRate: 8000, frame: 80}.with(opt)
		d := newDecision(&r, newContour(&r))
		position := int64(0)
		evaluate := func(label string, p float32, frames int, level float64) {
			posterior := []float32{1 - p, 1 - p, 1 - p} // each label against none
			best := slices.Index(labels, label)
			if posterior[best] = p; label == None {
				best = 0
			}
			for range frames {
				position += 80
				d.contour.push(level)
				d.evaluate(posterior, best, position)
			}
		}
		evaluate(None, 0.9, 50, -60)
		for _, p := range c.parts {
			evaluate(p.label, p.p, p.frames, -20)
		}
		d.close(position)
		got := ""
		for i, e := range d.events {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%s %.2g", e.Label, e.Confidence)
		}
		must.Equal(t, got, c.want, "%s", name)
	}
}

// A label that leads for months is still confirmed, and the counter in a snapshot stays valid.
func TestLongRun(t *testing.T) {
	r := rules{labels: []string{"a", None}, sampleRate: 8000, frame: 80}.with(Options{Threshold: 0.5, Confirm: 3, Smoothing: 0.1})
	d := newDecision(&r, newContour(&r))
	d.segment.Leader, d.segment.Run = 0, math.MaxInt32
	for i := range int64(3) {
		d.evaluate([]float32{0.9, 0.1}, 0, 80*(i+1))
	}
	if d.segment.Run < 3 || !d.segment.Active {
		t.Errorf("segment %+v, expected an event", d.segment)
	}
}
