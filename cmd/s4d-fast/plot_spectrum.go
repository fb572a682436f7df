package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type plotSpectrumCmd struct {
	Task string   `arg:"" help:"Task: ${tasks}."`
	Data string   `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	N    int      `help:"Number of training examples, chosen at random." default:"10000" range:"1..1000000000"`
	Set  []string `help:"Override one value of the task's preset, for example data.length=1000 or seed=7; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	Out  plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"spectrum.png" type:"path" placeholder:"FILE"`
}

func (c *plotSpectrumCmd) Help() string {
	return `Plots the mean of |X|²/L over the sequences. X is the Fourier transform of a sequence, padded to the length of the
longest, and L is its own length. Samples are normalised as for the network, so white noise of variance 1 is at 0 dB.
Token tasks use the token indices, normalised to mean 0 and variance 1, although the indices have no numerical meaning.
The axis is in Hz if the task has a sampling rate, otherwise in radians per sample. For images, lines mark the multiples
of 2π/N, where N is the length of a row.

Examples:
  s4d-fast plot spectrum smnist --data data/mnist
  s4d-fast plot spectrum delay --n 1000 --set data.length=1000 --out delay.svg`
}

func (c *plotSpectrumCmd) Run(std *streams, ctx context.Context) error {
	tk, err := task.Lookup(c.Task)
	if err != nil {
		return err
	}
	cfg := tk.Preset()
	if err := cmp.Or(configflags.Override(&cfg, tk, nil, "", c.Set, c.Data), tk.Resolve(&cfg)); err != nil {
		return err
	}
	return plotSpectrum(std, ctx, tk, cfg, c.N, c.Out)
}

// plotSpectrum draws the spectrum of n training examples of a task, with one curve per channel.
func plotSpectrum(std *streams, ctx context.Context, tk *task.Task, cfg train.Config, n int, out plotFile) error {
	data, err := tk.Load(ctx, source(std, cfg, "train"))
	if err != nil {
		return err
	}
	curves, examples, err := meanSpectrum(ctx, data, n, cfg.Seed)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return badInput(err)
	}
	p := figure.Panel{Y: "power [dB re white noise]", Frequency: true, SampleRate: data.SampleRate, Curves: curves}
	of := fmt.Sprintf("%d of %d", examples, data.Train.Len())
	if examples == data.Train.Len() {
		of = fmt.Sprintf("all %d", examples)
	}
	p.Title = fmt.Sprintf("%s: mean power spectrum of %s training examples", tk.Name(), of)
	if data.Channels == 0 {
		p.Title += ", token indices"
	}
	for k := range tk.ImageWidth() / 2 {
		p.Marks = append(p.Marks, 2*math.Pi*float64(k+1)/float64(tk.ImageWidth()))
		p.MarkName = fmt.Sprintf("multiples of 2π/%d", tk.ImageWidth())
	}
	clipSpectrum(&p)
	return out.curves(std, p)
}

// clipSpectrum limits the axis to 80 dB below the peak. What lies lower is close to rounding
// errors.
func clipSpectrum(p *figure.Panel) {
	const shown = 80 // dB
	low, peak := math.Inf(1), math.Inf(-1)
	for _, c := range p.Curves {
		low, peak = min(low, slices.Min(c.Y)), max(peak, slices.Max(c.Y))
	}
	if low < peak-shown {
		p.YMin, p.YMax = peak-shown, peak+0.02*shown
	}
}

// channelCurve returns a curve with the name of one of several input channels, and with its colour
// if it is one.
func channelCurve(d *dataset.Dataset, channel int) figure.Curve {
	if d.Channels < 2 {
		return figure.Curve{}
	}
	if channel >= len(d.ChannelNames) {
		return figure.Curve{Name: fmt.Sprintf("channel %d", channel+1)}
	}
	name := d.ChannelNames[channel]
	return figure.Curve{Name: name, Hue: map[string]figure.Hue{"red": figure.Red, "green": figure.Green, "blue": figure.Blue}[name]}
}
