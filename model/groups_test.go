package model

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// classOf sorts tensors into the rows of docs/maths.md §4.2's table by their names.
var classOf = map[string]string{
	"log_dt": "step", "log_xi": "step", "log_A_real": "pole", "A_imag": "pole", "log_rho": "pole", "theta": "pole", "B": "pole",
	"C": "weight", "D": "weight", "encoder.weight": "weight", "decoder.weight": "weight", "mix.weight": "weight",
	"mix.bias": "backbone bias", "encoder.bias": "edge bias", "decoder.bias": "edge bias",
	"norm.weight": "norm", "norm.bias": "norm", "norm.running_mean": "buffer", "norm.running_var": "buffer",
}

func className(tensor string) string {
	return classOf[strings.TrimPrefix(strings.TrimPrefix(tensor, "layers.0."), "layers.1.")]
}

type rates struct{ lr, wd float64 }

// The columns of the table, and docs/configuration.md.
func TestHyper(t *testing.T) {
	const lr, wd = 0.01, 0.05
	all, slow, plain := rates{lr, wd}, rates{0.001, 0}, rates{lr, 0}
	for recipe, want := range map[Recipe]map[string]rates{
		RecipeDefault: {"step": slow, "pole": slow, "backbone bias": plain, "norm": plain, "edge bias": plain},
		RecipeMinimal: {"step": slow, "pole": slow, "backbone bias": all, "norm": all, "edge bias": all},
		RecipeV3:      {"step": plain, "pole": slow, "backbone bias": all, "norm": all, "edge bias": all},
		RecipeV4:      {"step": slow, "pole": slow, "backbone bias": plain, "norm": plain, "edge bias": all},
	} {
		want["weight"], want["buffer"] = all, rates{}
		g := GroupConfig{Recipe: recipe, LR: lr, WeightDecay: wd, SSMLR: FollowRule, StepLR: FollowRule}
		if err := g.Validate(); err != nil {
			t.Errorf("%s: %v", recipe, err)
		}
		for _, variant := range []string{"batch norm", "tied and bidirectional", "embedding"} {
			for _, x := range NewWeights(variants()[variant]).Tensors() {
				class := className(x.Name)
				if class == "" {
					t.Fatalf("%s is in no class", x.Name)
				}
				if gotLR, gotWD := g.Hyper(x); (rates{gotLR, gotWD}) != want[class] {
					t.Errorf("%s, %s: lr %v, wd %v; expected %v", recipe, x.Name, gotLR, gotWD, want[class])
				}
			}
		}
	}
}

