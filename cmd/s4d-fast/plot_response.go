package main

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotResponseCmd struct {
	Init  []string  `help:"Initialisations, one panel each (default: ${default})." default:"lin" placeholder:"NAME"`
	Step  float64   `help:"Δ (ξ for unit-circle initialisations; default: ${default})." default:"0.1" placeholder:"X"`
	Modes int       `help:"Number of complex modes (default: ${default})." default:"10" placeholder:"M"`
	Decay []float64 `help:"Values of −Re A (of ρ for unit-circle initialisations), one curve each; 0 puts the poles on the unit circle (default: 0,0.5; not used for init real)." placeholder:"X"`
	Set   []string  `help:"Set a configuration value as in train, for example ssm.disc=bilinear or ssm.b_scale=one; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	sampleRate
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"response.png" type:"path" placeholder:"FILE"`
}

func (c *plotResponseCmd) Help() string {
	return `C is 1 in every mode, so that the response depends on the poles alone. Poles on the unit circle have an unbounded response.
The y axis is limited so that the other curves remain visible.

Examples:
  s4d-fast plot response
  s4d-fast plot response --init lin,dfout --step 0.025 --modes 32 --decay 0.5 --out response.svg
  s4d-fast plot response --init dfout --set ssm.b_scale=gamma --decay 0.5,1`
}

func (c *plotResponseCmd) Run(std *streams, ctx *ctxBox) error {
	if err := allowOptions(c.Set, "ssm.b_scale"); err != nil {
		return err
	}
	if c.Decay != nil && slices.Contains(c.Init, string(ssm.Real)) {
		return usageError(fmt.Errorf("--decay: the real parts of init %q are fixed, −1, −2, …", ssm.Real))
	}
	panels, err := orInterrupt(ctx, func() (panels []figure.Panel, err error) {
		for _, init := range c.Init {
			p, err := c.panel(ssm.Init(init))
			if err != nil {
				return nil, err
			}
			panels = append(panels, p)
		}
		return panels, nil
	})
	if err != nil {
		return err
	}
	return c.Out.curves(std, panels...)
}

// panel draws the responses of an initialisation, one curve per decay.
func (c *plotResponseCmd) panel(init ssm.Init) (p figure.Panel, err error) {
	decays := orDefault(c.Decay, 0, 0.5)
	if init == ssm.Real {
		decays = []float64{0.5} // of no effect
	}
	p = figure.Panel{Y: "|H| [dB]", Frequency: true, SampleRate: c.Rate}
	var clip []float64 // values of the unbounded curves
	low, high := math.Inf(1), math.Inf(-1)
	for _, decay := range decays {
		cfg, d, err := initialLayer{init: init, channels: 1, modes: c.Modes, step: c.Step, decay: decay, set: c.Set}.draw()
		if err != nil {
			return p, err
		}
		for n := range d.W {
			d.W[n] = d.BBar[n] // C = 1
		}
		curve := responseCurve(d)
		name := "Re A = "
		if cfg.Discrete() {
			name, decay = "ρ = ", 0-decay
		}
		if name += fmt.Sprintf("%g", 0-decay); init == ssm.Real {
			name = "Re A = -1, -2, …"
		}
		if math.IsInf(d.HInf(0).Gain, 1) {
			name += ": unbounded"
			clip = append(clip, curve.Y...)
		} else {
			low, high = min(low, slices.Min(curve.Y)), max(high, slices.Max(curve.Y))
		}
		curve.Name = name
		p.Title = fmt.Sprintf("%s, %s", stepsText(cfg), plural(d.M, "mode"))
		p.Curves = append(p.Curves, curve)
	}
	if len(clip) > 0 {
		p.YMin, p.YMax = clipped(clip, low, high)
	}
	return p, nil
}

// clipped returns the vertical range of a plot with unbounded curves: 25 dB around their median,
// and all of the other curves, which lie between low and high.
func clipped(levels []float64, low, high float64) (from, to float64) {
	slices.Sort(levels)
	middle := levels[len(levels)/2]
	return min(low, middle-25), max(high, middle+25)
}

// responseCurve samples |H| of the first SSM in dB, on a grid and around each resonance, so that it
// contains every peak. The grid avoids round numbers of radians and round fractions of π, where
// poles on the unit circle lie.
func responseCurve(d *ssm.Discrete) (c figure.Curve) {
	const samples = 8001
	for i := range samples {
		c.X = append(c.X, math.Pi*(float64(i)+0.37)/samples)
	}
	for _, a := range d.LogLambda[:d.M] {
		for _, k := range []float64{-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4} {
			theta := math.Abs(math.Remainder(imag(a)-k*real(a), 2*math.Pi))
			if real(a) < 0 {
				c.X = append(c.X, theta)
			}
		}
	}
	slices.Sort(c.X)
	for _, theta := range c.X {
		c.Y = append(c.Y, 20*math.Log10(cmplx.Abs(d.Response(0, theta))))
	}
	return c
}
