package main

import (
	"fmt"
	"path/filepath"
)

// plotCmd draws what the paper's figures show.
type plotCmd struct {
	Poles    plotPolesCmd    `cmd:"" help:"Poles in the complex plane: of initialisations (Figure 3), or of a trained model (Figure 9)."`
	Response plotResponseCmd `cmd:"" help:"Frequency responses of initialisations, with and without decay (Figure 2)."`
	Kernels  plotKernelsCmd  `cmd:"" help:"Kernels of a model: the mean of |K[l]| in each layer (Figures 1 and 7)."`
	Spectrum plotSpectrumCmd `cmd:"" help:"Mean power spectrum of a task's training sequences (Figure 7)."`
	Hinf     plotHinfCmd     `cmd:"" help:"H∞ scores of a model's SSMs against their Δ, or ξ (Figure 5)."`
	Delay    plotDelayCmd    `cmd:"" help:"The delay task: an example, and the kernels that networks have learned (Figure 4)."`
	Sweep    plotSweepCmd    `cmd:"" help:"Results of one sweep, or of several over the same key (Figures 4, 5, 6 and 8)."`
	All      plotAllCmd      `cmd:"" help:"All pictures for which there is input, in one folder."`
}

// picture is the name of a picture to write, PNG or SVG.
type picture string

// Validate reports another format before any work is done.
func (p picture) Validate() error {
	if ext := filepath.Ext(string(p)); ext != ".png" && ext != ".svg" {
		return fmt.Errorf("%s: want a name that ends in .png or .svg", string(p))
	}
	return nil
}

// wrote says what a command leaves.
func (p picture) wrote(std *streams) { fmt.Fprintln(std.err, "wrote", string(p)) }
