package main

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotResponseCmd struct {
	Init  []string  `help:"Initialisations, a panel each." default:"lin" placeholder:"NAME,..."`
	Step  float64   `help:"Δ, or ξ for angles." default:"0.1" placeholder:"X"`
	Modes int       `help:"Complex modes." default:"10" placeholder:"M"`
	Decay []float64 `help:"Values of −Re A, a curve each; 0 puts the poles on the unit circle." default:"0,0.5" placeholder:"X,..."`
	Out   picture   `help:"Picture to write, PNG or SVG by its name." default:"response.png" type:"path" placeholder:"FILE"`
}

func (c *plotResponseCmd) Help() string {
	return `C is 1 in every mode, so that the picture shows the poles alone.

Examples:
  s4d-fast plot response
  s4d-fast plot response --init lin,dfout --step 0.025 --modes 32 --decay 0.5 --out response.svg`
}

func (c *plotResponseCmd) Run(std *streams) error {
	var panels []figure.Panel
	for _, init := range c.Init {
		p := figure.Panel{
			Title: fmt.Sprintf("%s, %d modes, %s = %g", init, c.Modes, stepName(ssm.Init(init)), c.Step),
			X:     "angle [radians a sample]", Y: "|H| [dB]",
		}
		for _, decay := range c.Decay {
			d, err := initialLayer(ssm.Init(init), 1, c.Modes, c.Step, decay)
			if err != nil {
				return usageError(err)
			}
			for n := range d.W {
				d.W[n] = d.BBar[n] // C = 1
			}
			p.Curves = append(p.Curves, responseCurve(fmt.Sprintf("Re A = %g", 0-decay), d))
		}
		panels = append(panels, p)
	}
	if err := figure.Curves(string(c.Out), panels); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// responseCurve samples |H| of the first SSM in dB. No sample falls on an angle that is a round number of radians or a
// round part of a turn, where poles on the unit circle lie.
func responseCurve(name string, d *ssm.Discrete) figure.Curve {
	const samples = 4001
	c := figure.Curve{Name: name}
	for i := range samples {
		theta := math.Pi * (float64(i) + 0.37) / samples
		c.X = append(c.X, theta)
		c.Y = append(c.Y, 20*math.Log10(cmplx.Abs(d.Response(0, theta))))
	}
	return c
}
