package ssm

import (
	"fmt"
	"math"
	"slices"
)

// Validate reports the first parameter that makes no sense, by its name in configuration files.
func (c Config) Validate() error {
	if err := c.validateShape(); err != nil {
		return err
	}
	if err := c.validateScheme(); err != nil {
		return err
	}
	return c.validateRanges()
}

func (c Config) validateShape() error {
	switch {
	case c.DModel < 1:
		return fmt.Errorf("ssm: d_model %d: want at least 1", c.DModel)
	case c.DState < 2 || c.DState%2 != 0:
		return fmt.Errorf("ssm: d_state %d: want an even number ≥ 2", c.DState)
	case c.NSSM < 0:
		return fmt.Errorf("ssm: n_ssm %d: want 0 (= d_model) or a divisor of d_model %d", c.NSSM, c.DModel)
	case c.DModel%c.Copies() != 0:
		return fmt.Errorf("ssm: n_ssm %d does not divide d_model %d", c.NSSM, c.DModel)
	case c.LMax < 0:
		return fmt.Errorf("ssm: l_max %d: want 0 (no truncation) or a number of taps", c.LMax)
	}
	return nil
}

func (c Config) validateScheme() error {
	inits := []Init{Lin, Inv, LegS, DFouT, Imported}
	discs := []Disc{ZOH, Bilinear}
	switch {
	case !slices.Contains(inits, c.Init):
		return fmt.Errorf("ssm: init %q: want one of %q", c.Init, inits)
	case !slices.Contains(discs, c.Disc):
		return fmt.Errorf("ssm: disc %q: want one of %q", c.Disc, discs)
	case c.Init == DFouT && c.Disc != ZOH:
		return fmt.Errorf("ssm: disc %q: init %q has poles in the discrete domain and wants %q", c.Disc, c.Init, ZOH)
	case c.Init == DFouT && c.Copies() != c.DModel:
		return fmt.Errorf("ssm: n_ssm %d: init %q gives every channel its own angles and wants d_model = %d copies",
			c.NSSM, c.Init, c.DModel)
	}
	return nil
}

func (c Config) validateRanges() error {
	if !(c.AReal >= 0) || math.IsInf(c.AReal, 1) {
		return fmt.Errorf("ssm: a_real %v: want a finite number ≥ 0", c.AReal)
	}
	drawn := c.Init != Imported // imported steps come from a file, not from a range
	if err := validateRange("dt_min", "dt_max", c.DtMin, c.DtMax, drawn && !c.Discrete()); err != nil {
		return err
	}
	return validateRange("xi_min", "xi_max", c.XiMin, c.XiMax, drawn && c.Discrete())
}

// validateRange checks the ends of a log-uniform range. One that the scheme does not use may be left out.
func validateRange(minName, maxName string, lo, hi float64, used bool) error {
	switch {
	case !used && lo == 0 && hi == 0:
		return nil
	case !(lo > 0) || math.IsInf(lo, 1):
		return fmt.Errorf("ssm: %s %v: want a finite number > 0", minName, lo)
	case !(hi > 0) || math.IsInf(hi, 1):
		return fmt.Errorf("ssm: %s %v: want a finite number > 0", maxName, hi)
	case lo > hi:
		return fmt.Errorf("ssm: %s %v > %s %v", minName, lo, maxName, hi)
	}
	return nil
}
