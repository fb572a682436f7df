package main

import (
	"path/filepath"
)

type plotPaperCmd struct {
	Runs string `help:"Folder of the runs." required:"" type:"existingdir" placeholder:"DIR"`
	Data string `help:"Folder with the data sets cifar10, listops and pathx128, for the spectra." type:"path" placeholder:"DIR"`
	Out  string `help:"Output folder." default:"figures" type:"path" placeholder:"DIR"`
}

func (c *plotPaperCmd) Help() string {
	return `Draws the figures of REPRODUCTION.md. DIR contains the networks for sCIFAR lin.safetensors, dfout.safetensors and
dfout-discrete.safetensors, the sweep figure4 of Delay, and the runs fixed-dfout and fixed-dfout-single. For each plot whose
input is missing, prints the reason.

Example:
  s4d-fast plot paper --runs runs --data data --out docs/figures`
}

func (c *plotPaperCmd) Run(std *streams, ctx *ctxBox) error {
	file := func(name string) modelFile { return modelFile(filepath.Join(c.Runs, name+".safetensors")) }
	delay := func(f plotFile, runs ...string) error {
		for i, name := range runs {
			runs[i] = filepath.Join(c.Runs, name)
		}
		return (&plotDelayCmd{Runs: runs, Out: f}).Run(std, ctx)
	}
	step := func(init string) string {
		return filepath.Join("figure4", "ssm.init="+init+",ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.003,seed=1")
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
			return (&plotSweepCmd{Dir: filepath.Join(c.Runs, "figure4"), Out: f}).Run(std, ctx)
		}},
		{"figure4-kernels", func(f plotFile) error { return delay(f, step("lin"), step("dfout")) }},
		{"figure4-fixed", func(f plotFile) error { return delay(f, "fixed-dfout", "fixed-dfout-single") }},
		{"figure5-hinf", func(f plotFile) error { return (&plotHinfCmd{Model: file("lin"), Out: f}).Run(std, ctx) }},
		{"figure7-kernels", func(f plotFile) error {
			return (&plotKernelsCmd{Model: file("dfout"), Length: 256, Out: f}).Run(std, ctx)
		}},
		{"figure9", func(f plotFile) error {
			return (&plotPolesCmd{Models: []modelFile{file("lin"), file("dfout"), file("dfout-discrete")}, Out: f}).Run(std)
		}},
	}
	if c.Data != "" {
		list = append(list, drawing{"figure7-spectrum", spectrum("image", "cifar10", 2000)},
			drawing{"figure7-listops", spectrum("listops", "listops", 2000)}, drawing{"figure7-pathx128", spectrum("pathx128", "pathx128", 300)})
	}
	return drawAll(std, c.Out, list)
}
