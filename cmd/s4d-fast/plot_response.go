package main

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
)

type plotResponseCmd struct {
	initialFlags
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"response.png" type:"path" placeholder:"FILE"`
}

func (c *plotResponseCmd) Help() string {
	return `The plot has a panel per combination of the values of --set and --step, and a curve per value of ssm.a_real: −Re A, or ρ
for initialisations on the unit circle. The defaults are ssm.init=lin, ssm.d_state=20 and ssm.a_real=0,0.5.

C is 1 in every mode, so that the response depends on the poles alone. Poles on the unit circle (ssm.a_real=0) have an
unbounded response. The y axis is limited so that the other curves remain visible.

ssm.layer=NAME selects another layer than S4D: dss or s4. The modes of S4 are coupled, so
its response belongs to the whole channel. Its modes are Λ's, and B is HiPPO's. The weights of DSS depend on the length of
the kernel, ssm.l_kernel=N, and its −Re A is at least 0.0001.

s5 and lru are one SSM for all channels, so a channel has no response of its own.

Examples (docs/training.md has more):
  s4d-fast plot response
  s4d-fast plot response --set ssm.init=lin,dfout --step 0.025 --set ssm.d_state=64 --set ssm.a_real=0.5 --out response.svg`
}

func (c *plotResponseCmd) Run(std *streams) error {
	rows, err := c.compare(20, axis("ssm.a_real", "0", "0.5"), c.steps(0.1), axis("ssm.init", "lin"))
	if err != nil {
		return err
	}
	var panels []figure.Panel
	for _, row := range rows {
		p, err := responsePanel(row)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return c.Out.curves(std, panels...)
}

// responsePanel draws the responses of layers that differ in their decay, or of the first one if
// its real parts are fixed.
func responsePanel(row []train.Config) (p figure.Panel, err error) {
	p = figure.Panel{Y: "|H| [dB]", Frequency: true}
	var clip []float64 // values of the unbounded curves
	low, high := math.Inf(1), math.Inf(-1)
	for _, cfg := range row {
		layer, a, err := unitResponse(cfg)
		if err != nil {
			return p, err
		}
		curve := responseCurve(a)
		curve.Name = decayText(layer)
		if math.IsInf(a.HInf(0).Gain, 1) {
			curve.Name += ": unbounded"
			clip = append(clip, curve.Y...)
		} else {
			low, high = min(low, slices.Min(curve.Y)), max(high, slices.Max(curve.Y))
		}
		p.Title = fmt.Sprintf("%s, %s", stepsText(layer.Config), plural(layer.Modes(), "mode"))
		p.Curves = append(p.Curves, curve)
		if layer.Layer == ssm.LayerS4 || layer.Init == ssm.Real {
			break
		}
	}
	if len(clip) > 0 { // 25 dB around their median, and all of the other curves
		slices.Sort(clip)
		middle := clip[len(clip)/2]
		p.YMin, p.YMax = min(low, middle-25), max(high, middle+25)
	}
	return p, nil
}

// unitResponse returns a layer whose C is 1 in every mode, and its analysis.
func unitResponse(cfg train.Config) (*ssm.Params, *ssm.Analysis, error) {
	p, err := drawInitial(cfg)
	if err != nil {
		return nil, nil, err
	}
	if p.Layer == ssm.LayerDSS && p.LKernel == 0 {
		return nil, nil, usageError(fmt.Errorf("layer %q: the response depends on the length of the kernel: set it, for example --set ssm.l_kernel=1024", p.Layer))
	}
	if p.MIMO() {
		return nil, nil, usageError(fmt.Errorf("layer %q is one SSM for all channels, so a channel has no response of its own", p.Layer))
	}
	for n := range p.C {
		p.C[n] = 1
	}
	a, err := p.AnalyzeInitial()
	return p, a, err
}

// decayText describes the real parts of A, or ρ, for example "Re A = -0.5". It is empty if they
// have no formula.
func decayText(p *ssm.Params) string {
	decay := math.Exp(p.Decay[0])
	switch {
	case p.Init == ssm.Real:
		return "Re A = -1, -2, …"
	case p.Layer == ssm.LayerS4 && p.Init == ssm.LegS:
		return "A = -1, -2, …"
	case p.Layer == ssm.LayerS4:
		return ""
	case p.Discrete():
		return fmt.Sprintf("ρ = %.4g", decay)
	case p.Layer == ssm.LayerDSS:
		decay = p.Decay[0]
	}
	return fmt.Sprintf("Re A = %.4g", 0-decay)
}

// responseCurve samples |H| of a layer with one SSM in dB on a grid and around each resonance, so
// that it contains every peak. The grid avoids round numbers of radians and round fractions of π,
// where poles on the unit circle lie.
func responseCurve(a *ssm.Analysis) (c figure.Curve) {
	const samples = 8001
	for i := range samples {
		c.X = append(c.X, math.Pi*(float64(i)+0.37)/float64(samples))
	}
	for _, l := range a.LogPoles {
		for _, k := range []float64{-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4} {
			theta := math.Abs(math.Remainder(imag(l)-k*real(l), 2*math.Pi))
			if real(l) < 0 {
				c.X = append(c.X, theta)
			}
		}
	}
	slices.Sort(c.X)
	for _, theta := range c.X {
		c.Y = append(c.Y, 20*math.Log10(cmplx.Abs(a.Response(0, theta))))
	}
	return c
}
