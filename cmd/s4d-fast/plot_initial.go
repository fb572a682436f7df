package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
)

// What a picture shows at most.
const (
	maxModes = 4096
	maxPoles = 1 << 17
)

// initialLayer is a layer before training whose SSMs all have one step, Δ or ξ, and one decay, unless its options say
// otherwise.
type initialLayer struct {
	init            ssm.Init
	channels, modes int
	step, decay     float64
	set             []string // KEY=VALUE as in train, of the keys that initialOptions allows
}

// initialOptions are the keys of train that move poles. Init, step and sizes have flags of their own.
var initialOptions = []string{"seed", "ssm.disc", "ssm.grid", "ssm.param", "ssm.xi_per", "ssm.n_ssm",
	"ssm.dt_min", "ssm.dt_max", "ssm.xi_min", "ssm.xi_max"}

// allowOptions refuses assignments to other keys than initialOptions and those of the picture.
func allowOptions(set []string, own ...string) error {
	allowed := append(slices.Clone(own), initialOptions...)
	for _, s := range set {
		if key, _, _ := strings.Cut(s, "="); !slices.Contains(allowed, strings.TrimSpace(key)) {
			return usageError(fmt.Errorf("--set %s: the picture does not depend on it, or has a flag for it; want one of %s", s, strings.Join(allowed, ", ")))
		}
	}
	return nil
}

// draw returns the layer's configuration and its SSMs. Configurations that train refuses are refused.
func (l initialLayer) draw() (ssm.Config, *ssm.Discrete, error) {
	if l.modes > maxModes || l.channels > maxPoles/max(l.modes, 1) {
		return ssm.Config{}, nil, usageError(fmt.Errorf("%d modes of %d SSMs: want at most %d modes, and %d in all", l.modes, l.channels, maxModes, maxPoles))
	}
	cfg, err := train.Preset(defaultTask)
	if err != nil {
		return ssm.Config{}, nil, err
	}
	s := train.Default().SSM
	s.Init, s.DState, s.AReal, s.Bidirectional = l.init, 2*l.modes, l.decay, false
	s.DtMin, s.DtMax, s.XiMin, s.XiMax = l.step, l.step, l.step, l.step
	cfg.SSM, cfg.Model.DModel = s, l.channels
	for _, set := range l.set {
		if err := cfg.Set(set); err != nil {
			return s, nil, trainError(err)
		}
		if s.Init == ssm.Real && strings.HasPrefix(strings.TrimSpace(set), "ssm.a_real") {
			return s, nil, usageError(fmt.Errorf("--set %s: init %q has real parts of its own", set, ssm.Real))
		}
	}
	if err := cfg.Validate(); err != nil {
		return s, nil, trainError(err)
	}
	s, s.DModel = cfg.SSM, l.channels
	p, err := ssm.New(s, cfg.Seed, 0)
	if err != nil {
		return s, nil, usageError(err)
	}
	return s, p.Discretize(s.Disc, 1), nil
}

// stepName is what an initialisation calls its step.
func stepName(init ssm.Init) string {
	if (ssm.Config{Init: init}).Angles() {
		return "ξ"
	}
	return "Δ"
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
