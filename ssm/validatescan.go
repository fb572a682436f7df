package ssm

import (
	"fmt"
	"math"
	"slices"
)

// setting is a key with its value. set reports whether the value differs from the key's zero value.
type setting struct {
	key   string
	value any
	set   bool
}

// unused returns an error for the first key that is set although the layer does not have it.
func (c Config) unused(list ...setting) error {
	for _, s := range list {
		if s.set {
			return fmt.Errorf("ssm: %s %v: layer %q has no such setting", s.key, s.value, c.layer())
		}
	}
	return nil
}

// s5Keys and lruKeys are the settings that only these layers have.
func (c Config) s5Keys() []setting {
	return []setting{{"blocks", c.Blocks, c.Blocks != 0}, {"c_init", c.CInit, c.CInit != ""}, {"clip_eigs", c.ClipEigs, c.ClipEigs}}
}

func (c Config) lruKeys() []setting {
	return []setting{{"r_min", c.RMin, c.RMin != 0}, {"r_max", c.RMax, c.RMax != 0}, {"max_phase", c.MaxPhase, c.MaxPhase != 0}}
}

// validateMIMO checks the settings of S5 and the LRU, except the shape.
func (c Config) validateMIMO() error {
	err := c.unused(
		setting{"grid", c.Grid, c.Grid != ""}, setting{"b_scale", c.BScale, c.BScale != ""}, setting{"param", c.Param, c.Param != ""},
		setting{"xi_per", c.XiPer, c.XiPer != ""}, setting{"zero_pole", c.ZeroPole, c.ZeroPole}, setting{"n_ssm", c.NSSM, c.NSSM != 0},
		setting{"rate_rule", c.RateRule, c.RateRule != ""}, setting{"l_max", c.LMax, c.LMax != 0},
	)
	if err != nil {
		return err
	}
	if c.Bandlimit != 0 {
		return fmt.Errorf("ssm: bandlimit %v: the modes of layer %q cannot be silenced; expected 0", c.Bandlimit, c.Layer)
	}
	if c.Layer == LayerLRU {
		return c.validateLRU()
	}
	return c.validateS5()
}

func (c Config) validateS5() error {
	if err := c.unused(c.lruKeys()...); err != nil {
		return err
	}
	inits := []CInit{"", CTruncStandardNormal, CLecunNormal, CComplexNormal}
	switch {
	case c.Init != LegS:
		return fmt.Errorf("ssm: init %q: layer %q expects %q", c.Init, c.Layer, LegS)
	case c.Disc != ZOH && c.Disc != Bilinear:
		return fmt.Errorf("ssm: disc %q: expected one of %q", c.Disc, []Disc{ZOH, Bilinear})
	case c.Blocks < 0 || c.DState%(2*max(c.Blocks, 1)) != 0:
		return fmt.Errorf("ssm: blocks %d: expected 0 (= 1) or a number that divides d_state %d into even parts", c.Blocks, c.DState)
	case !slices.Contains(inits, c.CInit):
		return fmt.Errorf("ssm: c_init %q: expected one of %q", c.CInit, inits[1:])
	}
	return validateRange("dt_min", "dt_max", c.DtMin, c.DtMax, true)
}

func (c Config) validateLRU() error {
	if err := c.unused(c.s5Keys()...); err != nil {
		return err
	}
	rMax := c.RMax
	if rMax == 0 {
		rMax = defaultRMax
	}
	switch {
	case c.Init != Ring:
		return fmt.Errorf("ssm: init %q: layer %q expects %q", c.Init, c.Layer, Ring)
	case c.Disc != ZOH:
		return fmt.Errorf("ssm: disc %q: layer %q is discrete by itself: expected %q", c.Disc, c.Layer, ZOH)
	case !(c.RMin >= 0 && c.RMin < 1):
		return fmt.Errorf("ssm: r_min %v: expected 0 ≤ r_min < 1", c.RMin)
	case !(rMax >= c.RMin && rMax > 0 && rMax <= 1):
		return fmt.Errorf("ssm: r_max %v: expected r_min %v ≤ r_max ≤ 1, or 0 (= 1)", c.RMax, c.RMin)
	case !(c.MaxPhase >= 0) || math.IsInf(c.MaxPhase, 1):
		return fmt.Errorf("ssm: max_phase %v: expected an angle in radians, or 0 (= %v)", c.MaxPhase, defaultMaxPhase)
	}
	return nil
}
