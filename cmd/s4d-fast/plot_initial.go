package main

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
)

// initialFlags are the flags of the plots of layers before training.
type initialFlags struct {
	Set  []string  `help:"Set a configuration value as in train, or compare several as in sweep, for example ssm.init=lin,dfout; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	Step []float64 `help:"Values of Δ (of ξ for initialisations on the unit circle) (default: 0.001,0.025,0.1; of a response, 0.1)." placeholder:"X"`
}

// layerInits are the initialisations of other layers than S4D that are drawn unless --set selects
// some.
var layerInits = map[string][]string{"dss": {"lin", "inv", "legs"}, "s4": {"legs", "fout"}, "s5": {"legs"}, "lru": {"ring"}}

func axis(key string, values ...string) train.Axis {
	return train.Axis{Keys: []string{key}, Values: values}
}

// steps returns the axis of --step. All SSMs of a layer have the same step, unless --set has a
// range.
func (c *initialFlags) steps(defaults ...float64) train.Axis {
	a := train.Axis{Keys: []string{"ssm.dt_min", "ssm.dt_max", "ssm.xi_min", "ssm.xi_max"}}
	if len(c.Step) > 0 {
		defaults = c.Step
	}
	for _, x := range defaults {
		a.Values = append(a.Values, fmt.Sprint(x))
	}
	return a
}

// compare returns a row of configurations for each combination of values, in which those of the
// first axis follow one another. --set replaces the values of the axes, or adds some.
func (c *initialFlags) compare(dState int, axes ...train.Axis) ([][]train.Config, error) {
	base := train.Default()
	base.SSM.DState, base.SSM.Bidirectional, base.SSM.Disc, base.Model.DModel = dState, false, "", 1
	var given []train.Axis
	for _, set := range c.Set {
		a, err := train.ParseAxis(set)
		if err != nil {
			return nil, err
		}
		if inits := layerInits[a.Values[0]]; a.Name() == "ssm.layer" && inits != nil {
			given = slices.Insert(given, 0, axis("ssm.init", inits...))
		}
		given = append(given, a)
	}
	for _, a := range given {
		at := slices.IndexFunc(axes, func(b train.Axis) bool { return b.Name() == a.Name() })
		if at < 0 {
			at, axes = len(axes), append(axes, a)
		}
		axes[at] = a
	}
	var rows [][]train.Config
	last := len(axes) - 1
	for i, point := range train.Grid(append(slices.Clone(axes[1:]), axes[0])) {
		cfg := base
		if err := cfg.Apply(axes, append([]string{point[last]}, point[:last]...)); err != nil {
			return nil, err
		}
		if i%len(axes[0].Values) == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], cfg)
	}
	return rows, nil
}

// drawInitial returns a layer's parameters. It rejects the configurations that train rejects.
func drawInitial(cfg train.Config) (*ssm.Params, error) {
	if cfg.SSM.Disc == "" {
		cfg.SSM.Disc = ssm.ZOH
		if cfg.SSM.Layer == ssm.LayerS4 {
			cfg.SSM.Disc = ssm.Bilinear
		}
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := cfg.SSM
	s.DModel = cfg.Model.DModel
	p, err := ssm.New(s, cfg.Seed, 0)
	return p, usageError(err)
}
