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
	Init  []string  `help:"Initialisations, a panel each." default:"lin" placeholder:"NAME"`
	Step  float64   `help:"Δ, or ξ for angles." default:"0.1" placeholder:"X"`
	Modes int       `help:"Complex modes." default:"10" placeholder:"M"`
	Decay []float64 `help:"Values of −Re A, or of ρ for angles, a curve each; 0 puts the poles on the unit circle (default: 0,0.5; real has its own)." placeholder:"X"`
	Set   []string  `help:"Replace one value as in train, for example ssm.disc=bilinear or ssm.b_scale=one; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	Out   picture   `help:"Picture to write, PNG or SVG by its name." default:"response.png" type:"path" placeholder:"FILE"`
}

func (c *plotResponseCmd) Help() string {
	return `C is 1 in every mode, so that the picture shows the poles alone. With poles on the unit circle the response has no bound:
the picture ends where its curve would leave the others behind.

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
		return usageError(fmt.Errorf("--decay: init %q has real parts of its own, −1, −2, …", ssm.Real))
	}
	var panels []figure.Panel
	err := orInterrupt(ctx, func() error {
		for _, init := range c.Init {
			p, err := c.panel(ssm.Init(init))
			if err != nil {
				return err
			}
			panels = append(panels, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := figure.Curves(string(c.Out), panels); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// panel draws an initialisation's responses, a curve for each decay.
func (c *plotResponseCmd) panel(init ssm.Init) (p figure.Panel, err error) {
	decays := orDefault(c.Decay, 0, 0.5)
	if init == ssm.Real {
		decays = []float64{0.5} // of no effect
	}
	p = figure.Panel{X: "angle [radians a sample]", Y: "|H| [dB]", Angles: true}
	var clip []float64 // levels of the curves without bound
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

// clipped returns the range of a picture of curves whose peaks and zeros have no bound: 25 dB around their middle, and
// all of the other curves, between low and high.
func clipped(levels []float64, low, high float64) (from, to float64) {
	slices.Sort(levels)
	middle := levels[len(levels)/2]
	return min(low, middle-25), max(high, middle+25)
}

// responseCurve samples |H| of the first SSM in dB, on a grid and around each resonance, so that every peak is met. No
// sample of the grid falls on an angle that is a round number of radians or a round part of a turn, where poles on the
// unit circle lie.
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
