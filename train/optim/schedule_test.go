package optim

import (
	"math"
	"testing"
)

// Expected values are computed by hand from the formulas of docs/maths.md §4.3.
func TestSchedule(t *testing.T) {
	half := math.Sqrt2 / 2
	for _, c := range []struct {
		name        string
		cfg         Config
		step, epoch int
		want        float64
	}{
		{"constant", Config{Schedule: Constant}, 17, 3, 1},
		{"cosine-epoch start", Config{Schedule: CosineEpoch}, 9, 0, 1},
		{"cosine-epoch quarter", Config{Schedule: CosineEpoch}, 250, 2, (1 + half) / 2},
		{"cosine-epoch middle", Config{Schedule: CosineEpoch}, 400, 4, 0.5},
		{"warm-up: the first update has rate 0", Config{Schedule: CosineWarmup, Warmup: 0.1}, 0, 0, 0},
		{"warm-up as a fraction", Config{Schedule: CosineWarmup, Warmup: 0.1}, 40, 0, 0.5},
		{"warm-up in steps", Config{Schedule: CosineWarmup, Warmup: 80}, 40, 0, 0.5},
		{"one step of warm-up", Config{Schedule: CosineWarmup, Warmup: 1}, 1, 0, 1},
		{"no warm-up", Config{Schedule: CosineWarmup}, 0, 0, 1},
		{"top of the cosine", Config{Schedule: CosineWarmup, Warmup: 0.1}, 80, 0, 1},
		{"middle of the cosine", Config{Schedule: CosineWarmup, Warmup: 0.1}, 440, 4, 0.5},
		{"end of the cosine", Config{Schedule: CosineWarmup, Warmup: 0.1}, 800, 8, 0},
		{"past the end", Config{Schedule: CosineWarmup, Warmup: 0.1}, 900, 9, 0},
		{"S5: the first step at the full rate", Config{Schedule: CosineS5, Warmup: 100}, 0, 0, 1},
		{"S5: the second step", Config{Schedule: CosineS5, Warmup: 100}, 1, 0, 0.01},
		{"S5: the last step of the warm-up", Config{Schedule: CosineS5, Warmup: 100}, 99, 0, 0.99},
		{"S5: the full rate once more", Config{Schedule: CosineS5, Warmup: 100}, 100, 1, 1},
		{"S5: then a cosine that began at step 0", Config{Schedule: CosineS5, Warmup: 100}, 351, 3, 0.5},
		{"S5: its end, a warm-up before that of the run", Config{Schedule: CosineS5, Warmup: 100}, 701, 7, 0},
		{"S5: it stays there", Config{Schedule: CosineS5, Warmup: 100}, 799, 7, 0},
		{"before a milestone", Config{Schedule: MultiStep, Milestones: []int{2, 5}}, 0, 1, 1},
		{"at a milestone", Config{Schedule: MultiStep, Milestones: []int{2, 5}}, 0, 2, 0.5},
		{"after two", Config{Schedule: MultiStep, Milestones: []int{2, 5}}, 0, 7, 0.25},
	} {
		if got := NewSchedule(c.cfg, 8, 800).Factor(c.step, c.epoch); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}
