package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
)

// Limits of a plot of initialisations.
const (
	maxModes = 4096
	maxPoles = 1 << 17
)

// initialLayer is a layer before training. All of its SSMs have the same step, Δ or ξ, and the same
// decay, unless its options change them.
type initialLayer struct {
	init            ssm.Init
	channels, modes int
	step, decay     float64
	set             []string // KEY=VALUE as in train, of the keys that initialOptions allows
}

// initialOptions are the configuration keys that move poles. Init, step and sizes are flags
// instead.
var initialOptions = []string{"seed", "ssm.disc", "ssm.grid", "ssm.param", "ssm.xi_per", "ssm.zero_pole", "ssm.n_ssm",
	"ssm.dt_min", "ssm.dt_max", "ssm.xi_min", "ssm.xi_max"}

// allowOptions rejects assignments to keys other than initialOptions and the plot's own.
func allowOptions(set []string, own ...string) error {
	allowed := append(slices.Clone(own), initialOptions...)
	for _, s := range set {
		if key, _, _ := strings.Cut(s, "="); !slices.Contains(allowed, strings.TrimSpace(key)) {
			return usageError(fmt.Errorf("--set %s: the plot does not depend on this key, or has a flag for it; expected one of %s", s, strings.Join(allowed, ", ")))
		}
	}
	return nil
}

// draw returns the layer's configuration and its SSMs. It rejects the configurations that train
// rejects.
func (l initialLayer) draw() (ssm.Config, *ssm.Discrete, error) {
	if l.modes > maxModes || l.channels > maxPoles/max(l.modes, 1) {
		return ssm.Config{}, nil, usageError(fmt.Errorf("%d modes in each of %d SSMs: expected at most %d modes, and %d in all", l.modes, l.channels, maxModes, maxPoles))
	}
	cfg := train.Default()
	s := train.Default().SSM
	s.Init, s.DState, s.AReal, s.Bidirectional = l.init, 2*l.modes, l.decay, false
	s.DtMin, s.DtMax, s.XiMin, s.XiMax = l.step, l.step, l.step, l.step
	cfg.SSM, cfg.Model.DModel = s, l.channels
	for _, set := range l.set {
		if err := cfg.Set(set); err != nil {
			return s, nil, trainError(err)
		}
		if s.Init == ssm.Real && strings.HasPrefix(strings.TrimSpace(set), "ssm.a_real") {
			return s, nil, usageError(fmt.Errorf("--set %s: the real parts of init %q are fixed", set, ssm.Real))
		}
	}
	if err := cfg.Validate(); err != nil {
		return s, nil, trainError(err)
	}
	s, s.DModel = cfg.SSM, l.channels
	if err := s.CheckDiagonal(); err != nil {
		return s, nil, usageError(err)
	}
	p, err := ssm.New(s, cfg.Seed, 0)
	if err != nil {
		return s, nil, usageError(err)
	}
	return s, p.Discretize(s.Disc, 1), nil
}

// stepName returns the symbol of an initialisation's step.
func stepName(init ssm.Init) string {
	if (ssm.Config{Init: init}).Angles() {
		return "ξ"
	}
	return "Δ"
}

// plural formats a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
