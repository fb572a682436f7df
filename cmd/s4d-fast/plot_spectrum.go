package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type plotSpectrumCmd struct {
	Task   string    `arg:"" help:"Task: ${tasks}."`
	Data   string    `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	N      int       `help:"Number of training examples, chosen at random." default:"10000"`
	Seed   uint64    `help:"Seed for selecting examples and for generated data (default: ${default})." default:"0" placeholder:"N"`
	Set    []string  `help:"Override one value of the task's preset, for example data.length=1000; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	Stride *int      `help:"Mark multiples of 2π/N; 0: none (default: for image tasks, the length of a row)." placeholder:"N" xor:"marks"`
	Mark   []float64 `help:"Frequencies to mark, in the unit of the axis." placeholder:"X" xor:"marks"`
	sampleRate
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"spectrum.png" type:"path" placeholder:"FILE"`
}

func (c *plotSpectrumCmd) Help() string {
	return `Plots the mean of |X|²/L over the sequences. X is the Fourier transform of a sequence, padded to the length of the
longest, and L is its own length. Samples are normalised as for the network, so white noise of variance 1 is at 0 dB.
Token tasks use the token indices, normalised to mean 0 and variance 1, although the indices have no numerical meaning.
The axis is in Hz if the task has a sampling rate or --rate is given, otherwise in radians per sample.

Examples:
  s4d-fast plot spectrum smnist --data data/mnist
  s4d-fast plot spectrum fsdd --data data/fsdd --mark 500,1000
  s4d-fast plot spectrum scifar --data data/cifar --mark 0.19635 --out scifar.svg`
}

func (c *plotSpectrumCmd) Run(std *streams, ctx *ctxBox) error {
	stride := strideOf(c.Stride, c.Task)
	if c.N < 1 || stride < 0 {
		return usageError(fmt.Errorf("--n %d, --stride %d: expected at least 1 and 0", c.N, stride))
	}
	if stride/2 > maxMarks {
		fmt.Fprintf(std.err, "no marks: %d multiples of 2π/%d would merge, the limit is %d\n", stride/2, stride, maxMarks)
		stride = 0
	}
	tk, cfg, err := (&trainCmd{Task: c.Task, Data: c.Data, Set: c.Set, Seed: &c.Seed}).config(ctx, nil, nil)
	if err != nil {
		return trainError(err)
	}
	data, err := tk.Load(ctx, source(std, cfg, "train"))
	if err != nil {
		return trainError(err)
	}
	p := figure.Panel{Y: "power [dB re white noise]", Frequency: true, SampleRate: data.SampleRate}
	if c.Rate > 0 {
		p.SampleRate = c.Rate
	}
	if err := c.mark(&p, stride); err != nil {
		return usageError(err)
	}
	spectrum, err := meanSpectrum(ctx, data, c.N, c.Seed)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return badInput(err)
	}
	c.draw(&p, data, spectrum)
	return c.Out.curves(std, p)
}

// mark adds the lines at --mark, which is in Hz if there is a sampling rate, or else at the
// multiples of 2π/stride.
func (c *plotSpectrumCmd) mark(p *figure.Panel, stride int) error {
	perUnit, unit, half := 1.0, " rad", "π radians per sample"
	if p.SampleRate > 0 {
		perUnit, unit, half = 2*math.Pi/p.SampleRate, " Hz", fmt.Sprintf("%g Hz, half the sampling rate", p.SampleRate/2)
	}
	var names []string
	for _, x := range c.Mark {
		if !(x >= 0 && x*perUnit <= math.Pi*(1+1e-12)) {
			return fmt.Errorf("--mark %g: expected 0 to %s", x, half)
		}
		p.Marks, names = append(p.Marks, x*perUnit), append(names, fmt.Sprint(x))
		p.MarkName = strings.Join(names, ", ") + unit
	}
	for k := 1; len(c.Mark) == 0 && k <= stride/2; k++ {
		p.Marks = append(p.Marks, 2*math.Pi*float64(k)/float64(stride))
		p.MarkName = fmt.Sprintf("multiples of 2π/%d", stride)
	}
	return nil
}

// draw adds the title and one curve per channel.
func (c *plotSpectrumCmd) draw(p *figure.Panel, data *dataset.Dataset, s *meanPower) {
	of := fmt.Sprintf("%d of %d", s.examples, data.Train.Len())
	if s.examples == data.Train.Len() {
		of = fmt.Sprintf("all %d", s.examples)
	}
	p.Title = fmt.Sprintf("%s: mean power spectrum of %s training examples", c.Task, of)
	if data.Channels == 0 {
		p.Title += ", token indices"
	}
	for channel := range s.power {
		curve := figure.Curve{X: s.angles(), Y: s.decibels(channel)}
		if len(s.power) > 1 {
			curve.Name, curve.Hue = channelName(data.ChannelNames, channel)
		}
		p.Curves = append(p.Curves, curve)
	}
	clipSpectrum(p)
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

// channelName returns the name of an input channel, and its colour if it is one.
func channelName(names []string, channel int) (string, figure.Hue) {
	if channel >= len(names) {
		return fmt.Sprintf("channel %d", channel+1), figure.AnyHue
	}
	name := names[channel]
	if hue, ok := map[string]figure.Hue{"red": figure.Red, "green": figure.Green, "blue": figure.Blue}[name]; ok {
		return name, hue
	}
	return name, figure.AnyHue
}
