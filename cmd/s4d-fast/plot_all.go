package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/train"
)

type plotAllCmd struct {
	Folder string `arg:"" name:"run" help:"Run folder." type:"path"`
	Out    string `help:"Output folder." required:"" type:"path" placeholder:"DIR"`
}

func (c *plotAllCmd) Help() string {
	return `Draws the poles, kernels and H∞ scores of the network of the best epoch, the spectrum of the training data and, for the
delay task, the plot of 'plot delay'. For each plot that is left out, prints the reason.

Example:
  s4d-fast plot all runs/smnist --out plots`
}

func (c *plotAllCmd) Run(std *streams, ctx context.Context) error {
	_, tk, cfg, err := loadRunModel(ctx, c.Folder)
	if err != nil {
		return err
	}
	best := modelFile(filepath.Join(c.Folder, train.BestFile))
	return drawAll(ctx, std, c.Out, []drawing{
		{"poles", func(f plotFile) error { return (&plotPolesCmd{Models: []modelFile{best}, Out: f}).Run(std) }},
		{"kernels", func(f plotFile) error { return (&plotKernelsCmd{Model: best, Length: 256, Out: f}).Run(std, ctx) }},
		{"hinf", func(f plotFile) error { return (&plotHinfCmd{Model: best, Out: f}).Run(std, ctx) }},
		{"spectrum", func(f plotFile) error { return plotSpectrum(std, ctx, tk, cfg, 10000, f) }},
		{"delay", func(f plotFile) error { return (&plotDelayCmd{Runs: []string{c.Folder}, Out: f}).Run(std, ctx) }},
	})
}

// drawing is a plot with its name in the output folder.
type drawing struct {
	name string
	draw func(plotFile) error
}

// drawAll draws plots into a folder, and reports those whose input cannot be drawn.
func drawAll(ctx context.Context, std *streams, dir string, list []drawing) error {
	if err := atomicfile.System().MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out %s: %w", dir, err)
	}
	for _, d := range list {
		out := plotFile(filepath.Join(dir, d.name+".png"))
		err := d.draw(out)
		if err != nil && configflags.ExitCode(ctx, err) == exitBadInput {
			fmt.Fprintf(std.err, "skipped %s: %v\n", out, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
