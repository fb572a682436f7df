package ssm

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every layer's initial parameters pass Check, on the unit circle too. A value whose exponential
// overflows is an error that names the channel or the mode.
func TestWildParameters(t *testing.T) {
	base := Config{DModel: 3, DState: 4, Init: Lin, Disc: ZOH, DtMin: 1e-3, DtMax: 0.1, XiMin: 1e-3, XiMax: 0.1, AReal: 0.5}
	with := func(change func(c *Config)) Config { c := base; change(&c); return c }
	undamped := with(func(c *Config) { c.AReal = 0 })
	dfout := with(func(c *Config) { c.Init, c.Bidirectional = DFouT, true })
	dss := with(func(c *Config) { c.Layer, c.LKernel = LayerDSS, 16 })
	s4 := with(func(c *Config) { c.Layer, c.Init, c.Disc, c.LKernel = LayerS4, LegS, Bilinear, 16 })
	for _, tt := range []struct {
		name   string
		cfg    Config
		change func(p *Params)
		want   string // "": no error
	}{
		{"S4D", base, func(p *Params) {}, ""},
		{"undamped", undamped, func(p *Params) {}, ""},
		{"decay of 0", base, func(p *Params) { p.Decay[1] = math.Inf(-1) }, ""},
		{"decay that overflows", base, func(p *Params) { p.Decay[1] = 1000 }, ""}, // λ̄ = 0
		{"long step", base, func(p *Params) { p.Step[2] = 1000 }, "channel 2, mode 0: the step is +Inf"},
		{"long step, undamped", undamped, func(p *Params) { p.Step[2] = 1000 }, "channel 2, mode 0: the step is +Inf"},
		{"C·B̄", base, func(p *Params) { p.C[3], p.B[3] = 1e30, 1e30 }, "channel 1, mode 1: the step is"},
		{"DFouT", dfout, func(p *Params) {}, ""},
		{"long ξ", dfout, func(p *Params) { p.Step[1] = 1000 }, "channel 1, mode 0: the step is +Inf"},
		{"C of the second direction", dfout, func(p *Params) { p.C[11], p.B[5] = 1e38, 1e38 }, "channel 2, mode 1: the step is"},
		{"DSS", dss, func(p *Params) {}, ""},
		{"DSS, growing", dss, func(p *Params) { p.Decay[1] = -1 }, ""},
		{"DSS, growing too fast", dss, func(p *Params) { p.Decay[3], p.Step[1] = -100, 10 }, "channel 1, mode 1"},
		{"S4", s4, func(p *Params) {}, ""},
		{"S4, long step", s4, func(p *Params) { p.Step[1] = 1000 }, "channel 1: the step is +Inf"},
		{"S4, no step", s4, func(p *Params) { p.Step[1] = -1000 }, "channel 1: the step is 0"},
		{"S4, decay", s4, func(p *Params) { p.Decay[3] = 1000 }, "copy 1, mode 1: −Re Λ is +Inf"},
		{"S5", scanConfig(LayerS5, 3, 8), func(p *Params) {}, ""},
		{"S5, growing", scanConfig(LayerS5, 3, 8), func(p *Params) { p.Decay[1] = 3 }, ""},
		{"S5, long step", scanConfig(LayerS5, 3, 8), func(p *Params) { p.Step[2] = 1000 }, "mode 2"},
		{"S5, large B̄", scanConfig(LayerS5, 3, 8), func(p *Params) { p.B[4] = 1e300 }, "mode 1, channel 1: B̄ is"},
		{"LRU", scanConfig(LayerLRU, 3, 5), func(p *Params) {}, ""},
		{"LRU, undamped", scanConfig(LayerLRU, 3, 5), func(p *Params) { p.Decay[2] = math.Inf(-1) }, ""},
		{"LRU, angle", scanConfig(LayerLRU, 3, 5), func(p *Params) { p.Freq[2] = 1000 }, "mode 2: λ̄ is (NaN+NaNi)"},
		{"LRU, γ", scanConfig(LayerLRU, 3, 5), func(p *Params) { p.Gamma[4] = 1000 }, "mode 4, channel 0: B̄ is"},
	} {
		p := must.Get(New(tt.cfg, 1, 0))(t)
		tt.change(p)
		if err := p.Check(); (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), "ssm: "+tt.want) {
			t.Errorf("%s: error %v, expected %q", tt.name, err, tt.want)
		}
	}
}
