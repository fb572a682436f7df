package main

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func TestPlotHinf(t *testing.T) {
	for param, step := range map[ssm.Param]string{ssm.ParamContinuous: "step Δ", ssm.ParamDiscrete: "damping ξ"} {
		path := saved(t, func(c *model.Config) { c.SSM.Param, c.SSM.Bidirectional, c.NLayers, c.SSMLayers = param, true, 3, 2 })
		mustHave(t, drawn(t, 1200, 500, "hinf", path), "layer 1", "layer 2", step, "normalised H∞ score, without D")
	}
}

// Scores are those of the SSMs' responses, divided by the largest of all layers. SSMs with poles on
// the unit circle have none.
func TestHinfPanel(t *testing.T) {
	m := must.Get(model.Load(saved(t, func(c *model.Config) { c.SSM.Init = ssm.Lin })))(t)
	for n := range m.Config.SSM.Modes() {
		m.Weights.Layers[1].Decay[n] = float32(math.Inf(-1)) // channel 0 of the second layer
	}
	p := must.Get(hinfPanel(m))(t)
	largest := 0.0
	for i, c := range p.Curves {
		params := m.SSMParams(i)
		for h, y := range c.Y {
			if i == 1 && h == 0 {
				if !math.IsNaN(y) {
					t.Errorf("poles on the unit circle have the score %v", y)
				}
				continue
			}
			largest = max(largest, y)
			gain, of := params.Discretize(ssm.ZOH, 1).HInf(h).Gain, m.SSMParams(0).Discretize(ssm.ZOH, 1).HInf(0).Gain
			if want := gain * gain / (of * of) * p.Curves[0].Y[0]; math.Abs(y-want) > 1e-12*want {
				t.Errorf("layer %d, SSM %d: score %v, expected %v", i+1, h, y, want)
			}
			must.Equal(t, c.X[h], math.Exp(params.Step[h]), "layer %d, SSM %d: Δ", i+1, h)
		}
	}
	if largest != 1 || !strings.Contains(p.Title, "of 7 SSMs") || !strings.Contains(p.Title, "1 unbounded") {
		t.Errorf("largest score %v, title %q", largest, p.Title)
	}
}
