package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotHinfCmd struct {
	Model modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	Out   plotFile  `help:"Output file, PNG or SVG by its name (default: ${default})." default:"hinf.png" type:"path" placeholder:"FILE"`
}

func (c *plotHinfCmd) Help() string {
	return `The score of an SSM is the square of its largest frequency response, sup |H|², without D. For a bidirectional SSM, the
score is the larger of its two kernels' scores. Scores are divided by the largest of all layers. SSMs with poles on the
unit circle are left out, because their response is unbounded. An S5 layer is one SSM, so the plot has one point per mode,
with the H∞ score of the mode. An LRU has no step Δ and cannot be plotted; inspect --scores prints its scores.

Example:
  s4d-fast plot hinf runs/scifar/best.safetensors --out hinf.svg`
}

func (c *plotHinfCmd) Run(std *streams, ctx context.Context) error {
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	p, err := hinfPanel(m)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	return c.Out.curves(std, p)
}

// hinfPanel draws the scores of each layer in its own colour.
func hinfPanel(m *model.Model) (figure.Panel, error) {
	if m.Config.SSM.Layer == ssm.LayerLRU {
		return figure.Panel{}, errors.New("an LRU has no step Δ, which is the x axis of this plot; inspect --scores prints the scores of its modes")
	}
	layers, err := analyze(m)
	if err != nil {
		return figure.Panel{}, err
	}
	p := figure.Panel{X: "step Δ", Y: "normalised H∞ score, without D", LogX: true, LogY: true}
	if m.Config.SSM.Discrete() {
		p.X = "damping ξ"
	}
	for i, peaks := range peaksOf(layers, m.Config.DModel) {
		curve, params := figure.Curve{Name: fmt.Sprintf("layer %d", i+1), Points: true}, m.SSMParams(i)
		for _, peak := range peaks {
			curve.Y = append(curve.Y, peak.Gain*peak.Gain)
		}
		if params.MIMO() {
			curve.Y = params.ModeGains().HInf()
		}
		for _, logStep := range params.Step {
			curve.X = append(curve.X, math.Exp(logStep))
		}
		p.Curves = append(p.Curves, curve)
	}
	largest, bounded, unbounded := 0.0, 0, 0
	for _, curve := range p.Curves {
		for i, y := range curve.Y {
			if math.IsInf(y, 1) {
				unbounded++
				curve.Y[i] = math.NaN()
				continue
			}
			bounded++
			largest = max(largest, y)
		}
	}
	if largest == 0 {
		return figure.Panel{}, errors.New("every H∞ score is 0 or infinite: expected a finite score above 0, to which the others are relative")
	}
	for _, curve := range p.Curves {
		for i := range curve.Y {
			curve.Y[i] /= largest
		}
	}
	things := "SSMs"
	if m.Config.SSM.MIMO() {
		things = "modes"
	}
	p.Title = fmt.Sprintf("H∞ scores of %d %s, divided by the largest (%.3g)", bounded, things, largest)
	if unbounded > 0 {
		p.Title += fmt.Sprintf("; %d unbounded", unbounded)
	}
	return p, nil
}
