package ssm

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Validate returns an error for the first invalid parameter, which it names as configuration files
// do.
func (c Config) Validate() error {
	if err := c.validateShape(); err != nil {
		return err
	}
	if c.MIMO() {
		return c.validateMIMO()
	}
	if err := c.unused(slices.Concat(c.s5Keys(), c.lruKeys())...); err != nil {
		return err
	}
	if err := c.validateScheme(); err != nil {
		return err
	}
	return c.validateRanges()
}

// maxKernel bounds LKernel, the number of steps per channel that compute S4's C̃.
const maxKernel = 1 << 28

// maxCoupled bounds DState of S4, whose modes are coupled: recovering C and the poles take dense
// matrices [DState][DState] of float64.
const maxCoupled = 1024

// CheckScores returns an error for layers whose modes have no scores.
func (c Config) CheckScores() error {
	if c.Layer != LayerS4 {
		return nil
	}
	others := slices.DeleteFunc(Layers(), func(l Layer) bool { return l == LayerS4 })
	return fmt.Errorf("ssm: layer %q: its modes are coupled, so they have no scores of their own; expected layer %s", c.Layer, either(others))
}

// layer returns the kind of layer.
func (c Config) layer() Layer {
	if c.Layer == "" {
		return LayerS4D
	}
	return c.Layer
}

// Layers lists the kinds of layers.
func Layers() []Layer { return []Layer{LayerS4D, LayerDSS, LayerS4, LayerS5, LayerLRU} }

func (c Config) validateShape() error {
	switch {
	case c.Layer != "" && !slices.Contains(Layers(), c.Layer):
		return fmt.Errorf("ssm: layer %q: expected one of %q", c.Layer, Layers())
	case c.DModel < 1:
		return fmt.Errorf("ssm: d_model %d: expected at least 1", c.DModel)
	case c.Layer == LayerLRU && c.DState < 1:
		return fmt.Errorf("ssm: d_state %d: expected at least 1", c.DState)
	case c.Layer != LayerLRU && (c.DState < 2 || c.DState%2 != 0):
		return fmt.Errorf("ssm: d_state %d: expected an even number ≥ 2", c.DState)
	case c.NSSM < 0:
		return fmt.Errorf("ssm: n_ssm %d: expected 0 (= d_model) or a divisor of d_model %d", c.NSSM, c.DModel)
	case c.DModel%c.Copies() != 0:
		return fmt.Errorf("ssm: n_ssm %d does not divide d_model %d", c.NSSM, c.DModel)
	case c.LKernel < 0 || c.LKernel > maxKernel:
		return fmt.Errorf("ssm: l_kernel %d: expected 0 (the longest training sequence) to %d taps", c.LKernel, maxKernel)
	case c.LKernel > 0 && !c.FixedLength():
		return fmt.Errorf("ssm: l_kernel %d: kernels of layer %q have no fixed length", c.LKernel, c.layer())
	case c.FixedLength() && c.LMax > 0:
		return fmt.Errorf("ssm: l_max %d: kernels of layer %q have l_kernel taps; expected 0", c.LMax, c.Layer)
	case c.LMax < 0:
		return fmt.Errorf("ssm: l_max %d: expected 0 (no truncation) or a number of taps", c.LMax)
	}
	return nil
}

// Inits lists the schemes that New draws, in the order of docs/maths.md §2.
func Inits() []Init {
	return []Init{Lin, Inv, LegS, Real, Inv2, Quad, Rand, DFouT, DFouTSingle, DFouTHalf}
}

// layerInits and layerDiscs return what the layer supports, apart from Imported.
func (c Config) layerInits() []Init {
	switch c.Layer {
	case LayerS4:
		return []Init{LegS, FouT, Hippo}
	case LayerS5:
		return []Init{LegS}
	case LayerLRU:
		return []Init{Ring}
	case LayerDSS:
		return slices.DeleteFunc(Inits(), func(i Init) bool { return Config{Init: i}.Angles() })
	}
	return Inits()
}

func (c Config) layerDiscs() []Disc {
	switch c.Layer {
	case LayerS4:
		return []Disc{Bilinear}
	case LayerLRU, LayerDSS:
		return []Disc{ZOH}
	}
	return []Disc{ZOH, Bilinear}
}

