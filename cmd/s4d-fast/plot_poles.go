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
	Init     []string  `help:"Initialisations, one row each (default: lin,inv,dfout; for other layers than S4D, theirs)." placeholder:"NAME"`
	Step     []float64 `help:"Values of Δ (of ξ for unit-circle initialisations), one column each (default: 0.001,0.025,0.1)." placeholder:"X"`
	Modes    *int      `help:"Complex modes per SSM (default: 32)." placeholder:"M"`
	Channels *int      `help:"SSMs per layer (default: 1; for init hippo, 2)." placeholder:"H"`
	Set      []string  `help:"Set a configuration value as in train, for example ssm.layer=s4, ssm.param=width or seed=7; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	sampleRate
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"poles.png" type:"path" placeholder:"FILE"`
}

func (c *plotPolesCmd) Help() string {
	return `Learned poles are coloured by the H∞ scores of their modes, |C|²·|B̄|²/(1 − |λ̄|)². Labels around the circle are
frequencies: in Hz if the model has a sampling rate or --rate is given, otherwise in radians per sample. If most poles would
merge into a band along the circle, the plot shows their frequencies and their distances 1 − |λ| from the circle.

Initialisations are those of S4D, unless --set ssm.layer=NAME selects another layer: dss, s4, s5 or lru. fout and hippo
select s4, and ring selects lru. The poles of S4 are the eigenvalues of its transition matrix, some of which are real. For a
trained S4 layer of init legs with more than 8 modes, the eigenvalues are inaccurate because of rounding. An S5 or LRU layer
is one SSM. An LRU has no step size, so it has one panel.

Examples:
  s4d-fast plot poles
  s4d-fast plot poles --init dfout,dfout-single,dfout-half --step 0.025 --channels 8 --out angles.svg
  s4d-fast plot poles --init dfout --step 0.1 --channels 8 --set ssm.param=width --set ssm.xi_min=0.001
  s4d-fast plot poles --set ssm.layer=s4 --init legs,fout --step 0.01,0.1
  s4d-fast plot poles --init ring --modes 128 --set ssm.r_min=0.9 --set ssm.r_max=0.999
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
	if err := allowOptions(c.Set, "ssm.a_real"); err != nil {
		return nil, err
	}
	inits, steps := c.Init, orDefault(c.Step, 0.001, 0.025, 0.1)
	if len(inits) == 0 {
		inits = initialInits(c.Set, "lin", "inv", "dfout")
	}
	plane, stepped := &figure.PolePlane{SampleRate: c.Rate}, false
	for _, init := range inits {
		for _, step := range steps {
			p, cfg, err := c.panel(ssm.Init(init), step)
			if err != nil {
				return nil, err
			}
			plane.Panels = append(plane.Panels, p)
			if cfg.Layer == ssm.LayerLRU {
				break // it has no step
			}
			stepped = true
		}
	}
	if len(c.Step) > 0 && !stepped {
		return nil, usageError(fmt.Errorf("--step: layer %q has no step size", ssm.LayerLRU))
	}
	if len(inits) > 1 && len(steps) > 1 && len(plane.Panels) == len(inits)*len(steps) {
		plane.Columns = len(steps)
	}
	return plane, nil
}

// panel draws an initialisation with a step.
func (c *plotPolesCmd) panel(init ssm.Init, step float64) (figure.Poles, ssm.Config, error) {
	layer := initialLayer{init: init, channels: 1, modes: 32, step: step, decay: 0.5, set: c.Set}
	if init == ssm.Hippo {
		layer.channels = 2 // LegS and FouT
	}
	if c.Channels != nil {
		layer.channels = *c.Channels
	}
	if c.Modes != nil {
		layer.modes = *c.Modes
	}
	p, err := layer.draw()
	if err != nil {
		return figure.Poles{}, ssm.Config{}, err
	}
	if p.MIMO() && layer.channels > 1 {
		return figure.Poles{}, p.Config, usageError(fmt.Errorf("--channels %d: layer %q has one SSM for all channels: expected 1", layer.channels, p.Layer))
	}
	a, err := p.AnalyzeInitial()
	if err != nil {
		return figure.Poles{}, p.Config, err
	}
	title := fmt.Sprintf("%s\n%s, %s", stepsText(p.Config), plural(p.Modes(), "mode"), plural(max(a.Rows, 1), "SSM"))
	return figure.Poles{Title: title, Poles: polePlaces(a)}, p.Config, nil
}

// polePlaces returns λ̄ of all poles of a layer.
func polePlaces(a *ssm.Analysis) (list []complex128) {
	for _, l := range a.LogPoles {
		list = append(list, cmplx.Exp(l))
	}
	return list
}

// learned returns one panel per layer with the poles of all SSMs, coloured by the scores of their
// modes where modes have scores.
func (c *plotPolesCmd) learned() (*figure.PolePlane, error) {
	if len(c.Init)+len(c.Step) > 0 || c.Modes != nil || c.Channels != nil || c.Set != nil {
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
	scored := m.Config.SSM.CheckScores() == nil
	if scored {
		plane.Value, plane.Floor = "H∞ score of the mode [dB]", leastScore
	}
	if c.Rate == 0 {
		plane.SampleRate = m.Meta.PositionRate()
	}
	for i, a := range layers {
		p := figure.Poles{Poles: polePlaces(a), Title: fmt.Sprintf("layer %d: %s, %s", i+1, plural(max(a.Rows/m.Config.SSM.Directions(), 1), "SSM"), plural(len(a.LogPoles), "pole"))}
		if scored {
			for _, score := range hinfOfModes(m.SSMParams(i).ModeGains(1)) {
				p.Value = append(p.Value, 10*math.Log10(score))
			}
		}
		plane.Panels = append(plane.Panels, p)
	}
	return plane, nil
}

// orDefault returns the values of a flag, or the defaults if there are none.
func orDefault[T any](values []T, defaults ...T) []T {
	if len(values) == 0 {
		return defaults
	}
	return values
}
