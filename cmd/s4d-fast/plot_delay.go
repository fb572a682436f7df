package main

import (
	"cmp"
	"context"
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

func (c *plotDelayCmd) Run(std *streams, ctx context.Context) error {
	var panels []figure.Panel
	for i, path := range c.Runs {
		m, data, err := loadDelayRun(ctx, path)
		if err != nil {
			return err
		}
		name := stepsText(m.Config.SSM)
		if file := filepath.Base(path); !strings.Contains(file, "=") { // the folders of a sweep's runs list their values
			name = file + ": " + name
		}
		result, err := train.Evaluate(ctx, m, data.Val, train.EvalOptions{Info: data.Info})
		if err == nil && i == 0 {
			network := "the network"
			if len(c.Runs) > 1 {
				network = name
			}
			panels, err = delayPanels(ctx, m, data, network, result.Metrics().Validation(), 0)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		kernel, err := delayKernel(m, data)
		if err != nil {
			return badInput(fmt.Errorf("%s: %w", path, err))
		}
		kernel.Title = fmt.Sprintf("kernel of %s (%s)", name, result.Metrics().Validation())
		kernel.X = lagTitle(data.SampleRate)
		if i > 0 {
			panels[len(panels)-1].X = "" // that of the last panel is enough
		}
		panels = append(panels, kernel)
	}
	return c.Out.curves(std, panels...)
}

// delayWindow is the number of samples of a sequence that are shown. The shortest period of the
// signal is four samples.
const delayWindow = 120

// delayPanels shows the input of the first validation sequence over a short time, and below it the
// target and the output of a network, later by the delay that the task asks for. If the network
// has learned the task, both panels show the same curve. The title states the result.
func delayPanels(ctx context.Context, m *model.Model, data *dataset.Dataset, network, result string, workers int) ([]figure.Panel, error) {
	var e dataset.Example
	if err := data.Val.Example(&e, 0, 0); err != nil {
		return nil, badInput(err)
	}
	var output []float32
	each := func(p train.Prediction) error {
		output = slices.Clone(p.Logits)
		return nil
	}
	if _, err := train.Evaluate(ctx, m, firstExample{data.Val}, train.EvalOptions{Info: data.Info, Workers: workers, Each: each}); err != nil {
		return nil, err
	}
	x, target := e.X, e.Target
	n, ms := min(delayWindow, len(x)-data.Delay), 1000/data.SampleRate
	from, top := data.Delay+(len(x)-data.Delay-n)/2, 0.0
	curve := func(name string, hue figure.Hue, x []float32, from int) figure.Curve {
		c := figure.Curve{Name: name, Hue: hue}
		for l, v := range x[from : from+n] {
			c.X, c.Y = append(c.X, float64(from+l)*ms), append(c.Y, float64(v))
			top = max(top, 1.1*math.Abs(float64(v)))
		}
		return c
	}
	panels := []figure.Panel{{
		Title: fmt.Sprintf("Delay task: repeat the input %d samples (%.4g ms) later. Validation set: %s", data.Delay, float64(data.Delay)*ms, result),
		Y:     "input", Curves: []figure.Curve{curve("input", figure.Grey, x, from-data.Delay)},
	}, {
		Y: "output", Curves: []figure.Curve{
			curve("target: the input, delayed", figure.Orange, target, from), curve("output of "+network, figure.Blue, output, from)},
	}}
	for i := range panels {
		panels[i].X, panels[i].YMin, panels[i].YMax = "time [ms]", -top, top
	}
	return panels, nil
}

// firstExample is the set of the first example of a set.
type firstExample struct{ dataset.Set }

func (firstExample) Len() int { return 1 }

// loadDelayRun reads the network of a run folder or a model file, and generates its data.
func loadDelayRun(ctx context.Context, path string) (*model.Model, *dataset.Dataset, error) {
	m, tk, cfg, err := loadRunModel(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if c := m.Config; tk.ReadsData() || c.Pool != model.PoolNone || c.Encoder != model.EncoderLinear || c.DOutput != 1 {
		return nil, nil, badInput(fmt.Errorf("%s: a network of task %q, expected one that repeats a signal, such as one of task %q", path, tk.Name(), task.Default))
	}
	data, err := tk.Load(ctx, source(&streams{}, cfg, "val"))
	return m, data, err
}

// loadRunModel reads a model with its task: the best one of a run folder, or a file inside or
// outside one. The configuration is that of the run, or outside one that of the model file.
func loadRunModel(ctx context.Context, path string) (m *model.Model, tk *task.Task, cfg train.Config, err error) {
	dir, file := filepath.Dir(path), path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir, file = path, filepath.Join(path, train.BestFile)
	}
	if _, missing := os.Stat(filepath.Join(dir, "config.toml")); missing == nil || dir == path {
		if tk, cfg, err = task.LoadRun(dir); err != nil {
			return nil, nil, cfg, badInput(err)
		}
	}
	if m, err = modelFile(file).load(ctx); err != nil {
		return nil, nil, cfg, badInput(err)
	}
	if tk == nil {
		if tk, err = task.Lookup(m.Meta.Task); err == nil {
			cfg, err = tk.ForModel(m)
		}
	}
	if err != nil {
		err = badInput(fmt.Errorf("%s: %w", path, err))
	}
	return m, tk, cfg, err
}

// delayKernel draws the learned kernel over the length of a sequence, with a mark at the delay of
// the task.
func delayKernel(m *model.Model, data *dataset.Dataset) (figure.Panel, error) {
	k, err := convmode.ImpulseResponse(m, data.MaxLen)
	if err != nil {
		return figure.Panel{}, err
	}
	var c figure.Curve
	for l, v := range k {
		c.X, c.Y = append(c.X, float64(l)), append(c.Y, math.Abs(float64(v)))
	}
	return figure.Panel{
		Y: "|K[l]|", Curves: []figure.Curve{c},
		XMax:  float64(len(c.X)),
		YMax:  1.15 * slices.Max(c.Y), // so that the mark is visible above the peak
		Marks: []float64{float64(data.Delay)}, MarkName: fmt.Sprintf("τ = %d samples", data.Delay),
	}, nil
}

// stepsText describes the initialisation of a network, for example "S4D-Lin, Δ = 0.002" or "s4
// legs, Δ from 0.001 to 0.1".
func stepsText(c ssm.Config) string {
	name, symbol, low, high := paperWords(string(c.Init)), "Δ", c.DtMin, c.DtMax
	if c.Layer != "" && c.Layer != ssm.LayerS4D {
		name = string(c.Layer) + " " + string(c.Init)
	}
	switch {
	case c.Layer == ssm.LayerLRU:
		symbol, low, high = "|λ|", c.RMin, cmp.Or(c.RMax, 1)
	case c.Angles():
		symbol, low, high = "ξ", c.XiMin, c.XiMax
	}
	if low == high {
		return fmt.Sprintf("%s, %s = %g", name, symbol, low)
	}
	return fmt.Sprintf("%s, %s from %g to %g", name, symbol, low, high)
}