// validatePoles checks init and disc of S4, S5 and the LRU. At least one default is invalid for
// each of these layers, so one error states the valid values of both keys.
func (c Config) validatePoles() error {
	inits, discs, wrong := c.layerInits(), c.layerDiscs(), []string{}
	if !slices.Contains(inits, c.Init) && !(c.Init == Imported && c.Layer == LayerS4) {
		wrong = append(wrong, fmt.Sprintf("init %q", c.Init))
	}
	if !slices.Contains(discs, c.Disc) {
		wrong = append(wrong, fmt.Sprintf("disc %q", c.Disc))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("ssm: %s: layer %q expects init %s and disc %s", strings.Join(wrong, ", "), c.Layer, either(inits), either(discs))
}

// either returns values as text: "a", "b" or "c".
func either[T ~string](values []T) string {
	text := fmt.Sprintf("%q", values[0])
	for i, v := range values[1:] {
		separator := ", "
		if i == len(values)-2 {
			separator = " or "
		}
		text += fmt.Sprintf("%s%q", separator, v)
	}
	return text
}

// validateS4 returns an error for settings that S4 does not support.
func (c Config) validateS4() error {
	if err := c.validatePoles(); err != nil {
		return err
	}
	if err := c.unused(c.angleKeys()...); err != nil {
		return err
	}
	switch {
	case c.DState > maxCoupled:
		return fmt.Errorf("ssm: d_state %d: layer %q expects at most %d", c.DState, c.Layer, maxCoupled)
	case c.Init == Hippo && c.Copies()%2 != 0:
		return fmt.Errorf("ssm: n_ssm %d: init %q expects an even number of copies", c.Copies(), c.Init)
	case !slices.Contains([]RateRule{"", RateExact, RateKeep}, c.RateRule):
		return fmt.Errorf("ssm: rate_rule %q: layer %q expects one of %q", c.RateRule, c.Layer, []RateRule{RateExact, RateKeep})
	case c.Bandlimit != 0:
		return fmt.Errorf("ssm: bandlimit %v: the modes of layer %q are coupled; expected 0", c.Bandlimit, c.Layer)
	}
	return nil
}

// validateDSS returns an error for settings of S4D that DSS does not support.
func (c Config) validateDSS() error {
	switch {
	case c.Angles():
		return fmt.Errorf("ssm: init %q: layer %q expects one of %q", c.Init, c.Layer, c.layerInits())
	case !slices.Contains(c.layerDiscs(), c.Disc):
		return fmt.Errorf("ssm: disc %q: layer %q expects %s", c.Disc, c.Layer, either(c.layerDiscs()))
	}
	return nil
}

// validateInit checks the initial poles of S4D and DSS.
func (c Config) validateInit() error {
	needs := Layer("")
	switch c.Init {
	case FouT, Hippo:
		needs = LayerS4
	case Ring:
		needs = LayerLRU
	}
	switch inits := c.layerInits(); {
	case needs != "":
		return fmt.Errorf("ssm: init %q: requires layer %q (ssm.layer=%s); layer %q expects one of %q", c.Init, needs, needs, c.layer(), inits)
	case c.Init != Imported && !slices.Contains(inits, c.Init):
		return fmt.Errorf("ssm: init %q: expected one of %q", c.Init, inits)
	}
	return nil
}

func (c Config) validateScheme() error {
	switch c.Layer {
	case LayerS4:
		return c.validateS4()
	case LayerDSS:
		if err := c.validateDSS(); err != nil {
			return err
		}
	}
	if err := c.validateChoices(); err != nil {
		return err
	}
	return c.validateAngles()
}

// validateChoices checks the keys of S4D and DSS that have a list of values.
func (c Config) validateChoices() error {
	discs, params := c.layerDiscs(), []Param{"", ParamDiscrete, ParamContinuous, ParamWidth}
	switch {
	case !slices.Contains(params, c.Param):
		return fmt.Errorf("ssm: param %q: expected one of %q", c.Param, params[1:])
	case !slices.Contains([]RateRule{"", RateHold, RateDecimate}, c.RateRule):
		return fmt.Errorf("ssm: rate_rule %q: expected one of %q", c.RateRule, []RateRule{RateHold, RateDecimate})
	case !slices.Contains(discs, c.Disc):
		return fmt.Errorf("ssm: disc %q: expected one of %q", c.Disc, discs)
	}
	return c.validateInit()
}

// validateAngles returns an error for keys of schemes on the unit circle that do not match the
// scheme.
func (c Config) validateAngles() error {
	switch {
	case c.RateRule == RateDecimate && !c.Angles():
		return fmt.Errorf("ssm: rate_rule %q: poles of init %q follow other sampling rates by scaling the step Δ, so they have no rule: leave rate_rule unset", c.RateRule, c.Init)
	case c.RateRule == RateDecimate && !c.Discrete():
		return fmt.Errorf("ssm: rate_rule %q: poles with param %q follow other sampling rates by scaling the step Δ, so they have no rule: leave rate_rule unset", c.RateRule, c.Param)
	case (c.Param == ParamContinuous || c.Param == ParamWidth) && !c.Angles():
		return fmt.Errorf("ssm: param %q: init %q has no angles on the unit circle: leave param unset, or select an init such as %q", c.Param, c.Init, DFouT)
	case c.Angles() && c.Copies() != c.DModel:
		return fmt.Errorf("ssm: n_ssm %d: init %q gives every channel its own angles and requires d_model = %d copies",
			c.NSSM, c.Init, c.DModel)
	}
	return nil
}

func (c Config) validateRanges() error {
	if !(c.AReal >= 0) || math.IsInf(c.AReal, 1) {
		return fmt.Errorf("ssm: a_real %v: expected a finite number ≥ 0", c.AReal)
	}
	if c.AReal == 0 && c.MovesByWidth() {
		return fmt.Errorf("ssm: a_real 0: param %q moves angles in units of the resonance's width, which is 0 on the unit circle", c.Param)
	}
	if !(c.Bandlimit >= 0) || math.IsInf(c.Bandlimit, 1) {
		return fmt.Errorf("ssm: bandlimit %v: expected a finite number ≥ 0", c.Bandlimit)
	}
	drawn := c.Init != Imported // imported steps come from a file, not from a range
	if err := validateRange("dt_min", "dt_max", c.DtMin, c.DtMax, drawn && !c.Angles() && c.Layer != LayerLRU); err != nil {
		return err
	}
	return validateRange("xi_min", "xi_max", c.XiMin, c.XiMax, drawn && c.Angles())
}

// validateRange checks the ends of a log-uniform range. A range that the scheme does not use may be
// 0.
func validateRange(minName, maxName string, lo, hi float64, used bool) error {
	switch {
	case !used && lo == 0 && hi == 0:
		return nil
	case !(lo > 0) || math.IsInf(lo, 1):
		return fmt.Errorf("ssm: %s %v: expected a finite number > 0", minName, lo)
	case !(hi > 0) || math.IsInf(hi, 1):
		return fmt.Errorf("ssm: %s %v: expected a finite number > 0", maxName, hi)
	case lo > hi:
		return fmt.Errorf("ssm: %s %v > %s %v", minName, lo, maxName, hi)
	}
	return nil
}
