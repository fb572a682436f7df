package optim

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/model"
)

// Config configures AdamW with the groups of docs/maths.md §4.2 and a schedule of §4.3. It is the
// table [optim] of configuration files.
type Config struct {
	model.GroupConfig
	Schedule   string     `toml:"schedule"`
	Warmup     float64    `toml:"warmup"`     // below 1: a fraction of all steps; otherwise steps
	Milestones []int      `toml:"milestones"` // epochs of multistep
	Betas      [2]float64 `toml:"betas"`
	Freeze     []string   `toml:"freeze"` // groups of tensors that keep their values: model.Config.Groups
}

// Default returns the default configuration (docs/configuration.md).
func Default() Config {
	return Config{
		GroupConfig: model.GroupConfig{
			Recipe: model.RecipeDefault, LR: 0.01, WeightDecay: 0.05,
			SSMLR: model.FollowRule, StepLR: model.FollowRule,
		},
		Schedule: CosineWarmup, Warmup: 0.1, Betas: [2]float64{0.9, 0.999},
		Milestones: []int{}, Freeze: []string{},
	}
}

// Frozen reports whether a tensor is in a group of Freeze.
func (c Config) Frozen(t model.Tensor) bool { return slices.ContainsFunc(c.Freeze, t.In) }

// maxWarmup bounds Warmup: more steps are a typing error.
const maxWarmup = 1 << 53

// Validate returns an error for the first invalid value, with its key in configuration files.
func (c Config) Validate() error {
	switch {
	case !(c.Betas[0] >= 0 && c.Betas[0] < 1):
		return fmt.Errorf("optim.betas[0] %v: expected 0 ≤ beta < 1", c.Betas[0])
	case !(c.Betas[1] >= 0 && c.Betas[1] < 1):
		return fmt.Errorf("optim.betas[1] %v: expected 0 ≤ beta < 1", c.Betas[1])
	case !slices.Contains(Schedules(), c.Schedule):
		return fmt.Errorf("optim.schedule %.80q: expected one of %q", c.Schedule, Schedules())
	case !(c.Warmup >= 0 && c.Warmup <= maxWarmup):
		return fmt.Errorf("optim.warmup %v: expected a fraction of the steps below 1, or a number of steps", c.Warmup)
	case c.Schedule == MultiStep && len(c.Milestones) == 0:
		return fmt.Errorf("optim.milestones: schedule %q requires at least one epoch", MultiStep)
	}
	return c.GroupConfig.Validate()
}
