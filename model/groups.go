package model

import (
	"fmt"
	"math"
	"slices"
)

// Recipe selects the rules that give each tensor its learning rate and weight decay (docs/maths.md
// §4.2).
type Recipe string

// The recipes. In all of them the poles, B and P of the SSMs learn at the SSM's rate without decay,
// and C, D, matrices and embeddings at the global rate with decay. They differ in steps, biases and
// norms.
const (
	RecipeDefault Recipe = "default" // no decay on biases and norms (docs/configuration.md)
	RecipeMinimal Recipe = "minimal" // decay on biases and norms, as the trainer of the minimal S4D
	// As minimal, but the step size learns at the global rate, and the SSM's rate is 0.001 even if
	// the global one is lower.
	RecipeV3 Recipe = "v3"
	// No decay on the backbone's biases and norms. The SSM's rate is as in v3.
	RecipeV4 Recipe = "v4"

	// As minimal with an exception, which has the name in S5's code (docs/maths.md §20.4).
	RecipeBDecays     Recipe = "BandCdecay"     // B has weight decay
	RecipeBFast       Recipe = "BfastandCdecay" // B has the global rate and weight decay
	RecipeNoDecay     Recipe = "noBCdecay"      // C and D have the SSM's rate, without weight decay
	RecipeStepsGlobal Recipe = "dt-global"      // log Δ or log ξ has the global rate and weight decay
)

// Recipes returns all recipes.
func Recipes() []Recipe {
	return []Recipe{RecipeDefault, RecipeMinimal, RecipeV3, RecipeV4, RecipeBDecays, RecipeBFast, RecipeNoDecay, RecipeStepsGlobal}
}

// FollowRule as a learning rate selects the recipe's own.
const FollowRule = -1

// GroupConfig gives every tensor its optimiser group.
type GroupConfig struct {
	Recipe      Recipe  `toml:"recipe"`
	LR          float64 `toml:"lr"`           // global learning rate
	SSMLR       float64 `toml:"ssm_lr"`       // step size, poles, B and P; -1: the recipe's, 0: frozen
	StepLR      float64 `toml:"step_lr"`      // log Δ or log ξ; -1: v3 lr, else ssm_lr; 0: frozen
	WeightDecay float64 `toml:"weight_decay"` // of the tensors that have decay
}

// Validate returns an error for the first invalid value.
func (g GroupConfig) Validate() error {
	switch {
	case !slices.Contains(Recipes(), g.Recipe):
		return fmt.Errorf("model: recipe %.80q: expected one of %q", g.Recipe, Recipes())
	case g.Recipe == RecipeStepsGlobal && g.StepLR != FollowRule:
		return fmt.Errorf("model: step_lr %v: expected %d with the recipe %q, in which log Δ has the global learning rate", g.StepLR, FollowRule, g.Recipe)
	}
	for _, r := range []struct {
		name    string
		value   float64
		follows bool
	}{{"lr", g.LR, false}, {"weight_decay", g.WeightDecay, false}, {"ssm_lr", g.SSMLR, true}, {"step_lr", g.StepLR, true}} {
		switch ok := r.value >= 0 && r.value <= math.MaxFloat64; {
		case !ok && !r.follows:
			return fmt.Errorf("model: %s %v: expected a finite number ≥ 0", r.name, r.value)
		case !ok && r.value != FollowRule:
			return fmt.Errorf("model: %s %v: expected a finite number ≥ 0, or %d for the recipe's own", r.name, r.value, FollowRule)
		}
	}
	return nil
}

// Hyper returns a tensor's learning rate (before the schedule) and weight decay.
func (g GroupConfig) Hyper(t Tensor) (lr, weightDecay float64) {
	switch t.Kind {
	case KindBuffer:
		return 0, 0
	case KindStep:
		if g.Recipe != RecipeStepsGlobal {
			return g.stepLR(), 0
		}
	case KindB:
		switch g.Recipe {
		case RecipeBFast:
			return g.LR, g.WeightDecay
		case RecipeBDecays:
			return g.ssmLR(), g.WeightDecay
		}
		return g.ssmLR(), 0
	case KindC, KindD:
		if g.Recipe == RecipeNoDecay {
			return g.ssmLR(), 0
		}
	case KindDecay, KindFreq, KindP:
		return g.ssmLR(), 0
	case KindBias, KindNorm:
		if g.Recipe == RecipeDefault || g.Recipe == RecipeV4 && t.Part == PartBackbone {
			return g.LR, 0
		}
	}
	return g.LR, g.WeightDecay
}

func (g GroupConfig) ssmLR() float64 {
	switch {
	case g.SSMLR != FollowRule:
		return g.SSMLR
	case g.Recipe == RecipeV4 || g.Recipe == RecipeV3:
		return 0.001
	}
	return min(0.001, g.LR)
}

func (g GroupConfig) stepLR() float64 {
	switch {
	case g.StepLR != FollowRule:
		return g.StepLR
	case g.Recipe == RecipeV3:
		return g.LR
	}
	return g.ssmLR()
}
