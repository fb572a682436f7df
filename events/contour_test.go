package events

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// levelsOf returns a contour of frames of 80 samples at 100 frames per second: alternately quiet
// and loud frames, in the given numbers, around two levels in decibels.
func levelsOf(quiet, loud float64, frames ...int) *contour {
	r := rules{labels: make([]string, 1), sampleRate: 8000, frame: 80}.with(Options{Smoothing: 0.1})
	c, noise := newContour(&r), random.New(3, random.Noise, 0, 0)
	for i, n := range frames {
		for k := range n {
			level := quiet
			if i%2 == 1 {
				level = loud + 8*math.Sin(float64(k)) // syllables
			}
			c.push(level + 0.7*noise.Normal(uint64(1000*i+k)))
		}
	}
	return c
}

func TestContour(t *testing.T) {
	for name, v := range map[string]struct {
		quiet, loud        float64
		frames             []int
		lead, least, onset int // in frames
	}{
		"after a pause":                       {-60, -20, []int{80, 50, 10}, 120, 0, 80},
		"in noise":                            {-36, -20, []int{80, 50, 10}, 118, 0, 80},
		"soft":                                {-64, -52, []int{80, 50, 10}, 118, 0, 80},
		"behind a closure":                    {-60, -20, []int{80, 25, 6, 20, 10}, 118, 0, 80},
		"its label leads behind its end":      {-60, -20, []int{80, 20, 20}, 106, 0, 80},
		"50 ms behind another":                {-60, -20, []int{30, 40, 5, 40, 10}, 103, 58, 75},
		"80 ms behind another that has ended": {-60, -20, []int{30, 40, 8, 40, 10}, 103, 72, 78},
		"without a pause, at the typical":     {-60, -20, []int{30, 100}, 110, 58, 75},
		"the same, too close to another":      {-60, -20, []int{30, 100}, 110, 90, 90},
		"at the start of the signal":          {-60, -20, []int{0, 50, 10}, 35, 0, 0},
		"4 frames behind the start":           {-60, -20, []int{4, 50, 10}, 35, 0, 4},
		"long ago":                            {-60, -20, []int{400, 80, 10}, 450, 200, 400},
		"longer than a word, after the reach": {-60, -20, []int{20, 200}, 200, 0, 165},
		"silence":                             {-65, -65, []int{100}, 90, 0, 54},
	} {
		c := levelsOf(v.quiet, v.loud, v.frames...)
		n := 0
		for _, k := range v.frames {
			n += k
		}
		got := c.onset(int64(80*v.lead), int64(80*v.least), int64(80*n))
		if got < int64(80*v.least) || math.Abs(float64(got)/80-float64(v.onset)) > 1 {
			t.Errorf("%s: onset %g, expected %d", name, float64(got)/80, v.onset)
		}
	}
	c := levelsOf(-60, -20, 10)
	must.Equal(t, c.onset(80, 800, 800), 800, "onset where another word ends behind the label")
}
