package main

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotPolesCmd struct {
	Model    modelFile `arg:"" optional:"" help:"Trained model whose poles are drawn, one panel per layer (.safetensors, or ${models})."`
	Init     []string  `help:"Initialisations, one row each (default: lin,inv,dfout)." placeholder:"NAME"`
	Step     []float64 `help:"Values of Δ (of ξ for unit-circle initialisations), one column each (default: 0.001,0.025,0.1)." placeholder:"X"`
	Modes    *int      `help:"Complex modes per SSM (default: 32)." placeholder:"M"`
	Channels *int      `help:"SSMs per layer (default: 1)." placeholder:"H"`
	Set      []string  `help:"Set a configuration value as in train, for example ssm.xi_per=both or seed=7; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	sampleRate
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"poles.png" type:"path" placeholder:"FILE"`
}

func (c *plotPolesCmd) Help() string {
	return `Learned poles are coloured by the H∞ scores of their modes, |C|²·|B̄|²/(1 − |λ̄|)². Labels around the circle are
frequencies: in Hz if the model has a sampling rate or --rate is given, otherwise in radians per sample. If most poles would
merge into a band along the circle, the plot shows their frequencies and their distances 1 − |λ| from the circle.

Examples:
  s4d-fast plot poles
  s4d-fast plot poles --init dfout,token,rndimag,batched-dfout --step 0.025 --channels 8 --out angles.svg
  s4d-fast plot poles --init dfout --step 0.1 --channels 8 --set ssm.xi_per=both --set ssm.xi_min=0.001
  s4d-fast plot poles runs/fsdd/best.safetensors --out learned.png`
}

// leastScore is the lower end of the scale of modes' scores in dB. Modes below it are negligible in
// a kernel.
const leastScore = -60

func (c *plotPolesCmd) Run(std *streams, ctx *ctxBox) error {
	draw := c.initial
	if c.Model != "" {
		draw = c.learned
	}
	plane, err := orInterrupt(ctx, draw)
	if err != nil {
		return err
	}
	if err := plane.Save(string(c.Out)); err != nil {
		return err
	}
	c.Out.report(std)
	return nil
}

// initial returns one row of panels per initialisation, or a compact grid if there is only one row
// or one column.
func (c *plotPolesCmd) initial() (*figure.PolePlane, error) {
	inits, steps := orDefault(c.Init, "lin", "inv", "dfout"), orDefault(c.Step, 0.001, 0.025, 0.1)
	if err := allowOptions(c.Set, "ssm.a_real"); err != nil {
		return nil, err
	}
	plane := &figure.PolePlane{SampleRate: c.Rate}
	if len(inits) > 1 && len(steps) > 1 {
		plane.Columns = len(steps)
	}
	for _, init := range inits {
		for _, step := range steps {
			layer := initialLayer{init: ssm.Init(init), channels: 1, modes: 32, step: step, decay: 0.5, set: c.Set}
			if c.Channels != nil {
				layer.channels = *c.Channels
			}
			if c.Modes != nil {
				layer.modes = *c.Modes
			}
			cfg, d, err := layer.draw()
			if err != nil {
				return nil, err
			}
			p := figure.Poles{Title: fmt.Sprintf("%s\n%s, %s", stepsText(cfg), plural(d.M, "mode"), plural(d.H, "SSM"))}
			for _, a := range d.LogLambda {
				p.Poles = append(p.Poles, cmplx.Exp(a))
			}
			plane.Panels = append(plane.Panels, p)
		}
	}
	return plane, nil
}

// learned returns one panel per layer with the poles of all SSMs, coloured by the scores of their
// modes where modes have scores. The score of a bidirectional mode is the larger one of its two
// directions.
func (c *plotPolesCmd) learned() (*figure.PolePlane, error) {
	if c.Init != nil || c.Step != nil || c.Modes != nil || c.Channels != nil || c.Set != nil {
		return nil, usageError(errors.New("--init, --step, --modes, --channels and --set are for poles before training: omit them, or the model"))
	}
	m, err := c.Model.read()
	if err != nil {
		return nil, badInput(err)
	}
	layers, err := analyze(m)
	if err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", c.Model, err))
	}
	plane := &figure.PolePlane{SampleRate: c.Rate}
	if layers[0].Modes != nil {
		plane.Value, plane.Floor = "H∞ score of the mode [dB]", leastScore
	}
	if c.Rate == 0 {
		plane.SampleRate = m.Meta.PositionRate()
	}
	for i, a := range layers {
		p := figure.Poles{Title: fmt.Sprintf("layer %d: %s, %s", i+1, plural(max(a.Rows/m.Config.SSM.Directions(), 1), "SSM"), plural(len(a.LogPoles), "pole"))}
		var scores []float64
		if a.Modes != nil {
			scores = a.Modes.ModeScores()
		}
		for n, l := range a.LogPoles {
			p.Poles = append(p.Poles, cmplx.Exp(l))
			if scores == nil {
				continue
			}
			score := scores[n]
			if a.Modes.Directions == 2 {
				score = max(score, scores[len(a.LogPoles)+n])
			}
			p.Value = append(p.Value, 10*math.Log10(score))
		}
		plane.Panels = append(plane.Panels, p)
	}
	return plane, nil
}

// orDefault returns the values of a flag, or the defaults if it was not given.
func orDefault[T any](values []T, defaults ...T) []T {
	if values == nil {
		return defaults
	}
	return values
}
