package train

import (
	"maps"
	"slices"
	"strings"
)

// sweepPresets are the ablations of the spectral-bias paper (arXiv 2508.20441), as arguments of
// --set.
var sweepPresets = map[string][]string{
	// Figure 4 (docs/maths.md §5.1): Delay, the same Δ or ξ for all SSMs, around 2/τ.
	"step": {"ssm.init=lin,inv,legs,dfout", "ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.001,0.002,0.003,0.004,0.01"},
	// Figures 6 and 8: the largest Δ or ξ, from the smallest one of the preset upwards.
	"step-max": {"ssm.init=lin,inv,legs,dfout", "ssm.dt_max+ssm.xi_max=0.003,0.01,0.03,0.1,0.3"},
	// Figure 5: the analysed network of four layers, H = 128 (docs/maths.md §4.4), with shorter and
	// shorter kernels.
	"kernel-length": {
		"model.n_layers=4", "model.d_model=128", "ssm.init=lin", "ssm.l_max=1024,512,256,128,64,32,16,8,4",
	},
	// Figure 5: the same network with SSMs in the first layers only.
	"ssm-layers": {"model.n_layers=4", "model.d_model=128", "ssm.init=lin", "ablate.layers=1,2,3,4"},
}

// SweepPresets returns the names of the sweeps that SweepPreset knows.
func SweepPresets() []string { return slices.Sorted(maps.Keys(sweepPresets)) }

// SweepPreset returns the axes of a preset. Some have one value. The given axes come last and
// replace the preset's axes of the same keys. A given axis with only some of these keys is an
// error, and so is a key that occurs twice. The name "" selects no preset.
func SweepPreset(name string, given []Axis) ([]Axis, error) {
	sets, ok := sweepPresets[name]
	if !ok && name != "" {
		return nil, configErrorf("sweep: preset %q: expected one of %s", name, strings.Join(SweepPresets(), ", "))
	}
	var axes []Axis
	for _, set := range sets {
		a, err := ParseAxis(set)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(given, func(b Axis) bool { return a.Name() == b.Name() }) {
			axes = append(axes, a)
		}
	}
	axes = append(axes, given...)
	return axes, checkAxes(axes)
}
