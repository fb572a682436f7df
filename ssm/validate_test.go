package ssm

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// validations lists configurations by what they change: of S4D-Lin and DFouT, of small layers of
// the other kinds. An empty want is a valid configuration.
var validations = []struct {
	base   Config
	change func(c *Config)
	want   string
}{
	{lin, func(c *Config) {}, ""},
	{lin, func(c *Config) { c.AReal = 0 }, ""},
	{lin, func(c *Config) { c.NSSM = 2 }, ""},
	{lin, func(c *Config) { c.Init = Imported; c.DtMin, c.DtMax = 0, 0 }, ""},
	{lin, func(c *Config) { c.XiMin, c.XiMax = 0, 0 }, ""},
	{lin, func(c *Config) { c.DModel = 0 }, `d_model 0: expected at least 1`},
	{lin, func(c *Config) { c.DState = 63 }, `d_state 63: expected an even number ≥ 2`},
	{lin, func(c *Config) { c.DState = 0 }, `d_state 0: expected an even number ≥ 2`},
	{lin, func(c *Config) { c.Layer = "lstm" }, `layer "lstm": expected one of ["s4d"`},
	{lin, func(c *Config) { c.Init = Hippo }, `init "hippo" requires layer "s4" (ssm.layer=s4)`},
	{lin, func(c *Config) { c.Init = Ring }, `init "ring" requires layer "lru" (ssm.layer=lru)`},
	{lin, func(c *Config) { c.Init = "dct" }, `init "dct", disc "zoh": layer "s4d" expects init in ["lin" "inv"`},
	{lin, func(c *Config) { c.Disc = "dss" }, `init "lin", disc "dss": layer "s4d" expects init in ["lin" "inv"`},
	{lin, func(c *Config) { c.Param = ParamContinuous }, ""},
	{lin, func(c *Config) { c.Param = ParamDiscrete }, `param "discrete": init "lin" has no angles on the unit circle`},
	{lin, func(c *Config) { c.Param = "p3" }, `param "p3": expected one of ["continuous" "discrete"]`},
	{lin, func(c *Config) { c.NSSM = 3 }, `n_ssm 3 does not divide d_model 4`},
	{lin, func(c *Config) { c.NSSM = -1 }, `n_ssm -1`},
	{lin, func(c *Config) { c.NSSM = 8 }, `n_ssm 8 does not divide d_model 4`},
	{lin, func(c *Config) { c.LMax = -1 }, `l_max -1: expected 0 (no truncation)`},
	{lin, func(c *Config) { c.LKernel = 8 }, `l_kernel 8: layer "s4d" has no such setting`},
	{lin, func(c *Config) { c.ClipEigs = true }, `clip_eigs true: layer "s4d" has no such setting`},
	{lin, func(c *Config) { c.RateRule = RateKeep }, `rate_rule keep: layer "s4d" has no such setting`},
	{lin, func(c *Config) { c.Bandlimit = -1 }, `bandlimit -1: expected a finite number ≥ 0`},
	{lin, func(c *Config) { c.AReal = -0.5 }, `a_real -0.5: expected a finite number ≥ 0`},
	{lin, func(c *Config) { c.AReal = math.NaN() }, `a_real NaN`},
	{lin, func(c *Config) { c.AReal = math.Inf(1) }, `a_real +Inf`},
	{lin, func(c *Config) { c.DtMin, c.DtMax = 0.1, 0.01 }, `dt_min 0.1 > dt_max 0.01`},
	{lin, func(c *Config) { c.DtMin = 0 }, `dt_min 0: expected a finite number > 0`},
	{lin, func(c *Config) { c.DtMax = math.Inf(1) }, `dt_max +Inf`},
	{lin, func(c *Config) { c.XiMin = -1 }, `xi_min -1`},

	{dfout, func(c *Config) { c.Param, c.NSSM, c.Disc = ParamDiscrete, 4, Bilinear }, ""},
	{dfout, func(c *Config) { c.Init, c.Param, c.AReal = DFouTHalf, ParamDiscrete, 0 }, ""},
	{dfout, func(c *Config) { c.NSSM = 2 }, `n_ssm 2: init "dfout" gives every channel its own angles`},
	{dfout, func(c *Config) { c.XiMin, c.XiMax = 0, 0 }, `xi_min 0`},
	{dfout, func(c *Config) { c.XiMin = 1 }, `xi_min 1 > xi_max 0.1`},

	{dss, func(c *Config) { c.Bandlimit = 1 }, ""},
	{dss, func(c *Config) { c.Init = DFouT }, `layer "dss" expects init in ["lin" "inv" "legs" "real" "inv2" "quad" "rand"] and disc in ["zoh"]`},
	{dss, func(c *Config) { c.Disc = Bilinear }, `init "lin", disc "bilinear": layer "dss" expects`},
	{dss, func(c *Config) { c.LMax = 9 }, `l_max 9: kernels of layer "dss" have l_kernel taps`},
	{dss, func(c *Config) { c.LKernel = -1 }, `l_kernel -1: expected 0`},

	{s4, func(c *Config) { c.Init, c.DState = Imported, 1024 }, ""},
	{s4, func(c *Config) { c.DState = 1026 }, `d_state 1026: layer "s4" expects at most 1024`},
	{s4, func(c *Config) { c.Init, c.Disc = Lin, ZOH }, `init "lin", disc "zoh": layer "s4" expects init in ["legs" "fout" "hippo"] and disc in ["bilinear"]`},
	{s4, func(c *Config) { c.Param = ParamDiscrete }, `param discrete: layer "s4" has no such setting`},
	{s4, func(c *Config) { c.Bandlimit = 1 }, `bandlimit 1: the modes of layer "s4" are coupled`},
	{s4, func(c *Config) { c.RateRule = "hold" }, `rate_rule "hold": expected one of ["exact" "keep"]`},
	{s4, func(c *Config) { c.Init, c.NSSM = Hippo, 1 }, `n_ssm 1: init "hippo" expects an even number of copies`},

	{s5, func(c *Config) { c.Bandlimit, c.Blocks, c.CInit, c.ClipEigs = 1, 2, CLecunNormal, true }, ""},
	{s5, func(c *Config) { c.Init = Lin }, `init "lin", disc "zoh": layer "s5" expects init in ["legs"] and disc in ["zoh" "bilinear"]`},
	{s5, func(c *Config) { c.Blocks = 3 }, `blocks 3: expected 0 (= 1) or a number that divides d_state 8`},
	{s5, func(c *Config) { c.CInit = "zero" }, `c_init "zero": expected one of ["trunc_standard_normal"`},
	{s5, func(c *Config) { c.NSSM = 2 }, `n_ssm 2: layer "s5" has no such setting`},
	{s5, func(c *Config) { c.LMax = 9 }, `l_max 9: layer "s5" has no such setting`},
	{s5, func(c *Config) { c.RMax = 0.9 }, `r_max 0.9: layer "s5" has no such setting`},
	{s5, func(c *Config) { c.DtMin = 0 }, `dt_min 0: expected a finite number > 0`},
	{s5, func(c *Config) { c.XiMax = math.NaN() }, `xi_max NaN: expected a finite number > 0`},

	{lru, func(c *Config) { c.DState, c.RMin, c.RMax, c.MaxPhase = 7, 0.9, 0.999, 0.314 }, ""},
	{lru, func(c *Config) { c.DState = 0 }, `d_state 0: expected at least 1`},
	{lru, func(c *Config) { c.Disc = Bilinear }, `init "ring", disc "bilinear": layer "lru" expects init in ["ring"] and disc in ["zoh"]`},
	{lru, func(c *Config) { c.RMin, c.RMax = 0.9, 0.5 }, `r_max 0.5: expected r_min 0.9 ≤ r_max ≤ 1`},
	{lru, func(c *Config) { c.RMin = 1 }, `r_min 1: expected 0 ≤ r_min < 1`},
	{lru, func(c *Config) { c.MaxPhase = -1 }, `max_phase -1: expected an angle`},
	{lru, func(c *Config) { c.Blocks = 2 }, `blocks 2: layer "lru" has no such setting`},
}

var (
	lin   = config(Lin, 4, 8)
	dfout = config(DFouT, 4, 8)
	dss   = ofLayer(LayerDSS, Lin, ZOH)
	s4    = ofLayer(LayerS4, LegS, Bilinear)
	s5    = ofLayer(LayerS5, LegS, ZOH)
	lru   = ofLayer(LayerLRU, Ring, ZOH)
)

func ofLayer(layer Layer, init Init, disc Disc) Config {
	c := config(init, 4, 8)
	c.Layer, c.Disc = layer, disc
	return c
}

func TestValidate(t *testing.T) {
	for _, test := range validations {
		cfg := test.base
		test.change(&cfg)
		err := cfg.Validate()
		if test.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, "ssm: ", test.want)
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
		must.Fail(t, err, `ssm: layer "s4": its modes are coupled, so they have no scores of their own; expected one of ["s4d" "dss" "s5" "lru"]`)
	}
}
