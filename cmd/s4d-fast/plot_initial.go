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
var initialOptions = []string{"seed", "ssm.layer", "ssm.disc", "ssm.param", "ssm.n_ssm",
	"ssm.dt_min", "ssm.dt_max", "ssm.xi_min", "ssm.xi_max", "ssm.blocks", "ssm.r_min", "ssm.r_max", "ssm.max_phase"}

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

// initialInits returns the initialisations of a plot without --init: those of the layer that --set
// selects, or for S4D the given ones.
func initialInits(set []string, s4d ...string) []string {
	cfg := train.Default()
	for _, s := range set {
		if cfg.Set(s) != nil {
			return s4d // draw reports the error
		}
	}
	switch cfg.SSM.Layer {
	case ssm.LayerDSS:
		return []string{string(ssm.Lin), string(ssm.Inv), string(ssm.LegS)}
	case ssm.LayerS4:
		return []string{string(ssm.LegS), string(ssm.FouT)}
	case ssm.LayerS5:
		return []string{string(ssm.LegS)}
	case ssm.LayerLRU:
		return []string{string(ssm.Ring)}
	}
	return s4d
}

// impliedLayer returns the layer of an initialisation that only one layer has, otherwise "".
func impliedLayer(init ssm.Init) ssm.Layer {
	switch init {
	case ssm.FouT, ssm.Hippo:
		return ssm.LayerS4
	case ssm.Ring:
		return ssm.LayerLRU
	}
	return ""
}

// fixedDecay returns an error, which starts with the name of an option, for layers whose real parts
// the option does not change.
func fixedDecay(c ssm.Config, option string) error {
	switch {
	case c.Layer == ssm.LayerS4 || c.MIMO():
		return usageError(fmt.Errorf("%s: the moduli of the poles of layer %q, init %q, do not depend on it", option, c.Layer, c.Init))
	case c.Init == ssm.Real:
		return usageError(fmt.Errorf("%s: the real parts of init %q are fixed, −1, −2, …", option, c.Init))
	}
	return nil
}

// draw returns the layer's parameters. It rejects the configurations that train rejects.
func (l initialLayer) draw() (*ssm.Params, error) {
	if l.modes > maxModes || l.channels > maxPoles/max(l.modes, 1) {
		return nil, usageError(fmt.Errorf("%d modes in each of %d SSMs: expected at most %d modes, and %d in all", l.modes, l.channels, maxModes, maxPoles))
	}
	cfg := train.Default()
	s := &cfg.SSM
	s.Layer, s.Init, s.Disc, s.DState, s.AReal, s.Bidirectional = impliedLayer(l.init), l.init, "", 2*l.modes, l.decay, false
	s.Param = "" // unless l.set has another one
	s.DtMin, s.DtMax, s.XiMin, s.XiMax = l.step, l.step, l.step, l.step
	cfg.Model.DModel = l.channels
	for _, set := range l.set {
		if err := cfg.Set(set); err != nil {
			return nil, trainError(err)
		}
	}
	if s.Disc == "" {
		s.Disc = ssm.ZOH
		if s.Layer == ssm.LayerS4 {
			s.Disc = ssm.Bilinear
		}
	}
	if s.Layer == ssm.LayerLRU {
		s.DState = l.modes
	}
	if err := cfg.Validate(); err != nil {
		return nil, trainError(err)
	}
	for _, set := range l.set {
		if strings.HasPrefix(strings.TrimSpace(set), "ssm.a_real") {
			if err := fixedDecay(*s, "--set "+set); err != nil {
				return nil, err
			}
		}
	}
	s.DModel = l.channels
	p, err := ssm.New(*s, cfg.Seed, 0)
	return p, usageError(err)
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
