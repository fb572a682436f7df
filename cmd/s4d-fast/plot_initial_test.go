package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The plots of initialisations draw every kind of layer, and compare the values of --set and
// --step.
func TestPlotInitial(t *testing.T) {
	for _, c := range []struct {
		args          string
		width, height int // 0: any
		texts         string
	}{
		{"poles", 1260, 3 * 440, "S4D-Lin, Δ = 0.001;S4D-Inv, Δ = 0.025;S4D-DFouT, ξ = 0.1;32 modes, 1 SSM;π/2"},
		{"poles --step=", 0, 0, "S4D-Lin, Δ = 0.001"}, // an empty shell variable selects the default
		{"poles --set ssm.init=lin,dfout --step 0.1", 1120, 580, "S4D-Lin, Δ = 0.1;S4D-DFouT, ξ = 0.1"},
		{"poles --set ssm.init=dfout-half --step 0.1 --set ssm.xi_min=0.01", 0, 0, "dfout-half, ξ from 0.01 to 0.1;33 modes, 1 SSM"},
		{"poles --set ssm.layer=s4 --step 0.01,0.1", 0, 0, "s4 legs, Δ = 0.01;s4 fout, Δ = 0.1"},
		{"poles --set ssm.layer=s4 --set ssm.init=hippo --step 0.1 --set ssm.d_state=16 --set model.d_model=2", 0, 0, "s4 hippo, Δ = 0.1;8 modes, 2 SSMs"},
		{"poles --set ssm.layer=dss --step 0.1", 0, 0, "dss lin, Δ = 0.1;dss inv, Δ = 0.1;dss legs, Δ = 0.1"},
		{"poles --set ssm.layer=s5 --set ssm.blocks=4 --set ssm.dt_min=0.01 --step 0.025,0.1", 0, 0, "s5 legs, Δ from 0.01 to 0.025;s5 legs, Δ from 0.01 to 0.1"},
		{"poles --set ssm.layer=lru", 0, 0, "lru ring, |λ| from 0 to 1;64 modes, 1 SSM"},
		{"response --set ssm.init=lin,dfout", 1200, 720, "S4D-Lin, Δ = 0.1, 10 modes;S4D-DFouT, ξ = 0.1, 10 modes;Re A = 0: unbounded;Re A = -0.5;0;π;angular frequency [rad per sample]"},
		{"response --set ssm.init=dfout --set ssm.param=discrete", 0, 0, "ρ = 0: unbounded;ρ = 0.5"},
		{"response --set ssm.a_real=0.5,1 --step 0.05", 0, 0, "S4D-Lin, Δ = 0.05, 10 modes;Re A = -0.5;Re A = -1"},
		{"response --set ssm.layer=s4", 0, 0, "s4 legs, Δ = 0.1, 10 modes;A = -1, -2, …;s4 fout, Δ = 0.1, 10 modes"},
		{"response --set ssm.init=inv --set ssm.layer=dss --set ssm.l_kernel=256", 0, 0, "dss inv, Δ = 0.1, 10 modes;Re A = -0.0001;Re A = -0.5"},
	} {
		texts := drawn(t, c.width, c.height, strings.Fields(c.args)...)
		mustHave(t, texts, strings.Split(c.texts, ";")...)
	}
	real := drawn(t, 0, 0, "response", "--set", "ssm.init=real")
	if mustHave(t, real, "Re A = -1, -2, …"); strings.Count(real, "Re A") != 1 {
		t.Errorf("real has one curve:\n%s", real)
	}
}

// The vertical range of an unbounded response lies around its median, because the peaks depend on
// the samples. A bounded response is shown with its whole peak.
func TestResponseRange(t *testing.T) {
	for _, set := range [][]string{{"ssm.init=dfout"}, {"ssm.layer=s4", "ssm.init=fout"}} {
		c := initialFlags{Set: set, Step: []float64{0.01}}
		row := must.Get(c.compare(20, axis("ssm.a_real", "0", "0.5"), c.steps()))(t)[0]
		p := must.Get(responsePanel(row))(t)
		damped := p.Curves[len(p.Curves)-1].Y
		_, a, err := unitResponse(row[1])
		must.Do(t, err)
		top := slices.Max(damped)
		if peak := 20 * math.Log10(a.HInf(0).Gain); math.Abs(top-peak) > 0.01 {
			t.Errorf("%v: the curve's peak is %v dB, H∞ %v dB", set, top, peak)
		}
		if len(p.Curves) == 1 {
			continue
		}
		if p.YMax > 1.05*top+25 || p.YMax < top || p.YMin > slices.Min(damped) {
			t.Errorf("range %v to %v dB, expected to include %v to %v", p.YMin, p.YMax, slices.Min(damped), top)
		}
		if peak := slices.Max(p.Curves[0].Y); peak <= top {
			t.Errorf("undamped peak %v dB, expected more than the damped %v", peak, top)
		}
	}
}
