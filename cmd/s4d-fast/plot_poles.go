package main

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/ssm"
)

type plotPolesCmd struct {
	Models []modelFile `arg:"" optional:"" help:"Trained model whose poles are drawn, one panel per layer (.safetensors, or ${models}). Several models: one panel per model."`
	initialFlags
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"poles.png" type:"path" placeholder:"FILE"`
}

func (c *plotPolesCmd) Help() string {
	return `Learned poles are coloured by the H∞ scores of their modes, |C|²·|B̄|²/(1 − |λ̄|)². Labels around the circle are
frequencies: in Hz if the model has a sampling rate, otherwise in radians per sample.

Without a model, the plot shows initialisations: a column per step, and a row per combination of the values of --set. The
defaults are ssm.init=lin,inv,dfout, ssm.d_state=64 and model.d_model=1, which is one SSM. ssm.layer=NAME selects another
layer than S4D: dss, s4, s5 or lru. The poles of S4 are the eigenvalues of its transition matrix, some of which are real.
For a trained S4 layer of init legs with more than 8 modes, the eigenvalues are inaccurate because of rounding. An S5 or
LRU layer is one SSM. An LRU has no step size.

Examples (docs/training.md has more):
  s4d-fast plot poles
  s4d-fast plot poles --set ssm.init=dfout,dfout-single,dfout-half --step 0.025 --set model.d_model=8 --out angles.svg
  s4d-fast plot poles runs/fsdd/best.safetensors --out learned.png
  s4d-fast plot poles runs/lin/best.safetensors runs/dfout/best.safetensors --out figure9.png`
}

func (c *plotPolesCmd) Run(std *streams) error {
	draw := c.initial
	if len(c.Models) > 0 {
		draw = c.learned
	}
	plane, err := draw()
	if err != nil {
		return err
	}
	return c.Out.report(std, plane.Save(string(c.Out)))
}

// initial returns one row of panels per initialisation, or a compact grid if there is only one row
// or one column.
func (c *plotPolesCmd) initial() (*figure.PolePlane, error) {
	rows, err := c.compare(64, c.steps(0.001, 0.025, 0.1), axis("ssm.init", "lin", "inv", "dfout"))
	if err != nil {
		return nil, err
	}
	plane := &figure.PolePlane{}
	for _, row := range rows {
		for _, cfg := range row {
			p, err := drawInitial(cfg)
			if err != nil {
				return nil, err
			}
			a, err := p.AnalyzeInitial()
			if err != nil {
				return nil, err
			}
			title := fmt.Sprintf("%s\n%s, %s", stepsText(p.Config), plural(p.Modes(), "mode"), plural(max(a.Rows, 1), "SSM"))
			plane.Panels = append(plane.Panels, figure.Poles{Title: title, Poles: polePlaces(a)})
			if p.Layer == ssm.LayerLRU {
				break // it has no step
			}
		}
	}
	if steps := len(rows[0]); len(rows) > 1 && steps > 1 && len(plane.Panels) == len(rows)*steps {
		plane.Columns = steps
	}
	return plane, nil
}

// polePlaces returns λ̄ of all poles of a layer.
func polePlaces(a *ssm.Analysis) (list []complex128) {
	for _, l := range a.LogPoles {
		list = append(list, cmplx.Exp(l))
	}
	return list
}

// learned returns one panel per layer of a model, or one per model, with the poles of all SSMs.
// They are coloured by the scores of their modes where modes have scores.
func (c *plotPolesCmd) learned() (*figure.PolePlane, error) {
	if c.Set != nil || c.Step != nil {
		return nil, usageError(errors.New("--set and --step are for poles before training: omit them, or the model"))
	}
	plane := &figure.PolePlane{Value: "H∞ score of the mode [dB]"}
	if n := len(c.Models); n < 4 && n > 1 {
		plane.Columns = n
	}
	for _, file := range c.Models {
		m, err := file.read()
		if err != nil {
			return nil, badInput(err)
		}
		layers, err := analyze(m)
		if err != nil {
			return nil, badInput(fmt.Errorf("%s: %w", file, err))
		}
		plane.SampleRate = m.Meta.PositionRate()
		var all figure.Poles
		for i, a := range layers {
			p := figure.Poles{Poles: polePlaces(a), Title: fmt.Sprintf("layer %d: %s, %s", i+1, plural(max(a.Rows/m.Config.SSM.Directions(), 1), "SSM"), plural(len(a.LogPoles), "pole"))}
			if m.Config.SSM.CheckScores() == nil {
				for _, score := range m.SSMParams(i).ModeGains().HInf() {
					p.Value = append(p.Value, 10*math.Log10(score))
				}
			}
			if all.Poles, all.Value = append(all.Poles, p.Poles...), append(all.Value, p.Value...); len(c.Models) == 1 {
				plane.Panels = append(plane.Panels, p)
			}
		}
		if len(c.Models) > 1 {
			all.Title = fmt.Sprintf("%s: %s, %s", paperWords(strings.TrimSuffix(filepath.Base(string(file)), ".safetensors")), plural(len(layers), "layer"), plural(len(all.Poles), "pole"))
			plane.Panels = append(plane.Panels, all)
		}
	}
	return plane, nil
}
