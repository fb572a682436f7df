package main

import (
	"context"
	"fmt"
	"path/filepath"
)

type plotPaperCmd struct {
	Runs string `help:"Folder of the runs." required:"" type:"existingdir" placeholder:"DIR"`
	Data string `help:"Folder with the data sets cifar10, listops and pathx128, for the spectra." type:"path" placeholder:"DIR"`
	Out  string `help:"Output folder." default:"figures" type:"path" placeholder:"DIR"`
}

func (c *plotPaperCmd) Help() string {
	return `Draws the figures of REPRODUCTION.md. DIR contains the networks for sCIFAR lin.safetensors and dfout.safetensors, the
sweep figure4 of Delay, and the runs of Delay fixed-dfout and fixed-dfout-single. For each plot whose input is missing, prints the
reason.

Example:
  s4d-fast plot paper --runs runs --data data --out docs/figures`
}

func (c *plotPaperCmd) Run(std *streams, ctx context.Context) error {
	file := func(name string) modelFile { return modelFile(filepath.Join(c.Runs, name+".safetensors")) }
	delay := func(pattern string) func(plotFile) error {
		return func(f plotFile) error {
			runs, err := filepath.Glob(filepath.Join(c.Runs, pattern))
			if err != nil || len(runs) == 0 {
				return badInput(fmt.Errorf("no runs %s", pattern))
			}
			return (&plotDelayCmd{Runs: runs, Out: f}).Run(std, ctx)
		}
	}
	spectrum := func(task, data string, n int) func(plotFile) error {
		return func(f plotFile) error {
			return (&plotSpectrumCmd{Task: task, Data: filepath.Join(c.Data, data), N: n, Out: f}).Run(std, ctx)
		}
	}
	list := []drawing{
		{"figure1", func(f plotFile) error {
			return (&plotKernelsCmd{Model: file("lin"), Length: 1, Unroll: true, Out: f}).Run(std, ctx)
		}},
		{"figure2", func(f plotFile) error { return (&plotResponseCmd{Out: f}).Run(std) }},
		{"figure3", func(f plotFile) error { return (&plotPolesCmd{Out: f}).Run(std) }},
		{"figure4", func(f plotFile) error {
			return (&plotSweepCmd{Dir: filepath.Join(c.Runs, "figure4"), Out: f}).Run(std)
		}},
		{"figure4-kernels", delay("figure4/*=0.003,*seed=1")}, {"figure4-fixed", delay("fixed-dfout*")},
		{"figure5-hinf", func(f plotFile) error { return (&plotHinfCmd{Model: file("lin"), Out: f}).Run(std, ctx) }},
		{"figure7-kernels", func(f plotFile) error {
			return (&plotKernelsCmd{Model: file("dfout"), Length: 256, Out: f}).Run(std, ctx)
		}},
		{"figure9", func(f plotFile) error {
			return (&plotPolesCmd{Models: []modelFile{file("lin"), file("dfout")}, Out: f}).Run(std)
		}},
	}
	if c.Data != "" {
		list = append(list, drawing{"figure7-spectrum", spectrum("image", "cifar10", 2000)},
			drawing{"figure7-listops", spectrum("listops", "listops", 2000)}, drawing{"figure7-pathx128", spectrum("pathx128", "pathx128", 300)})
	}
	return drawAll(ctx, std, c.Out, list)
}
