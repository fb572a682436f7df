package train

import (
	"maps"
	"slices"
	"strings"
)

// sweepPresets are the paper's ablations, as values of --set.
var sweepPresets = map[string][]string{
	// Figure 4 (docs/maths.md §5.1): Delay, one Δ or ξ for all SSMs, around 2/τ.
	"step": {
		"train.epochs=5", "ssm.init=lin,inv,legs,dfout",
		"ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.001,0.0015,0.002,0.0025,0.003,0.004,0.006,0.01",
	},
	// Figures 6 and 8: the largest Δ or ξ, from the preset's smallest on.
	"step-max": {"ssm.init=lin,inv,legs,dfout", "ssm.dt_max+ssm.xi_max=0.003,0.01,0.03,0.1,0.3"},
	// Figure 5: the network of its analysis, four layers of 128 (docs/maths.md §4.4), with ever
	// shorter kernels.
	"kernel-length": {
		"model.n_layers=4", "model.d_model=128", "ssm.init=lin", "ssm.l_max=1024,512,256,128,64,32,16,8,4",
	},
	// Figure 5: the same network with an SSM in the first layers alone.
	"ssm-layers": {"model.n_layers=4", "model.d_model=128", "ssm.init=lin", "ablate.layers=1,2,3,4"},
}

// SweepPresets returns the names of the sweeps that SweepPreset knows.
func SweepPresets() []string { return slices.Sorted(maps.Keys(sweepPresets)) }

// SweepPreset returns the axes of one of the paper's ablations, of which some have one value. Axes
// given beside it come last and replace those of the same keys; a part of an axis's keys is
// refused, and so is a key that is given twice. The name "" is no preset.
func SweepPreset(name string, given []Axis) ([]Axis, error) {
	sets, ok := sweepPresets[name]
	if !ok && name != "" {
		return nil, configErrorf("sweep: preset %q: want one of %s", name, strings.Join(SweepPresets(), ", "))
	}
	var axes []Axis
	for _, set := range sets {
		a, err := ParseAxis(set)
		if err != nil {
			return nil, err
		}
		replaced := false
		for _, b := range given {
			replaced = replaced || a.Name() == b.Name()
			shared := func(key string) bool { return slices.Contains(a.Keys, key) }
			if i := slices.IndexFunc(b.Keys, shared); i >= 0 && a.Name() != b.Name() {
				return nil, configErrorf("sweep: %s: preset %q sets it as %s: give other values as %[3]s=VALUE,…", b.Keys[i], name, a.Name())
			}
		}
		if !replaced {
			axes = append(axes, a)
		}
	}
	axes = append(axes, given...)
	return axes, checkAxes(axes)
}