// Learning rates under changes of the configuration, by kind.
func TestRates(t *testing.T) {
	follow := func(r Recipe, lr float64) GroupConfig {
		return GroupConfig{Recipe: r, LR: lr, WeightDecay: 0.1, SSMLR: FollowRule, StepLR: FollowRule}
	}
	tests := []struct {
		name                 string
		base                 GroupConfig
		change               func(g *GroupConfig)
		step, decay, freq, b float64
	}{
		{"default, low rate", follow(RecipeDefault, 1e-4), nil, 1e-4, 1e-4, 1e-4, 1e-4},
		{"v4, low rate", follow(RecipeV4, 1e-4), nil, 1e-3, 1e-3, 1e-3, 1e-3},
		{"v3, low rate", follow(RecipeV3, 1e-4), nil, 1e-4, 1e-3, 1e-3, 1e-3},
		{"v3, PathX", follow(RecipeV3, 0.004), func(g *GroupConfig) { g.SSMLR = 5e-4 }, 0.004, 5e-4, 5e-4, 5e-4},
		{"v4, step at the global rate", follow(RecipeV4, 0.01), func(g *GroupConfig) { g.StepLR = 0.01 }, 0.01, 1e-3, 1e-3, 1e-3},
		{"frozen SSM", follow(RecipeDefault, 0.01), func(g *GroupConfig) { g.SSMLR = 0 }, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		g := tt.base
		if tt.change != nil {
			tt.change(&g)
		}
		if err := g.Validate(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for kind, want := range map[Kind]float64{KindStep: tt.step, KindDecay: tt.decay, KindFreq: tt.freq, KindB: tt.b, KindC: g.LR, KindD: g.LR, KindWeight: g.LR} {
			if lr, _ := g.Hyper(Tensor{Kind: kind, Part: PartBackbone}); lr != want {
				t.Errorf("%s, kind %d: lr %v, expected %v", tt.name, kind, lr, want)
			}
		}
	}
}

// The exceptions of S5's code to its standard groups, in which the SSM has its own rate and no
// decay, and all other tensors have decay (docs/maths.md §20.4).
func TestRecipesOfS5(t *testing.T) {
	const lr, ssmLR, wd = 0.01, 0.002, 0.05
	slow, all, decayed := rates{ssmLR, 0}, rates{lr, wd}, rates{ssmLR, wd}
	for _, tt := range []struct {
		recipe           Recipe
		step, b, c, pole rates
	}{
		{RecipeMinimal, slow, slow, all, slow},
		{RecipeStepsGlobal, all, slow, all, slow},
		{RecipeBDecays, slow, decayed, all, slow},
		{RecipeBFast, slow, all, all, slow},
		{RecipeNoDecay, slow, slow, slow, slow},
	} {
		g := GroupConfig{Recipe: tt.recipe, LR: lr, SSMLR: ssmLR, StepLR: FollowRule, WeightDecay: wd}
		must.Do(t, g.Validate())
		for kind, want := range map[Kind]rates{
			KindStep: tt.step, KindB: tt.b, KindC: tt.c, KindD: tt.c, KindDecay: tt.pole, KindFreq: tt.pole, KindP: tt.pole,
			KindWeight: all, KindBias: all, KindNorm: all, KindEmbedding: all,
		} {
			if gotLR, gotWD := g.Hyper(Tensor{Kind: kind}); (rates{gotLR, gotWD}) != want {
				t.Errorf("%q, kind %d: lr %v, wd %v, expected %v", tt.recipe, kind, gotLR, gotWD, want)
			}
		}
	}
}

// The exceptions for B do not apply to P of S4.
func TestRecipeOfS4(t *testing.T) {
	c := Default()
	c.SSM.Layer, c.SSM.Init, c.SSM.Disc, c.SSM.AReal = ssm.LayerS4, ssm.LegS, ssm.Bilinear, 0
	m := must.Get(New(c, 1))(t)
	g := GroupConfig{Recipe: RecipeBDecays, LR: 0.01, SSMLR: 0.002, StepLR: FollowRule, WeightDecay: 0.05}
	want := map[string]rates{"layers.0.B": {0.002, 0.05}, "layers.0.P": {0.002, 0}, "layers.0.C": {0.01, 0.05}}
	for _, x := range m.Weights.Tensors() {
		if w, ok := want[x.Name]; ok {
			lr, wd := g.Hyper(x)
			must.Equal(t, rates{lr, wd}, w, "rates of %s", x.Name)
			must.Equal(t, x.In("ssm"), true, "%s is in group ssm", x.Name)
			delete(want, x.Name)
		}
	}
	must.Equal(t, len(want), 0, "missing tensors")
}

func TestGroupConfigRejects(t *testing.T) {
	good := GroupConfig{Recipe: RecipeDefault, LR: 0.01, SSMLR: FollowRule, StepLR: FollowRule}
	for want, change := range map[string]func(g *GroupConfig){
		`model: recipe "adam": expected one of ["default" "minimal" "v3" "v4" "BandCdecay" "BfastandCdecay" "noBCdecay" "dt-global"]`: func(g *GroupConfig) { g.Recipe = "adam" },
		`model: step_lr 0.1: expected -1 with the recipe "dt-global", in which log Δ has the global learning rate`:                    func(g *GroupConfig) { g.Recipe, g.StepLR = RecipeStepsGlobal, 0.1 },
		"model: lr +Inf: expected a finite number ≥ 0":                                                                                func(g *GroupConfig) { g.LR = math.Inf(1) },
		"model: step_lr NaN: expected a finite number ≥ 0, or -1 for the recipe's own":                                                func(g *GroupConfig) { g.StepLR = math.NaN() },
	} {
		g := good
		change(&g)
		if err := g.Validate(); err == nil || err.Error() != want {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}
