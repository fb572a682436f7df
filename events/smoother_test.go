package events

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Offsets move the log-odds of labels. They do not change which label is best, and that of none is
// not used.
func TestSmootherOffsets(t *testing.T) {
	r := rules{labels: []string{"a", None, "b"}, sampleRate: 8000, frame: 80, offsets: []float64{0, 7, 3}}.with(Options{Smoothing: 0.02}) // two frames
	s := newSmoother(&r)
	for range 2 {
		s.push(-20, []float32{2.5, 0.5, 1.5}) // log-odds of 2 and 1
	}
	must.Equal(t, s.best, 0, "best label")
	for i, odds := range []float64{2, -2, 4} {
		if want := 1 / (1 + math.Exp(-odds)); math.Abs(float64(s.posterior[i])-want) > 1e-6 {
			t.Errorf("posterior of %q: %v, expected %v", r.labels[i], s.posterior[i], want)
		}
	}
}
