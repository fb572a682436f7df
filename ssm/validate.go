package ssm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxKernel bounds LKernel, the number of steps per channel that compute S4's C̃.
const maxKernel = 1 << 28

// maxCoupled bounds DState of S4, whose modes are coupled: recovering C and the poles take dense
// matrices [DState][DState] of float64.
const maxCoupled = 1024

// Layers lists the kinds of layers.
func Layers() []Layer { return []Layer{LayerS4D, LayerDSS, LayerS4, LayerS5, LayerLRU} }

// Inits lists the schemes that New draws for S4D, in the order of docs/maths.md §2.
func Inits() []Init {
	return []Init{Lin, Inv, LegS, Real, Inv2, Quad, Rand, DFouT, DFouTSingle, DFouTHalf}
}

// layer returns the kind of layer.
func (c Config) layer() Layer { return cmp.Or(c.Layer, LayerS4D) }

// supported returns the schemes, apart from Imported, and the discretisations of a kind of layer.
func (l Layer) supported() (inits []Init, discs []Disc) {
	switch l {
	case LayerDSS:
		return Inits()[:7], []Disc{ZOH}
	case LayerS4:
		return []Init{LegS, FouT, Hippo}, []Disc{Bilinear}
	case LayerS5:
		return []Init{LegS}, []Disc{ZOH, Bilinear}
	case LayerLRU:
		return []Init{Ring}, []Disc{ZOH}
	}
	return Inits(), []Disc{ZOH, Bilinear}
}

// CheckScores returns an error for layers whose modes have no scores.
func (c Config) CheckScores() error {
	if c.Layer != LayerS4 {
		return nil
	}
	others := slices.DeleteFunc(Layers(), func(l Layer) bool { return l == LayerS4 })
	return fmt.Errorf("ssm: layer %q: its modes are coupled, so they have no scores of their own; expected one of %q", c.Layer, others)
}

// validator keeps the first error.
type validator struct {
	Config
	err error
}

// reject makes an error if a value is wrong.
func (v *validator) reject(wrong bool, format string, args ...any) {
	if wrong && v.err == nil {
		v.err = fmt.Errorf("ssm: "+format, args...)
	}
}

// only rejects the value of a key that the layer does not have, unless it is the zero value.
func only[T comparable](v *validator, has bool, key string, value T) {
	v.reject(!has && value != *new(T), "%s %v: layer %q has no such setting", key, value, v.layer())
}

// Validate returns an error for the first invalid parameter, which it names as configuration files
// do.
func (c Config) Validate() error {
	v := &validator{Config: c}
	v.reject(!slices.Contains(Layers(), c.layer()), "layer %q: expected one of %q", c.Layer, Layers())
	v.shape()
	v.choices()
	v.ranges()
	return v.err
}

func (v *validator) shape() {
	if v.Layer == LayerLRU {
		v.reject(v.DState < 1, "d_state %d: expected at least 1", v.DState)
	} else {
		v.reject(v.DState < 2 || v.DState%2 != 0, "d_state %d: expected an even number ≥ 2", v.DState)
	}
	v.reject(v.DModel < 1, "d_model %d: expected at least 1", v.DModel)
	v.reject(v.Layer == LayerS4 && v.DState > maxCoupled, "d_state %d: layer %q expects at most %d", v.DState, v.Layer, maxCoupled)
	only(v, !v.MIMO(), "n_ssm", v.NSSM)
	v.reject(v.NSSM < 0 || v.DModel%max(v.Copies(), 1) != 0, "n_ssm %d does not divide d_model %d", v.NSSM, v.DModel)
	v.reject(v.Init == Hippo && v.Copies()%2 != 0, "n_ssm %d: init %q expects an even number of copies", v.Copies(), v.Init)
	v.reject(v.Angles() && v.Copies() != v.DModel, "n_ssm %d: init %q gives every channel its own angles and requires d_model = %d copies", v.NSSM, v.Init, v.DModel)
	only(v, v.FixedLength(), "l_kernel", v.LKernel)
	v.reject(v.LKernel < 0 || v.LKernel > maxKernel, "l_kernel %d: expected 0 (the longest training sequence) to %d taps", v.LKernel, maxKernel)
	v.reject(v.Layer == LayerDSS && v.LMax > 0, "l_max %d: kernels of layer %q have l_kernel taps; expected 0", v.LMax, v.Layer)
	only(v, !v.MIMO(), "l_max", v.LMax)
	v.reject(v.LMax < 0, "l_max %d: expected 0 (no truncation) or a number of taps", v.LMax)
	blocks := 2 * max(v.Blocks, 1)
	only(v, v.Layer == LayerS5, "blocks", v.Blocks)
	v.reject(v.Blocks < 0 || v.Layer == LayerS5 && v.DState%blocks != 0, "blocks %d: expected 0 (= 1) or a number that divides d_state %d into even parts", v.Blocks, v.DState)
}

