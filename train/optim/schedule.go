package optim

import "math"

// The schedules of the learning rates (docs/maths.md §4.3), by their names in configuration files.
const (
	Constant     = "constant"
	CosineEpoch  = "cosine-epoch"  // ½(1 + cos(πe/E)) in epoch e of E
	CosineWarmup = "cosine-warmup" // s/W up to step W, then ½(1 + cos(π(s−W)/(T−W))) to step T
	MultiStep    = "multistep"     // ½ to the number of milestones (epochs) passed
	CosineS5     = "cosine-s5"     // as in S5's code (docs/maths.md §20.4)
)

// Schedules returns the names of the schedules.
func Schedules() []string { return []string{Constant, CosineEpoch, CosineWarmup, CosineS5, MultiStep} }

// Schedule computes the factor by which the learning rates are multiplied.
type Schedule struct {
	config                Config
	epochs, steps, warmup int
}

// NewSchedule returns the schedule of a run with the given numbers of epochs and steps.
func NewSchedule(c Config, epochs, steps int) Schedule {
	warmup := c.Warmup
	if warmup < 1 {
		warmup *= float64(steps)
	}
	return Schedule{c, epochs, steps, int(math.Round(warmup))}
}

// Factor returns the factor for the update after step complete steps and epoch complete epochs.
func (s Schedule) Factor(step, epoch int) float64 {
	switch s.config.Schedule {
	case CosineEpoch:
		return s.cosine(epoch, s.epochs)
	case CosineWarmup:
		if step < s.warmup {
			return float64(step) / float64(s.warmup)
		}
		return s.cosine(step-s.warmup, s.steps-s.warmup)
	case CosineS5:
		switch { // the code sets the rate after a step, for the next one
		case step == 0:
			return 1
		case step <= s.warmup:
			return float64(step) / float64(s.warmup)
		}
		return s.cosine(step-1, s.steps-s.warmup)
	case MultiStep:
		f := 1.0
		for _, m := range s.config.Milestones {
			if epoch >= m {
				f *= 0.5
			}
		}
		return f
	}
	return 1
}

// cosine decreases from 1 at i = 0 to 0 at i = n, and stays there.
func (s Schedule) cosine(i, n int) float64 {
	if i >= n {
		return 0
	}
	return 0.5 * (1 + math.Cos(math.Pi*float64(i)/float64(n)))
}
