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
	Model    modelFile `arg:"" optional:"" help:"Model whose learned poles to draw, a panel a layer (.safetensors, or ${models})."`
	Init     []string  `help:"Initialisations, a row each (default: lin,inv,dfout)." placeholder:"NAME"`
	Step     []float64 `help:"Values of Δ, or of ξ for angles, a column each (default: 0.001,0.025,0.1)." placeholder:"X"`
	Modes    *int      `help:"Complex modes of an SSM (default: 32)." placeholder:"M"`
	Channels *int      `help:"SSMs of the layer (default: 1)." placeholder:"H"`
	Set      []string  `help:"Replace one value as in train, for example ssm.xi_per=both or seed=7; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	Out      picture   `help:"Picture to write, PNG or SVG by its name." default:"poles.png" type:"path" placeholder:"FILE"`
}

func (c *plotPolesCmd) Help() string {
	return `Learned poles are coloured by their modes' H∞ scores, |C|²·|B̄|²/(1 − |λ̄|)².

Examples:
  s4d-fast plot poles
  s4d-fast plot poles --init dfout,token,rndimag,batched-dfout --step 0.025 --channels 8 --out angles.svg
  s4d-fast plot poles --init dfout --step 0.1 --channels 8 --set ssm.xi_per=both --set ssm.xi_min=0.001
  s4d-fast plot poles runs/fsdd/best.safetensors --out learned.png`
}

// leastScore is where the scale of modes' scores begins, in dB: what lies below does not show in a kernel.
const leastScore = -60

func (c *plotPolesCmd) Run(std *streams, ctx *ctxBox) error {
	var rows [][]figure.Poles
	err := orInterrupt(ctx, func() (err error) {
		if c.Model != "" {
			rows, err = c.learned()
		} else {
			rows, err = c.initial()
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := figure.PolePlane(string(c.Out), "H∞ of the mode [dB]", leastScore, rows); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// initial returns a row of panels an initialisation.
func (c *plotPolesCmd) initial() (rows [][]figure.Poles, err error) {
	inits, steps := orDefault(c.Init, "lin", "inv", "dfout"), orDefault(c.Step, 0.001, 0.025, 0.1)
	if err := allowOptions(c.Set, "ssm.a_real"); err != nil {
		return nil, err
	}
	for _, init := range inits {
		var row []figure.Poles
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
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// learned returns rows of panels, one a layer, of all SSMs' poles, coloured by their modes' scores, the larger one of two
// directions.
func (c *plotPolesCmd) learned() (rows [][]figure.Poles, err error) {
	if c.Init != nil || c.Step != nil || c.Modes != nil || c.Channels != nil || c.Set != nil {
		return nil, usageError(errors.New("--init, --step, --modes, --channels and --set draw poles before training: leave out the model, or them"))
	}
	m, err := c.Model.load()
	if err != nil {
		return nil, badInput(err)
	}
	const perRow = 3
	for i := range m.Config.CountSSM() {
		d := m.SSMParams(i).Discretize(m.Config.SSM.Disc, 1)
		p := figure.Poles{Title: fmt.Sprintf("layer %d: %s, %s", i+1, plural(d.H, "SSM"), plural(len(d.LogLambda), "pole"))}
		scores := d.ModeScores()
		for n, a := range d.LogLambda {
			score := scores[n]
			if d.Directions == 2 {
				score = max(score, scores[len(d.LogLambda)+n])
			}
			p.Poles, p.Value = append(p.Poles, cmplx.Exp(a)), append(p.Value, 10*math.Log10(score))
		}
		if i%perRow == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], p)
	}
	return rows, nil
}

// orDefault returns what was said on the command line, or else the defaults.
func orDefault[T any](said []T, defaults ...T) []T {
	if said == nil {
		return defaults
	}
	return said
}
