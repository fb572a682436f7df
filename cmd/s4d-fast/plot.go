package main

import (
	"fmt"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/internal/figure"
)

// plotCmd draws plots like the figures of the paper.
type plotCmd struct {
	Poles    plotPolesCmd    `cmd:"" help:"Plot the poles of initialisations (Figure 3) or of a trained model (Figure 9)."`
	Response plotResponseCmd `cmd:"" help:"Plot the frequency responses of initialisations, with and without decay (Figure 2)."`
	Kernels  plotKernelsCmd  `cmd:"" help:"Plot the mean of |K[l]| in each layer of a model (Figures 1 and 7)."`
	Spectrum plotSpectrumCmd `cmd:"" help:"Plot the mean power spectrum of a task's training sequences (Figure 7)."`
	Hinf     plotHinfCmd     `cmd:"" help:"Plot the H∞ scores of a model's SSMs against their Δ or ξ (Figure 5)."`
	Delay    plotDelayCmd    `cmd:"" help:"Plot an example of the delay task and the learned kernels (Figure 4)."`
	Sweep    plotSweepCmd    `cmd:"" help:"Plot the results of one or more sweeps over the same key (Figures 4, 5, 6 and 8)."`
	All      plotAllCmd      `cmd:"" help:"Draw every plot of a run into one folder."`
}

// plotFile is the name of a plot to write, PNG or SVG.
type plotFile string

// Validate reports another format before any work is done.
func (f plotFile) Validate() error {
	if ext := filepath.Ext(string(f)); ext != ".png" && ext != ".svg" {
		return fmt.Errorf("%s: expected a name that ends in .png or .svg", string(f))
	}
	return nil
}

// check returns an error if the plot cannot be written, as checkOut does.
func (f plotFile) check() error {
	if f == "" {
		return nil
	}
	return checkOut(string(f))
}

// curves writes the panels and reports the file.
func (f plotFile) curves(std *streams, panels ...figure.Panel) error {
	return f.report(std, figure.Curves(string(f), panels))
}

// report tells the user which file a command has written, unless there is an error.
func (f plotFile) report(std *streams, err error) error {
	if err == nil {
		fmt.Fprintln(std.err, "wrote", string(f))
	}
	return err
}

// plural formats a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
