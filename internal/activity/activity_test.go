package activity_test

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/activity"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The word in a clip is found whatever the noise around it, with the pauses inside it.
func TestWord(t *testing.T) {
	quiet := random.New(1, random.Noise, 0, 0)
	clip := func(noise float64, bursts ...[2]int) []float32 {
		x := make([]float32, 8000)
		for _, b := range bursts {
			for i := b[0]; i < b[1]; i++ {
				x[i] += float32(0.3 * math.Sin(float64(i)))
			}
		}
		for i := range x {
			x[i] += float32(noise * quiet.Normal(uint64(i)))
		}
		return x
	}
	for name, c := range map[string]struct {
		x          []float32
		onset, end int
	}{
		"in silence":             {clip(0, [2]int{2000, 4000}), 2000, 4000},
		"in noise":               {clip(0.02, [2]int{2000, 4000}), 2000, 4000},
		"in loud noise":          {clip(0.06, [2]int{2000, 4000}), 2000, 4000},
		"with a closure":         {clip(0.003, [2]int{2000, 4000}, [2]int{5000, 5400}), 2000, 5400},
		"beside a click":         {clip(0.003, [2]int{2000, 4000}, [2]int{7000, 7080}), 2000, 4000},
		"all of the clip":        {clip(0, [2]int{0, 8000}), 0, 8000},
		"at the end of the clip": {clip(0.003, [2]int{6000, 8000}), 6000, 8000},
		"silence":                {make([]float32, 123), 0, 123},
		"one sample":             {[]float32{0.5}, 0, 1},
		"noise":                  {clip(0.02), 0, 8000},
	} {
		r := activity.Word(c.x, 8000)
		// The rule keeps 20 ms and averages neighbouring blocks of 10 ms.
		if r.Onset < c.onset-320 || r.Onset > c.onset || r.End < c.end || r.End > c.end+320 {
			t.Errorf("a word %s: found %d … %d, expected %d … %d", name, r.Onset, r.End, c.onset, c.end)
		}
		must.Equal(t, r.Level, rms(c.x[r.Onset:r.End]), "a word %s: level", name)
	}
	r := activity.Speech(clip(0, [2]int{1000, 2000}, [2]int{5000, 7000}), 8000)
	if r.Onset > 1000 || r.Onset < 680 || r.End < 7000 || r.End > 7320 || math.Abs(r.Level-0.2) > 0.02 {
		t.Errorf("speech: %+v", r)
	}
}

func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}
