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

// angleKeys are the settings of poles on the unit circle.
func (c Config) angleKeys() []setting {
	return []setting{{"param", c.Param, c.Param != ""}}
}

// validateMIMO checks the settings of S5 and the LRU, except the shape.
func (c Config) validateMIMO() error {
	if err := c.validatePoles(); err != nil {
		return err
	}
	if err := c.unused(append(c.angleKeys(), setting{"n_ssm", c.NSSM, c.NSSM != 0}, setting{"l_max", c.LMax, c.LMax != 0})...); err != nil {
		return err
	}
	if err := c.validateRanges(); err != nil {
		return err
	}
	if c.Layer == LayerLRU {
		return c.validateLRU()
	}
	return c.validateS5()
}

func (c Config) validateS5() error {
	if err := c.unused(append(c.lruKeys(), setting{"rate_rule", c.RateRule, c.RateRule != ""})...); err != nil {
		return err
	}
	inits := []CInit{"", CTruncStandardNormal, CLecunNormal, CComplexNormal}
	switch {
	case c.Blocks < 0 || c.DState%(2*max(c.Blocks, 1)) != 0:
		return fmt.Errorf("ssm: blocks %d: expected 0 (= 1) or a number that divides d_state %d into even parts", c.Blocks, c.DState)
	case !slices.Contains(inits, c.CInit):
		return fmt.Errorf("ssm: c_init %q: expected one of %q", c.CInit, inits[1:])
	}
	return nil
}

func (c Config) validateLRU() error {
	if err := c.unused(c.s5Keys()...); err != nil {
		return err
	}
	rMax, rules := c.RMax, []RateRule{"", RateHold, RateDecimate}
	if rMax == 0 {
		rMax = defaultRMax
	}
	switch {
	case !slices.Contains(rules, c.RateRule):
		return fmt.Errorf("ssm: rate_rule %q: layer %q expects one of %q", c.RateRule, c.Layer, rules[1:])
	case !(c.RMin >= 0 && c.RMin < 1):
		return fmt.Errorf("ssm: r_min %v: expected 0 ≤ r_min < 1", c.RMin)
	case !(rMax >= c.RMin && rMax > 0 && rMax <= 1):
		return fmt.Errorf("ssm: r_max %v: expected r_min %v ≤ r_max ≤ 1, or 0 (= 1)", c.RMax, c.RMin)
	case !(c.MaxPhase >= 0) || math.IsInf(c.MaxPhase, 1):
		return fmt.Errorf("ssm: max_phase %v: expected an angle in radians, or 0 (= %v)", c.MaxPhase, defaultMaxPhase)
	}
	return nil
}
