package main

import (
	"cmp"
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
	"github.com/s4d-fast/s4d-fast/train/task"
)

type plotDelayCmd struct {
	Runs []string `arg:"" help:"Run folders or model files of the delay task." type:"path"`
	Out  plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"delay.png" type:"path" placeholder:"FILE"`
}

func (c *plotDelayCmd) Help() string {
	return `The upper panels show a validation sequence and the output of the first network. The lower panels show each network's
impulse response. The networks are linear, so this is the learned kernel K, including encoder and decoder. Errors are
squared errors over the whole validation set, relative to the signal's power. The sequences are
generated with the settings of the run folder, or of the model file if there is none.

Examples:
  s4d-fast plot delay runs/delay
  s4d-fast plot delay runs/delay-lin runs/delay-dfout --out figure4.svg`
}

func (c *plotDelayCmd) Run(std *streams, ctx *ctxBox) error {
	runs, err := loadDelayRuns(ctx, c.Runs)
	if err != nil {
		return err
	}
	results, kernels := make([]string, len(runs)), make([]figure.Panel, len(runs))
	for i, run := range runs {
		result, err := train.Evaluate(ctx, run.model, run.data.Val, train.EvalOptions{Info: run.data.Info})
		if err != nil {
			return trainError(fmt.Errorf("%s: %w", c.Runs[i], err))
		}
		results[i] = result.Describe()
		if kernels[i], err = run.kernel(); err != nil {
			return badInput(fmt.Errorf("%s: %w", c.Runs[i], err))
		}
		kernels[i].Title = fmt.Sprintf("kernel of %s (%s)", run.name, results[i])
	}
	first := runs[0]
	kernels[len(kernels)-1].X = lagTitle(first.data.SampleRate)
	x, target, output, err := train.Sample(ctx, first.model, first.data, 0)
	if err != nil {
		return trainError(fmt.Errorf("%s: %w", c.Runs[0], err))
	}
	sequence := figure.Sequence{Input: x, Target: target, Output: output, SampleRate: first.data.SampleRate, Result: results[0]}
	if len(c.Runs) > 1 {
		sequence.Network = first.name
	}
	if err := figure.Delay(string(c.Out), sequence, kernels...); err != nil {
		return err
	}
	c.Out.report(std)
	return nil
}

// delayRun is a network of the delay task and the data of its run.
type delayRun struct {
	name  string // of the file, and the initial steps of its SSMs
	task  *task.Task
	model *model.Model
	data  *dataset.Dataset
}

// loadDelayRuns reads run folders or model files, and generates their data. Runs that would have
// the same name get that of their folder.
func loadDelayRuns(ctx *ctxBox, paths []string) ([]delayRun, error) {
	runs, named := make([]delayRun, len(paths)), map[string]int{}
	for i, path := range paths {
		r, src, err := loadDelayModel(ctx, path)
		if err != nil {
			return nil, err
		}
		if r.data, err = r.task.Load(ctx, src); err != nil {
			return nil, trainError(err)
		}
		runs[i] = r
		named[r.name]++
	}
	for i, r := range runs {
		if named[r.name] > 1 {
			runs[i].name = filepath.Base(paths[i])
		}
	}
	return runs, nil
}

// loadDelayModel reads a run folder, or a model file inside or outside one.
func loadDelayModel(ctx *ctxBox, path string) (r delayRun, src task.Source, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return r, src, badInput(err)
	}
	dir, file := filepath.Dir(path), path
	if info.IsDir() {
		dir, file = path, filepath.Join(path, "best.safetensors")
	}
	var cfg train.Config
	_, missing := os.Stat(filepath.Join(dir, "config.toml"))
	recorded := missing == nil || info.IsDir()
	if recorded {
		if r.task, cfg, err = loadRun(ctx, dir); err != nil {
			return r, src, badInput(err)
		}
	}
	if r.model, err = orInterrupt(ctx, func() (*model.Model, error) { return model.Load(file) }); err != nil {
		return r, src, badInput(err)
	}
	if !recorded {
		if r.task, err = task.Lookup(r.model.Meta.Task); err == nil {
			cfg, err = r.task.ForModel(r.model)
		}
		if err != nil {
			return r, src, badInput(fmt.Errorf("%s: %w", path, err))
		}
	}
	src = task.From(cfg)
	src.Split = "val"
	if c := r.model.Config; r.task.ReadsData() || c.Pool != model.PoolNone || c.Encoder != model.EncoderLinear || c.DOutput != 1 {
		return r, src, badInput(fmt.Errorf("%s: a network of task %q, expected one that repeats a signal, such as one of task %q", path, r.task.Name(), task.Default))
	}
	r.name = stepsText(r.model.Config.SSM)
	if name := filepath.Base(path); !strings.Contains(name, "=") { // the folders of a sweep's runs list their values
		r.name = name + ": " + r.name
	}
	return r, src, nil
}

// kernel draws the learned kernel over the length of a sequence, with a mark at the delay of the
// task.
func (r delayRun) kernel() (figure.Panel, error) {
	k, err := convmode.ImpulseResponse(r.model, r.data.MaxLen)
	if err != nil {
		return figure.Panel{}, err
	}
	var c figure.Curve
	for l, v := range k {
		if math.IsNaN(float64(v)) {
			return figure.Panel{}, errors.New("the impulse response of the network contains NaN")
		}
		c.X, c.Y = append(c.X, float64(l)), append(c.Y, math.Abs(float64(v)))
	}
	return figure.Panel{
		Y: "|K[l]|", Curves: []figure.Curve{c},
		XMax:  float64(len(c.X)),
		YMax:  1.15 * slices.Max(c.Y), // so that the mark is visible above the peak
		Marks: []float64{float64(r.data.Delay)}, MarkName: fmt.Sprintf("τ = %s samples", figure.Thousands(r.data.Delay)),
	}, nil
}

// stepsText describes the initialisation of a network, for example "lin, Δ = 0.002" or "s4 legs, Δ
// from 0.001 to 0.1".
func stepsText(c ssm.Config) string {
	name, symbol, low, high := string(c.Init), stepName(c.Init), c.DtMin, c.DtMax
	if c.Layer != "" && c.Layer != ssm.LayerS4D {
		name = string(c.Layer) + " " + name
	}
	switch {
	case c.Layer == ssm.LayerLRU:
		symbol, low, high = "|λ|", c.RMin, cmp.Or(c.RMax, 1)
	case c.Angles():
		low, high = c.XiMin, c.XiMax
	}
	if low == high {
		return fmt.Sprintf("%s, %s = %g", name, symbol, low)
	}
	return fmt.Sprintf("%s, %s from %g to %g", name, symbol, low, high)
}
