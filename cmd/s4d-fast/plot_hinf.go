package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
)

type plotHinfCmd struct {
	Model modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	Out   plotFile  `help:"Output file, PNG or SVG by its name (default: ${default})." default:"hinf.png" type:"path" placeholder:"FILE"`
}

func (c *plotHinfCmd) Help() string {
	return `The score of an SSM is the square of its largest frequency response, sup |H|², without D. For a bidirectional SSM, the
score is the larger of its two kernels' scores. Scores are divided by the largest of all layers. SSMs with poles on the
unit circle are left out, because their response is unbounded.

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

// errOneSSM is the error for S5 and LRU layers.
var errOneSSM = errors.New("the SSM of a layer reads and writes all channels, so channels have no scores")

var errNoScore = errors.New("no SSM has a bounded response above 0, so there is no score to divide by")

// hinfPanel draws the scores of each layer in its own colour.
func hinfPanel(m *model.Model) (figure.Panel, error) {
	curves, largest, scored, err := hinfScores(m)
	if err != nil {
		return figure.Panel{}, err
	}
	if largest == 0 {
		return figure.Panel{}, errNoScore
	}
	for _, curve := range curves {
		for i := range curve.Y {
			curve.Y[i] /= largest
		}
	}
	step, all := "step Δ", m.Config.CountSSM()*m.Config.DModel
	if m.Config.SSM.Angles() {
		step = "damping ξ"
	}
	p := figure.Panel{
		Title: fmt.Sprintf("H∞ scores of %d SSMs, divided by the largest (%.3g)", scored, largest),
		X:     step, Y: "normalised H∞ score, without D", LogX: true, LogY: true, Curves: curves,
	}
	if scored < all {
		p.Title += fmt.Sprintf("; %d unbounded", all-scored)
	}
	return p, nil
}

// hinfScores returns one curve per layer with the scores of its SSMs over their steps, the largest
// score, and the number of bounded scores. An unbounded score is NaN.
func hinfScores(m *model.Model) (curves []figure.Curve, largest float64, scored int, err error) {
	layers, err := analyze(m)
	if err != nil {
		return nil, 0, 0, err
	}
	if layers[0].Rows == 0 {
		return nil, 0, 0, errOneSSM
	}
	curves = make([]figure.Curve, len(layers))
	pool := par.New(runtime.GOMAXPROCS(0))
	defer pool.Close()
	pool.For(len(curves), func(_, i int) {
		curve := figure.Curve{Name: fmt.Sprintf("layer %d", i+1), Points: true, Y: layers[i].SSMScores()}
		for _, logStep := range m.SSMParams(i).Step {
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
