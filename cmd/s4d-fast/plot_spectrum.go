package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type plotSpectrumCmd struct {
	Task   string    `arg:"" help:"Task: ${tasks}."`
	Data   string    `help:"Folder of the data set (delay makes its own)." type:"path" placeholder:"DIR"`
	N      int       `help:"Training examples, chosen at random." default:"10000"`
	Seed   uint64    `help:"Seed of the choice and of made-up data." default:"0" placeholder:"N"`
	Set    []string  `help:"Replace one value of the task's preset, for example data.length=1000; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	Stride int       `help:"Mark the multiples of 2π/N, such as those of an image's rows of N pixels." placeholder:"N" xor:"marks"`
	Mark   []float64 `help:"Angles to mark, in radians a sample." placeholder:"X" xor:"marks"`
	Out    picture   `help:"Picture to write, PNG or SVG by its name." default:"spectrum.png" type:"path" placeholder:"FILE"`
}

func (c *plotSpectrumCmd) Help() string {
	return `The mean of |X|²/L over the sequences, L being a sequence's length and X its transform, padded to the longest. Samples
are normalised as the network meets them, so that 0 dB is white noise of variance 1. Of tokens, whose numbers say
nothing, the numbers are taken for samples, less their mean and over their standard deviation.

Examples:
  s4d-fast plot spectrum smnist --data data/mnist --stride 28
  s4d-fast plot spectrum scifar --data data/cifar --mark 0.19635 --out scifar.svg`
}

func (c *plotSpectrumCmd) Run(std *streams, ctx *ctxBox) error {
	if c.N < 1 || c.Stride < 0 {
		return usageError(fmt.Errorf("--n %d, --stride %d: want at least 1 and 0", c.N, c.Stride))
	}
	if c.Stride/2 > maxMarks {
		fmt.Fprintf(std.err, "no marks: there are %d multiples of 2π/%d\n", c.Stride/2, c.Stride)
		c.Stride = 0
	}
	for _, x := range c.Mark {
		if !(x >= 0 && x <= math.Pi) {
			return usageError(fmt.Errorf("--mark %g: want an angle from 0 to π radians a sample", x))
		}
	}
	cfg, err := (&trainCmd{Task: c.Task, Data: c.Data, Set: c.Set, Seed: &c.Seed}).config()
	if err != nil {
		return trainError(err)
	}
	if std.errTTY {
		cfg.LoadProgress = loading(std.err)
	}
	data, err := train.LoadData(ctx, cfg, "train")
	if err != nil {
		return trainError(err)
	}
	spectrum, err := data.MeanSpectrum(ctx, c.N, c.Seed)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return badInput(err)
	}
	if err := figure.Curves(string(c.Out), []figure.Panel{c.panel(data, spectrum)}); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// panel draws a curve a channel.
func (c *plotSpectrumCmd) panel(data *dataset.Dataset, s *dataset.Spectrum) figure.Panel {
	of := fmt.Sprintf("%d of %d", s.Examples, data.Train.Len())
	if s.Examples == data.Train.Len() {
		of = fmt.Sprintf("all %d", s.Examples)
	}
	p := figure.Panel{
		Title: fmt.Sprintf("%s: mean power spectrum of %s training examples", c.Task, of),
		X:     "angle [radians a sample]", Y: "power [dB; white noise: 0]", Angles: true,
	}
	if data.Channels == 0 {
		p.Title += ", token numbers"
	}
	for channel := range s.Power {
		curve := figure.Curve{X: s.Angles(), Y: s.Decibels(channel)}
		if len(s.Power) > 1 {
			curve.Name, curve.Hue = channelName(c.Task, channel)
		}
		p.Curves = append(p.Curves, curve)
	}
	clipSpectrum(&p)
	for k := 1; c.Stride > 0 && k <= c.Stride/2; k++ {
		p.Marks = append(p.Marks, 2*math.Pi*float64(k)/float64(c.Stride))
		p.MarkName = fmt.Sprintf("multiples of 2π/%d", c.Stride)
	}
	if len(c.Mark) > 0 {
		p.Marks, p.MarkName = c.Mark, strings.Trim(fmt.Sprint(c.Mark), "[]")
	}
	return p
}

// clipSpectrum leaves out what lies so far below the peak that it is rounding, or next to it.
func clipSpectrum(p *figure.Panel) {
	const shown = 80 // dB
	low, peak := math.Inf(1), math.Inf(-1)
	for _, c := range p.Curves {
		low, peak = min(low, slices.Min(c.Y)), max(peak, slices.Max(c.Y))
	}
	if low < peak-shown {
		p.YMin, p.YMax = peak-shown, peak+0.02*shown
		p.Y = fmt.Sprintf("power [dB; white noise: 0; from %d below the peak]", shown)
	}
}

// channelName is what a task's input channel is called, and its colour where it is one.
func channelName(task string, channel int) (string, figure.Hue) {
	if strings.HasSuffix(task, "cifar") {
		return []string{"red", "green", "blue"}[channel], []figure.Hue{figure.Red, figure.Green, figure.Blue}[channel]
	}
	return fmt.Sprintf("channel %d", channel+1), figure.AnyHue
}
