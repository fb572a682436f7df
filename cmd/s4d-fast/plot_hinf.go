package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/internal/par"
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

func (c *plotHinfCmd) Run(std *streams, ctx *ctxBox) error {
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	p, err := orInterrupt(ctx, func() (figure.Panel, error) { return hinfPanel(m) })
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
	curves, largest, scored, err := hinfScores(m)
	if err != nil {
		return figure.Panel{}, err
	}
	if largest == 0 {
		return figure.Panel{}, errors.New("no SSM has a bounded response above 0, so there is no score to divide by")
	}
	for _, curve := range curves {
		for i := range curve.Y {
			curve.Y[i] /= largest
		}
	}
	step, things, all := "step Δ", "SSMs", len(curves)*len(curves[0].Y)
	if m.Config.SSM.MIMO() {
		things = "modes"
	}
	if m.Config.SSM.Angles() {
		step = "damping ξ"
	}
	p := figure.Panel{
		Title: fmt.Sprintf("H∞ scores of %d %s, divided by the largest (%.3g)", scored, things, largest),
		X:     step, Y: "normalised H∞ score, without D", LogX: true, LogY: true, Curves: curves,
	}
	if scored < all {
		p.Title += fmt.Sprintf("; %d unbounded", all-scored)
	}
	return p, nil
}

// hinfScores returns one curve per layer with the scores of its SSMs, or of the modes of S5, over
// their steps, the largest score, and the number of bounded scores. An unbounded score is NaN.
func hinfScores(m *model.Model) (curves []figure.Curve, largest float64, scored int, err error) {
	layers, err := analyze(m)
	if err != nil {
		return nil, 0, 0, err
	}
	curves = make([]figure.Curve, len(layers))
	pool := par.New(runtime.GOMAXPROCS(0))
	defer pool.Close()
	pool.For(len(curves), func(_, i int) {
		curve, params := figure.Curve{Name: fmt.Sprintf("layer %d", i+1), Points: true, Y: layers[i].SSMScores()}, m.SSMParams(i)
		if params.MIMO() {
			curve.Y = hinfOfModes(params.ModeGains(1))
		}
		for _, logStep := range params.Step {
			curve.X = append(curve.X, math.Exp(logStep))
		}
		curves[i] = curve
	})
	for _, curve := range curves {
		for i, y := range curve.Y {
			if math.IsInf(y, 1) {
				curve.Y[i] = math.NaN()
				continue
			}
			scored++
			largest = max(largest, y)
		}
	}
	return curves, largest, scored, nil
}
