package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type plotAllCmd struct {
	Model  modelFile `help:"Trained model, for its poles, kernels and H∞ scores (.safetensors, or ${models})." placeholder:"MODEL"`
	Delay  []string  `help:"Run folder or model of the delay task; repeatable." type:"path" placeholder:"RUN" sep:"none"`
	Sweep  []string  `help:"Folder of a sweep; repeatable, for sweeps over the same key." type:"path" placeholder:"DIR" sep:"none"`
	Task   string    `help:"Task for the spectrum plot: ${tasks}." placeholder:"TASK"`
	Data   string    `help:"Folder of the task's data set (delay generates its own)." type:"path" placeholder:"DIR"`
	Stride *int      `help:"Mark multiples of N samples; 0: none (default: for image tasks, the length of a row)." placeholder:"N"`
	Format string    `help:"File format: png or svg." enum:"png,svg" default:"png"`
	Out    string    `help:"Output folder." required:"" type:"path" placeholder:"DIR"`
}

func (c *plotAllCmd) Help() string {
	return `For each plot that is left out, prints the flag that it requires.

Example:
  s4d-fast plot all --out plots --model runs/smnist/best.safetensors --task smnist --data data/mnist \
    --delay runs/delay --sweep runs/figure4 --format svg`
}

// plotter is a plot command with its output file.
type plotter interface {
	Run(std *streams, ctx *ctxBox) error
}

// namedPlot is one plot of plot all.
type namedPlot struct {
	name    string
	missing string // the flag without which it cannot be drawn; "" if it can
	command func(plotFile) plotter
}

// plots returns the plots with the defaults of their commands.
func (c *plotAllCmd) plots() []namedPlot {
	needs := func(flag string, given bool) string {
		if given {
			return ""
		}
		return flag
	}
	noModel, noData := needs("--model", c.Model != ""), needs("--task", c.Task != "")
	if noData == "" {
		tk, err := task.Lookup(c.Task) // Run has checked it
		noData = needs("--data", c.Data != "" || err == nil && !tk.ReadsData())
	}
	return []namedPlot{
		{"poles", "", func(f plotFile) plotter { return &plotPolesCmd{Out: f} }},
		{"response", "", func(f plotFile) plotter {
			return &plotResponseCmd{Step: 0.1, Modes: 10, Out: f}
		}},
		{"learned", noModel, func(f plotFile) plotter { return &plotPolesCmd{Model: c.Model, Out: f} }},
		{"kernels", noModel, func(f plotFile) plotter {
			return &plotKernelsCmd{Model: c.Model, Length: 256, Stride: c.Stride, Out: f}
		}},
		{"hinf", noModel, func(f plotFile) plotter { return &plotHinfCmd{Model: c.Model, Out: f} }},
		{"delay", needs("--delay", len(c.Delay) > 0), func(f plotFile) plotter { return &plotDelayCmd{Runs: c.Delay, Out: f} }},
		{"sweep", needs("--sweep", len(c.Sweep) > 0), func(f plotFile) plotter { return &plotSweepCmd{Dirs: c.Sweep, Out: f} }},
		{"spectrum", noData, func(f plotFile) plotter {
			return &plotSpectrumCmd{Task: c.Task, Data: c.Data, N: 10000, Stride: c.Stride, Out: f}
		}},
	}
}

func (c *plotAllCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Task != "" {
		if _, err := task.Lookup(c.Task); err != nil {
			return trainError(err)
		}
	}
	if err := c.check(ctx); err != nil {
		return err
	}
	if err := atomicfile.System().MkdirAll(c.Out, 0o777); err != nil {
		return fmt.Errorf("--out %s: %w", c.Out, err)
	}
	path := func(name string) plotFile { return plotFile(filepath.Join(c.Out, name+"."+c.Format)) }
	for _, p := range c.plots() {
		if p.missing == "" {
			if err := path(p.name).check(); err != nil {
				return err
			}
		}
	}
	for _, p := range c.plots() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		path := path(p.name)
		if p.missing != "" {
			fmt.Fprintf(std.err, "skipped %s: it requires %s\n", path, p.missing)
			continue
		}
		err := p.command(path).Run(std, ctx)
		if errors.Is(err, errNoScore) || errors.Is(err, errNoStep) {
			fmt.Fprintf(std.err, "skipped %s: %v\n", path, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check reads models and tables, so that unreadable input is reported before any plot is drawn.
func (c *plotAllCmd) check(ctx *ctxBox) error {
	if c.Model != "" {
		if _, err := c.Model.load(ctx); err != nil {
			return badInput(err)
		}
	}
	for _, run := range c.Delay {
		if _, _, err := loadDelayModel(ctx, run); err != nil {
			return err
		}
	}
	if len(c.Sweep) > 0 {
		if _, err := sweepPanel(c.Sweep, ""); err != nil {
			return err
		}
	}
	if c.Data != "" {
		if _, err := os.Stat(c.Data); err != nil {
			return badInput(err)
		}
	}
	return nil
}
