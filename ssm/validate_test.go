package ssm

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.AReal = 0 }, ""},
		{func(c *Config) { c.NSSM = 2 }, ""},
		{func(c *Config) { c.Init = Imported; c.DtMin, c.DtMax = 0, 0 }, ""},
		{func(c *Config) { c.XiMin, c.XiMax = 0, 0 }, ""},
		{func(c *Config) { c.Init = DFouT; c.NSSM = 4 }, ""},
		{func(c *Config) { c.DModel = 0 }, `ssm: d_model 0: expected at least 1`},
		{func(c *Config) { c.DState = 63 }, `ssm: d_state 63: expected an even number ≥ 2`},
		{func(c *Config) { c.DState = 0 }, `ssm: d_state 0: expected an even number ≥ 2`},
		{func(c *Config) { c.Init = "hippo" }, `ssm: init "hippo": requires layer "s4" (ssm.layer=s4); layer "s4d" expects one of ["lin" "inv" "legs" "real" "inv2" "quad" "rand" "dfout" "dfout-single" "dfout-half"]`},
		{func(c *Config) { c.Disc = "dss" }, `ssm: disc "dss": expected one of ["zoh" "bilinear"]`},
		{func(c *Config) { c.Init = DFouT; c.Disc = Bilinear }, ""},
		{func(c *Config) { c.Init, c.Param = DFouT, ParamContinuous }, ""},
		{func(c *Config) { c.Init, c.Param = DFouTHalf, ParamWidth }, ""},
		{func(c *Config) { c.Param = "p3" }, `ssm: param "p3": expected one of ["discrete" "continuous" "width"]`},
		{func(c *Config) { c.Init = FouT }, `ssm: init "fout": requires layer "s4" (ssm.layer=s4); layer "s4d" expects one of ["lin"`},
		{func(c *Config) { c.Init = "dct" }, `ssm: init "dct": expected one of ["lin"`},
		{func(c *Config) { c.Init = DFouT; c.NSSM = 2 }, `ssm: n_ssm 2: init "dfout"`},
		{func(c *Config) { c.NSSM = 3 }, `ssm: n_ssm 3 does not divide d_model 4`},
		{func(c *Config) { c.NSSM = -1 }, `ssm: n_ssm -1`},
		{func(c *Config) { c.NSSM = 8 }, `ssm: n_ssm 8 does not divide d_model 4`},
		{func(c *Config) { c.LMax = -1 }, `ssm: l_max -1`},
		{func(c *Config) { c.Init, c.Param, c.AReal = DFouT, ParamWidth, 0 }, `ssm: a_real 0: param "width" moves angles`},
		{func(c *Config) { c.Param = ParamWidth }, `ssm: param "width": init "lin" has no angles on the unit circle: leave param unset, or select an init such as "dfout"`},
		{func(c *Config) { c.Layer = "lstm" }, `ssm: layer "lstm": expected one of ["s4d"`},
		{func(c *Config) { c.LKernel = -1 }, `ssm: l_kernel -1: expected 0`},
		{func(c *Config) { c.LKernel = 8 }, `ssm: l_kernel 8: kernels of layer "s4d" have no fixed length`},
		{func(c *Config) { c.Layer, c.Init = LayerDSS, DFouT }, `ssm: init "dfout": layer "dss" expects one of ["lin" "inv" "legs" "real" "inv2" "quad" "rand"]`},
		{func(c *Config) { c.Layer, c.Init = LayerDSS, FouT }, `ssm: init "fout": requires layer "s4" (ssm.layer=s4); layer "dss" expects one of ["lin"`},
		{func(c *Config) { c.Layer, c.Disc = LayerDSS, Bilinear }, `ssm: disc "bilinear": layer "dss" expects "zoh"`},
		{func(c *Config) { c.Layer, c.Bandlimit = LayerDSS, 1 }, ""},
		{func(c *Config) { c.Layer, c.LMax = LayerDSS, 9 }, `ssm: l_max 9: kernels of layer "dss" have l_kernel taps`},
		{func(c *Config) { c.Layer, c.Init, c.Disc, c.DState = LayerS4, LegS, Bilinear, 1026 }, `ssm: d_state 1026: layer "s4" expects at most 1024`},
		{func(c *Config) { c.Layer, c.Init, c.Disc, c.DState = LayerS4, Imported, Bilinear, 32768 }, `ssm: d_state 32768: layer "s4" expects at most 1024`},
		{func(c *Config) { c.Layer, c.Init, c.Disc, c.DState = LayerS4, Imported, Bilinear, 1024 }, ""},
		{func(c *Config) { c.Layer, c.Init = LayerS5, LegS }, ""},
		{func(c *Config) { c.Layer, c.Init, c.Blocks, c.CInit, c.ClipEigs = LayerS5, LegS, 2, CLecunNormal, true }, ""},
		{func(c *Config) { c.Layer = LayerS4 }, `ssm: init "lin", disc "zoh": layer "s4" expects init "legs", "fout" or "hippo" and disc "bilinear"`},
		{func(c *Config) { c.Layer, c.Init = LayerS4, FouT }, `ssm: disc "zoh": layer "s4" expects init "legs", "fout" or "hippo" and disc "bilinear"`},
		{func(c *Config) { c.Layer, c.Init, c.Disc, c.Param = LayerS4, FouT, Bilinear, ParamWidth }, `ssm: param width: layer "s4" has no such setting`},
		{func(c *Config) { c.Layer = LayerS5 }, `ssm: init "lin": layer "s5" expects init "legs" and disc "zoh" or "bilinear"`},
		{func(c *Config) { c.Layer, c.Init, c.Blocks = LayerS5, LegS, 3 }, `ssm: blocks 3: expected 0 (= 1) or a number that divides d_state 8`},
		{func(c *Config) { c.Layer, c.Init, c.CInit = LayerS5, LegS, "zero" }, `ssm: c_init "zero": expected one of ["trunc_standard_normal"`},
		{func(c *Config) { c.Layer, c.Init, c.NSSM = LayerS5, LegS, 2 }, `ssm: n_ssm 2: layer "s5" has no such setting`},
		{func(c *Config) { c.Layer, c.Init, c.Bandlimit = LayerS5, LegS, 1 }, ""},
		{func(c *Config) { c.Layer, c.Init, c.Bandlimit = LayerS5, LegS, -1 }, `ssm: bandlimit -1: expected a finite number ≥ 0`},
		{func(c *Config) { c.Layer, c.Init, c.RateRule = LayerS5, LegS, RateHold }, `ssm: rate_rule hold: layer "s5" has no such setting`},
		{func(c *Config) { c.Layer, c.Init, c.LMax = LayerS5, LegS, 9 }, `ssm: l_max 9: layer "s5" has no such setting`},
		{func(c *Config) { c.Layer, c.Init, c.RMax = LayerS5, LegS, 0.9 }, `ssm: r_max 0.9: layer "s5" has no such setting`},
		{func(c *Config) { c.Layer, c.Init, c.DtMin = LayerS5, LegS, 0 }, `ssm: dt_min 0: expected a finite number > 0`},
		{func(c *Config) { c.Layer, c.Init, c.Disc = LayerS5, LegS, "dss" }, `ssm: disc "dss": layer "s5" expects init "legs" and disc "zoh" or "bilinear"`},
		{func(c *Config) { c.Layer, c.Init, c.DState = LayerLRU, Ring, 7 }, ""},
		{func(c *Config) { c.Layer, c.Init, c.RMin, c.RMax, c.MaxPhase = LayerLRU, Ring, 0.9, 0.999, 0.314 }, ""},
		{func(c *Config) { c.Layer = LayerLRU }, `ssm: init "lin": layer "lru" expects init "ring" and disc "zoh"`},
		{func(c *Config) { c.Layer, c.Init, c.RateRule, c.Bandlimit = LayerLRU, Ring, RateDecimate, 1 }, ""},
		{func(c *Config) { c.Layer, c.Init, c.RateRule = LayerLRU, Ring, RateHold }, ""},
		{func(c *Config) { c.Layer, c.Init, c.RateRule = LayerLRU, Ring, RateKeep }, `ssm: rate_rule "keep": layer "lru" expects one of ["hold" "decimate"]`},
		{func(c *Config) { c.Layer, c.Init, c.DtMin = LayerLRU, Ring, math.NaN() }, `ssm: dt_min NaN: expected a finite number > 0`},
		{func(c *Config) { c.Layer, c.Init, c.XiMax = LayerS5, LegS, math.NaN() }, `ssm: xi_max NaN: expected a finite number > 0`},
		{func(c *Config) { c.Layer, c.Init, c.AReal = LayerS5, LegS, math.NaN() }, `ssm: a_real NaN: expected a finite number ≥ 0`},
		{func(c *Config) { c.Layer, c.Init, c.LMax = LayerLRU, Ring, 9 }, `ssm: l_max 9: layer "lru" has no such setting`},
		{func(c *Config) { c.Layer, c.Init, c.DState = LayerLRU, Ring, 0 }, `ssm: d_state 0: expected at least 1`},
		{func(c *Config) { c.Layer, c.Init, c.RMin, c.RMax = LayerLRU, Ring, 0.9, 0.5 }, `ssm: r_max 0.5: expected r_min 0.9 ≤ r_max ≤ 1`},
		{func(c *Config) { c.Layer, c.Init, c.RMin = LayerLRU, Ring, 1 }, `ssm: r_min 1: expected 0 ≤ r_min < 1`},
		{func(c *Config) { c.Layer, c.Init, c.MaxPhase = LayerLRU, Ring, -1 }, `ssm: max_phase -1: expected an angle`},
		{func(c *Config) { c.Layer, c.Init, c.Blocks = LayerLRU, Ring, 2 }, `ssm: blocks 2: layer "lru" has no such setting`},
		{func(c *Config) { c.Layer, c.Init, c.Disc = LayerLRU, Ring, Bilinear }, `ssm: disc "bilinear": layer "lru" expects init "ring" and disc "zoh"`},
		{func(c *Config) { c.Init = Ring }, `ssm: init "ring": requires layer "lru" (ssm.layer=lru)`},
		{func(c *Config) { c.ClipEigs = true }, `ssm: clip_eigs true: layer "s4d" has no such setting`},
		{func(c *Config) { c.RateRule = "skip" }, `ssm: rate_rule "skip": expected one of ["hold" "decimate"]`},
		{func(c *Config) { c.RateRule = RateDecimate }, `ssm: rate_rule "decimate": poles of init "lin" follow other sampling rates by scaling the step Δ, so they have no rule: leave rate_rule unset`},
		{func(c *Config) { c.Init, c.Param, c.RateRule = DFouT, ParamContinuous, RateDecimate }, `ssm: rate_rule "decimate": poles with param "continuous" follow other sampling rates by scaling the step Δ`},
		{func(c *Config) { c.Init, c.RateRule = DFouT, RateDecimate }, ""},
		{func(c *Config) { c.Bandlimit = -1 }, `ssm: bandlimit -1: expected a finite number ≥ 0`},
		{func(c *Config) { c.AReal = -0.5 }, `ssm: a_real -0.5: expected a finite number ≥ 0`},
		{func(c *Config) { c.AReal = math.NaN() }, `ssm: a_real NaN`},
		{func(c *Config) { c.AReal = math.Inf(1) }, `ssm: a_real +Inf`},
		{func(c *Config) { c.DtMin, c.DtMax = 0.1, 0.01 }, `ssm: dt_min 0.1 > dt_max 0.01`},
		{func(c *Config) { c.DtMin = 0 }, `ssm: dt_min 0: expected a finite number > 0`},
		{func(c *Config) { c.DtMax = math.Inf(1) }, `ssm: dt_max +Inf`},
		{func(c *Config) { c.XiMin = -1 }, `ssm: xi_min -1`},
		{func(c *Config) { c.Init = DFouT; c.XiMin, c.XiMax = 0, 0 }, `ssm: xi_min 0`},
		{func(c *Config) { c.Init = DFouT; c.XiMin = 1 }, `ssm: xi_min 1 > xi_max 0.1`},
	}
	for _, test := range tests {
		cfg := config(Lin, 4, 8)
		test.change(&cfg)
		err := cfg.Validate()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v", cfg, err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "ssm: ") || !strings.Contains(err.Error(), test.want)):
			t.Errorf("got %v, expected %s", err, test.want)
		}
		if _, newErr := New(cfg, 1, 0); (newErr == nil) != (err == nil && cfg.Init != Imported) {
			t.Errorf("New: %v, Validate: %v", newErr, err)
		}
	}
}

// The error for layers without scores says why they have none.
func TestCheckScores(t *testing.T) {
	for _, layer := range Layers() {
		err := Config{Layer: layer}.CheckScores()
		if layer != LayerS4 {
			must.Do(t, err)
			continue
		}
		must.Fail(t, err, `ssm: layer "s4": its modes are coupled, so they have no scores of their own; expected layer "s4d", "dss", "s5" or "lru"`)
	}
}
