package ssm

import (
	"fmt"
	"math"
	"slices"
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

// CheckDiagonal returns an error for layers whose modes are coupled or serve several channels:
// Discretize and all that is computed from the modes of one channel do not apply to them.
func (c Config) CheckDiagonal() error {
	if c.Diagonal() {
		return nil
	}
	why := "its modes are coupled"
	if c.MIMO() {
		why = "its modes belong to all channels"
	}
	return fmt.Errorf("ssm: layer %q: %s, so they have no scores of their own; expected layer %q or %q", c.layer(), why, LayerS4D, LayerDSS)
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
	return []Init{Lin, Inv, LegS, Real, Inv2, Quad, Rand, DFouT, DFouTSingle, DFouTHalf, Token, RndImag, BatchedDFouT}
}

// validateS4 returns an error for settings that S4 does not support.
func (c Config) validateS4() error {
	inits := []Init{LegS, FouT, Hippo}
	switch {
	case c.DState > maxCoupled:
		return fmt.Errorf("ssm: d_state %d: layer %q expects at most %d", c.DState, c.Layer, maxCoupled)
	case !slices.Contains(inits, c.Init) && c.Init != Imported:
		return fmt.Errorf("ssm: init %q: layer %q expects one of %q", c.Init, c.Layer, inits)
	case c.Init == Hippo && c.Copies()%2 != 0:
		return fmt.Errorf("ssm: n_ssm %d: init %q expects an even number of copies", c.Copies(), c.Init)
	case c.Disc != Bilinear:
		return fmt.Errorf("ssm: disc %q: layer %q expects %q", c.Disc, c.Layer, Bilinear)
	case !slices.Contains([]RateRule{"", RateExact, RateKeep}, c.RateRule):
		return fmt.Errorf("ssm: rate_rule %q: layer %q expects one of %q", c.RateRule, c.Layer, []RateRule{RateExact, RateKeep})
	case c.Grid != "" || c.BScale != "" || c.Param != "" || c.XiPer != "" || c.ZeroPole:
		return fmt.Errorf("ssm: grid, b_scale, param, xi_per, zero_pole: layer %q has no angles on the unit circle", c.Layer)
	case c.Bandlimit != 0:
		return fmt.Errorf("ssm: bandlimit %v: the modes of layer %q are coupled; expected 0", c.Bandlimit, c.Layer)
	}
	return nil
}

func (c Config) validateScheme() error {
	if c.Layer == LayerS4 {
		return c.validateS4()
	}
	discs := []Disc{ZOH, Bilinear}
	grids, scales := []Grid{"", GridA, GridB, GridC, GridD}, []BScale{"", ScaleZOHXi, ScaleZOH1, ScaleOne, ScaleGamma, ScaleZOHOwn, ScaleUnit}
	params, shares := []Param{"", ParamDiscrete, ParamContinuous, ParamWidth}, []XiPer{"", XiPerSSM, XiPerMode, XiPerBoth}
	switch {
	case c.Layer == LayerDSS && (c.Angles() || c.Disc != ZOH || c.Bandlimit != 0):
		return fmt.Errorf("ssm: layer %q: init %q, disc %q, bandlimit %v, expected one of S4D's schemes, %q and 0", c.Layer, c.Init, c.Disc, c.Bandlimit, ZOH)
	case !slices.Contains(grids, c.Grid):
		return fmt.Errorf("ssm: grid %q: expected one of %q", c.Grid, grids[1:])
	case !slices.Contains(scales, c.BScale):
		return fmt.Errorf("ssm: b_scale %q: expected one of %q", c.BScale, scales[1:])
	case !slices.Contains(params, c.Param):
		return fmt.Errorf("ssm: param %q: expected one of %q", c.Param, params[1:])
	case !slices.Contains([]RateRule{"", RateHold, RateDecimate}, c.RateRule):
		return fmt.Errorf("ssm: rate_rule %q: expected one of %q", c.RateRule, []RateRule{RateHold, RateDecimate})
	case c.RateRule == RateDecimate && !c.Discrete():
		return fmt.Errorf("ssm: rate_rule %q: only discrete poles have a choice of rule; those of init %q, param %q have the step rΔ", c.RateRule, c.Init, c.Param)
	case !slices.Contains(shares, c.XiPer):
		return fmt.Errorf("ssm: xi_per %q: expected one of %q", c.XiPer, shares[1:])
	case c.Init == Ring:
		return fmt.Errorf("ssm: init %q: requires layer %q; expected one of %q", c.Init, LayerLRU, Inits())
	case c.Init != Imported && !slices.Contains(Inits(), c.Init):
		return fmt.Errorf("ssm: init %q: expected one of %q", c.Init, Inits())
	case !slices.Contains(discs, c.Disc):
		return fmt.Errorf("ssm: disc %q: expected one of %q", c.Disc, discs)
	case c.Grid != "" && c.Grid != GridA && c.Init != DFouT && c.Init != DFouTHalf:
		return fmt.Errorf("ssm: grid %q: init %q has no choice of grid", c.Grid, c.Init)
	case c.Init == DFouTHalf && c.Grid != "" && c.Grid != GridB:
		return fmt.Errorf("ssm: grid %q: init %q is grid %q", c.Grid, c.Init, GridB)
	case c.BScale != "" && c.BScale != ScaleZOHXi && !c.Discrete():
		return fmt.Errorf("ssm: b_scale %q: expected %q: other scales need discrete poles", c.BScale, ScaleZOHXi)
	case (c.Param == ParamContinuous || c.Param == ParamWidth || c.XiPer != "" && c.XiPer != XiPerSSM) && !c.Angles():
		return fmt.Errorf("ssm: param %q, xi_per %q: init %q has no angles on the unit circle", c.Param, c.XiPer, c.Init)
	case c.ZeroPole && !c.Angles():
		return fmt.Errorf("ssm: zero_pole: init %q has no angles on the unit circle", c.Init)
	case c.Disc == Bilinear && c.BScale != "" && c.BScale != ScaleZOHXi:
		return fmt.Errorf("ssm: b_scale %q: disc %q has its own scale", c.BScale, c.Disc)
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
	if damped := []BScale{ScaleGamma, ScaleZOHOwn, ScaleUnit}; c.AReal == 0 && c.Discrete() && slices.Contains(damped, c.BScale) {
		return fmt.Errorf("ssm: a_real 0: b_scale %q is 0 on the unit circle: no input would reach the state", c.BScale)
	}
	if c.AReal == 0 && c.MovesByWidth() {
		return fmt.Errorf("ssm: a_real 0: param %q moves angles in units of the resonance's width, which is 0 on the unit circle", c.Param)
	}
	if !(c.Bandlimit >= 0) || math.IsInf(c.Bandlimit, 1) {
		return fmt.Errorf("ssm: bandlimit %v: expected a finite number ≥ 0", c.Bandlimit)
	}
	drawn := c.Init != Imported // imported steps come from a file, not from a range
	if err := validateRange("dt_min", "dt_max", c.DtMin, c.DtMax, drawn && !c.Angles()); err != nil {
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
