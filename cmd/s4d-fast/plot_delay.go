package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type plotDelayCmd struct {
	Runs []string `arg:"" help:"Run folders of the delay task, or model files." type:"path"`
	Out  picture  `help:"Picture to write, PNG or SVG by its name." default:"delay.png" type:"path" placeholder:"FILE"`
}

func (c *plotDelayCmd) Help() string {
	return `The upper panels show a validation sequence and the first network's output. Each lower panel shows a network's response to
an impulse: as the delay task's networks are linear, this is the kernel K that they have learned, encoder and decoder
included. The sequences are made with the settings in the run folder, or for a model file alone with those in the file.

Examples:
  s4d-fast plot delay runs/delay
  s4d-fast plot delay runs/delay-lin runs/delay-dfout --out figure4.svg`
}

func (c *plotDelayCmd) Run(std *streams, ctx *ctxBox) error {
	var first delayRun
	var kernels []figure.Panel
	for i, path := range c.Runs {
		run, err := loadDelayRun(ctx, path)
		if err != nil {
			return err
		}
		if i == 0 {
			first = run
		}
		p, err := run.kernel()
		if err != nil {
			return badInput(fmt.Errorf("%s: %w", path, err))
		}
		kernels = append(kernels, p)
	}
	kernels[len(kernels)-1].X = "lag l [samples]"
	x, target, output, err := train.Sample(first.model, first.data, 0)
	if err != nil {
		return trainError(fmt.Errorf("%s: %w", c.Runs[0], err))
	}
	r, err := train.Evaluate(first.model, first.data.Val, train.EvalOptions{Info: first.data.Info, Context: ctx})
	if err != nil {
		return trainError(fmt.Errorf("%s: %w", c.Runs[0], err))
	}
	sequence := figure.Sequence{
		Input: x, Target: target, Output: output, SampleRate: first.data.SampleRate, Result: r.Describe(first.data.Info),
	}
	if len(c.Runs) > 1 {
		sequence.Network = first.name
	}
	if err := figure.Delay(string(c.Out), sequence, kernels...); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// delayRun is a network of the delay task, with the sequences that it was trained for.
type delayRun struct {
	name  string // of the file and of how its SSMs began
	model *model.Model
	data  *dataset.Dataset
}

// loadDelayRun reads a run folder or a model file, and makes its data.
func loadDelayRun(ctx *ctxBox, path string) (r delayRun, err error) {
	r, cfg, err := loadDelayModel(path)
	if err != nil {
		return r, err
	}
	if r.data, err = train.LoadData(ctx, cfg, "val"); err != nil {
		return r, trainError(err)
	}
	return r, nil
}

// loadDelayModel reads a run folder or a model file, which may lie in one.
func loadDelayModel(path string) (r delayRun, cfg train.Config, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return r, cfg, badInput(err)
	}
	dir, file := filepath.Dir(path), path
	if info.IsDir() {
		dir, file = path, filepath.Join(path, "best.safetensors")
	}
	_, err = os.Stat(filepath.Join(dir, "config.toml"))
	recorded := err == nil || info.IsDir()
	if recorded {
		if cfg, err = train.LoadRun(dir); err != nil {
			return r, cfg, badInput(err)
		}
	}
	if r.model, err = model.Load(file); err != nil {
		return r, cfg, badInput(err)
	}
	if !recorded {
		if cfg, err = train.ModelConfig(r.model, defaultTask); err != nil {
			return r, cfg, badInput(err)
		}
	}
	if cfg.Task != defaultTask {
		return r, cfg, badInput(fmt.Errorf("%s: task %q: want a run of task %q", path, cfg.Task, defaultTask))
	}
	r.name = stepsText(r.model.Config.SSM)
	if name := filepath.Base(path); !strings.Contains(name, "=") { // else it is a sweep's, and says the same at length
		r.name = name + ": " + r.name
	}
	return r, cfg, nil
}

// kernel draws what the network has learned over a sequence's length, with a mark where the task wants it.
func (r delayRun) kernel() (figure.Panel, error) {
	k, err := convmode.ImpulseResponse(r.model, r.data.MaxLen)
	if err != nil {
		return figure.Panel{}, err
	}
	var c figure.Curve
	for l, v := range k {
		if math.IsNaN(float64(v)) {
			return figure.Panel{}, errors.New("the network answers an impulse with what is no number")
		}
		c.X, c.Y = append(c.X, float64(l)), append(c.Y, math.Abs(float64(v)))
	}
	return figure.Panel{
		Title: r.name, Y: "|K[l]|", Curves: []figure.Curve{c},
		XMax:  float64(len(c.X)),
		YMax:  1.15 * slices.Max(c.Y), // the mark shows above the peak
		Marks: []float64{float64(r.data.Delay)}, MarkName: fmt.Sprintf("τ = %s samples", figure.Thousands(r.data.Delay)),
	}, nil
}

// stepsText says how a network began, as "lin, Δ = 0.002".
func stepsText(c ssm.Config) string {
	low, high := c.DtMin, c.DtMax
	if c.Angles() {
		low, high = c.XiMin, c.XiMax
	}
	if low == high {
		return fmt.Sprintf("%s, %s = %g", c.Init, stepName(c.Init), low)
	}
	return fmt.Sprintf("%s, %s from %g to %g", c.Init, stepName(c.Init), low, high)
}
