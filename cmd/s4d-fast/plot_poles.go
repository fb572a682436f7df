package main

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotPolesCmd struct {
	Model    modelFile `arg:"" optional:"" help:"Model whose learned poles to draw, a panel a layer (.safetensors, or ${models})."`
	Init     []string  `help:"Initialisations, a row each." default:"lin,inv,dfout" placeholder:"NAME,..."`
	Step     []float64 `help:"Values of Δ, or of ξ for angles, a column each." default:"0.001,0.025,0.1" placeholder:"X,..."`
	Modes    int       `help:"Complex modes of an SSM." default:"32" placeholder:"M"`
	Channels int       `help:"SSMs of the layer." default:"1" placeholder:"H"`
	Out      picture   `help:"Picture to write, PNG or SVG by its name." default:"poles.png" type:"path" placeholder:"FILE"`
}

func (c *plotPolesCmd) Help() string {
	return `Examples:
  s4d-fast plot poles
  s4d-fast plot poles --init dfout,token,rndimag,batched-dfout --step 0.025 --channels 8 --out angles.svg
  s4d-fast plot poles runs/fsdd/best.safetensors --out learned.png`
}

func (c *plotPolesCmd) Run(std *streams) error {
	var rows [][]figure.Poles
	var err error
	if c.Model != "" {
		rows, err = learnedPoles(c.Model)
	} else {
		rows, err = c.initial()
	}
	if err != nil {
		return err
	}
	if err := figure.PolePlane(string(c.Out), "gain [dB]", rows); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// initial returns a row of panels an initialisation.
func (c *plotPolesCmd) initial() (rows [][]figure.Poles, err error) {
	for _, init := range c.Init {
		var row []figure.Poles
		for _, step := range c.Step {
			d, err := initialLayer(ssm.Init(init), c.Channels, c.Modes, step, 0.5)
			if err != nil {
				return nil, usageError(err)
			}
			p := figure.Poles{Title: fmt.Sprintf("%s, %s = %g", init, stepName(ssm.Init(init)), step)}
			for _, a := range d.LogLambda {
				p.Poles = append(p.Poles, cmplx.Exp(a))
			}
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// What a picture shows at most.
const (
	maxModes = 4096
	maxPoles = 1 << 17
)

// initialLayer draws a layer whose SSMs all have one step, Δ or ξ, and one decay.
func initialLayer(init ssm.Init, channels, modes int, step, decay float64) (*ssm.Discrete, error) {
	if modes > maxModes || channels > maxPoles/max(modes, 1) {
		return nil, fmt.Errorf("%d modes of %d SSMs: want at most %d modes, and %d in all", modes, channels, maxModes, maxPoles)
	}
	cfg := ssm.Config{DModel: channels, DState: 2 * modes, Init: init, Disc: ssm.ZOH, AReal: decay,
		DtMin: step, DtMax: step, XiMin: step, XiMax: step}
	p, err := ssm.New(cfg, 1, 0)
	if err != nil {
		return nil, err
	}
	return p.Discretize(ssm.ZOH, 1), nil
}

// stepName is what an initialisation calls its step.
func stepName(init ssm.Init) string {
	if (ssm.Config{Init: init}).Angles() {
		return "ξ"
	}
	return "Δ"
}

// learnedPoles returns a row of panels, one a layer, of all SSMs' poles, coloured by their modes' gains.
func learnedPoles(file modelFile) ([][]figure.Poles, error) {
	m, err := file.load()
	if err != nil {
		return nil, badInput(err)
	}
	const perRow = 3
	var rows [][]figure.Poles
	for i := range m.Config.CountSSM() {
		d := m.SSMParams(i).Discretize(m.Config.SSM.Disc, 1)
		p := figure.Poles{Title: fmt.Sprintf("layer %d", i+1)}
		scores := d.ModeScores()
		for n, a := range d.LogLambda {
			p.Poles = append(p.Poles, cmplx.Exp(a))
			p.Value = append(p.Value, max(10*math.Log10(scores[n]), -60))
		}
		if i%perRow == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], p)
	}
	return rows, nil
}