// choices checks the keys that have a list of values. At least one default of init and disc is
// invalid for S4, S5 and the LRU, so one error states the valid values of both.
func (v *validator) choices() {
	inits, discs := v.layer().supported()
	imported := v.Init == Imported && !v.MIMO()
	owner, hint := map[Init]Layer{FouT: LayerS4, Hippo: LayerS4, Ring: LayerLRU}[v.Init], ""
	if owner != "" && owner != v.Layer {
		hint = fmt.Sprintf("; init %q requires layer %q (ssm.layer=%s)", v.Init, owner, owner)
	}
	v.reject(!imported && !slices.Contains(inits, v.Init) || !slices.Contains(discs, v.Disc),
		"init %q, disc %q: layer %q expects init in %q and disc in %q%s", v.Init, v.Disc, v.layer(), inits, discs, hint)

	only(v, !v.MIMO() && v.Layer != LayerS4, "param", v.Param)
	params, cInits := []Param{"", ParamContinuous, ParamDiscrete}, []CInit{"", CTruncStandardNormal, CLecunNormal, CComplexNormal}
	v.reject(!slices.Contains(params, v.Param), "param %q: expected one of %q", v.Param, params[1:])
	v.reject(v.Discrete() && !v.Angles(), "param %q: init %q has no angles on the unit circle: leave param unset, or select an init such as %q", v.Param, v.Init, DFouT)
	only(v, v.Layer == LayerS5, "c_init", v.CInit)
	v.reject(!slices.Contains(cInits, v.CInit), "c_init %q: expected one of %q", v.CInit, cInits[1:])
	only(v, v.Layer == LayerS5, "clip_eigs", v.ClipEigs)

	only(v, v.Layer == LayerS4, "rate_rule", v.RateRule)
	rules := []RateRule{"", RateExact, RateKeep}
	v.reject(!slices.Contains(rules, v.RateRule), "rate_rule %q: expected one of %q", v.RateRule, rules[1:])
}

// ranges checks numbers. !(x ≥ 0) is also true of NaN.
func (v *validator) ranges() {
	v.reject(!(v.AReal >= 0 && v.AReal <= math.MaxFloat64), "a_real %v: expected a finite number ≥ 0", v.AReal)
	v.reject(v.Layer == LayerS4 && v.Bandlimit != 0, "bandlimit %v: the modes of layer %q are coupled; expected 0", v.Bandlimit, v.Layer)
	v.reject(!(v.Bandlimit >= 0 && v.Bandlimit <= math.MaxFloat64), "bandlimit %v: expected a finite number ≥ 0", v.Bandlimit)
	drawn := v.Init != Imported // imported steps come from a file, not from a range
	v.logRange("dt_min", "dt_max", v.DtMin, v.DtMax, drawn && !v.Angles() && v.Layer != LayerLRU)
	v.logRange("xi_min", "xi_max", v.XiMin, v.XiMax, drawn && v.Angles())

	only(v, v.Layer == LayerLRU, "r_min", v.RMin)
	only(v, v.Layer == LayerLRU, "r_max", v.RMax)
	only(v, v.Layer == LayerLRU, "max_phase", v.MaxPhase)
	rMax, _ := v.ring()
	v.reject(!(v.RMin >= 0 && v.RMin < 1), "r_min %v: expected 0 ≤ r_min < 1", v.RMin)
	v.reject(!(rMax >= v.RMin && rMax > 0 && rMax <= 1), "r_max %v: expected r_min %v ≤ r_max ≤ 1, or 0 (= 1)", v.RMax, v.RMin)
	v.reject(!(v.MaxPhase >= 0 && v.MaxPhase <= math.MaxFloat64), "max_phase %v: expected an angle in radians, or 0 (= %v)", v.MaxPhase, defaultMaxPhase)
}

// logRange checks the ends of a log-uniform range. A range that the scheme does not use may be 0.
func (v *validator) logRange(minName, maxName string, lo, hi float64, used bool) {
	if !used && lo == 0 && hi == 0 {
		return
	}
	v.reject(!(lo > 0 && lo <= math.MaxFloat64), "%s %v: expected a finite number > 0", minName, lo)
	v.reject(!(hi > 0 && hi <= math.MaxFloat64), "%s %v: expected a finite number > 0", maxName, hi)
	v.reject(lo > hi, "%s %v > %s %v", minName, lo, maxName, hi)
}
