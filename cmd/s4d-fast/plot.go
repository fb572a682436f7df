package main

import (
	"fmt"
	"path/filepath"
	"strings"

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
	Sweep    plotSweepCmd    `cmd:"" help:"Plot the results of a sweep (Figures 4, 5, 6 and 8)."`
	All      plotAllCmd      `cmd:"" help:"Draw every plot of a run into one folder."`
	Paper    plotPaperCmd    `cmd:"" help:"Draw the figures of REPRODUCTION.md from their runs."`
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

// paperWords replaces the keys and values of a sweep by the words of the paper.
func paperWords(text string) string {
	names := map[string]string{"lin": "S4D-Lin", "inv": "S4D-Inv", "legs": "S4D-LegS", "dfout": "S4D-DFouT", "dfout-single": "DFouT, equal angles"}
	if name, ok := names[text]; ok {
		return name
	}
	return strings.NewReplacer("ssm.dt_min+ssm.dt_max", "Δ", "ssm.xi_min+ssm.xi_max", "ξ", "ssm.dt_max", "Δ max", "ssm.xi_max", "ξ max",
		"ssm.l_max", "length of the kernel", "ablate.layers", "layers with an SSM", "model.n_layers", "layers", "+", ", ").Replace(text)
}

// plural formats a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
