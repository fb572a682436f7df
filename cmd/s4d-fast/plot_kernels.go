package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
)

type plotKernelsCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	Length int       `help:"Taps to show; no more than the model has, where its kernels are truncated." default:"256" placeholder:"L"`
	Stride int       `help:"Mark the multiples of this many samples, such as an image's rows; 0: none." default:"32" placeholder:"N"`
	First  int       `help:"Layers to show, from the first; 0: all." default:"0" placeholder:"N"`
	Out    picture   `help:"Picture to write, PNG or SVG by its name." default:"kernels.png" type:"path" placeholder:"FILE"`
}

func (c *plotKernelsCmd) Help() string {
	return `A panel a layer shows the mean over its channels of |K[l]|, without D. Where the layers are bidirectional, the kernel
of the samples ahead has a curve of its own.

Examples:
  s4d-fast plot kernels runs/scifar/best.safetensors
  s4d-fast plot kernels runs/smnist/best.safetensors --stride 28 --length 200 --out kernels.svg`
}

// Bounds of what a picture of kernels shows.
const (
	maxTaps  = 1 << 20
	maxMarks = 100 // more run into one another
)

func (c *plotKernelsCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Length < 1 || c.Length > maxTaps || c.Stride < 0 || c.First < 0 {
		return usageError(fmt.Errorf("--length %d, --stride %d, --first %d: want 1 to %d, and at least 0", c.Length, c.Stride, c.First, maxTaps))
	}
	m, err := c.Model.load()
	if err != nil {
		return badInput(err)
	}
	if n := c.Length / max(c.Stride, 1); c.Stride > 0 && n > maxMarks {
		fmt.Fprintf(std.err, "no marks: there are %d multiples of %d samples\n", n, c.Stride)
		c.Stride = 0
	}
	if layers := m.Config.CountSSM(); c.First > layers {
		return usageError(fmt.Errorf("--first %d: %s has %s with SSMs", c.First, c.Model, plural(layers, "layer")))
	}
	var panels []figure.Panel
	if err := orInterrupt(ctx, func() error { panels = c.panels(m); return nil }); err != nil {
		return err
	}
	if err := figure.Curves(string(c.Out), panels); err != nil {
		return err
	}
	c.Out.wrote(std)
	return nil
}

// panels draws a layer each. The axis of lags is named below the last of them, the lines in the first.
func (c *plotKernelsCmd) panels(m *model.Model) []figure.Panel {
	layers := m.Config.CountSSM()
	if c.First > 0 {
		layers = c.First
	}
	panels := make([]figure.Panel, layers)
	for i := range panels {
		p := &panels[i]
		p.Title = fmt.Sprintf("layer %d of %d", i+1, m.Config.NLayers)
		p.Y, p.LogY = "mean |K[l]|", true
		mean := convmode.MeanKernel(m, i, c.Length)
		for dir, k := range mean {
			p.Curves = append(p.Curves, kernelCurve(k, dir))
		}
		p.YMin, p.YMax = kernelRange(p.Curves)
		p.XMax = float64(max(len(mean[0]), 1))
		if c.Stride > 0 {
			for l := c.Stride; l <= len(mean[0]); l += c.Stride {
				p.Marks = append(p.Marks, float64(l))
			}
		}
		if i == 0 {
			p.Title += fmt.Sprintf(": mean over %d channels, first %d taps", m.Config.DModel, len(mean[0]))
			p.MarkName = fmt.Sprintf("multiples of %d", c.Stride)
			if m.Config.SSM.Bidirectional {
				p.Curves[0].Name, p.Curves[1].Name = "samples past", "samples ahead"
			}
		}
	}
	panels[layers-1].X = "lag l [samples]"
	return panels
}

// kernelCurve is a kernel over the distance to the sample that each tap meets: the second direction begins with the next
// one (docs/maths.md §1.5).
func kernelCurve(k []float64, dir int) figure.Curve {
	c := figure.Curve{Y: k}
	for l := range k {
		c.X = append(c.X, float64(l+dir))
	}
	return c
}

// kernelRange leaves out of a logarithmic axis what lies more than five decades below the largest tap, where float32
// rounds. It ends at round values, which have a label.
func kernelRange(curves []figure.Curve) (low, high float64) {
	for _, c := range curves {
		high = max(high, slices.Max(c.Y))
	}
	low = high
	for _, c := range curves {
		for _, y := range c.Y {
			low = min(low, max(y, high*1e-5))
		}
	}
	if high == 0 {
		return low, high
	}
	return roundDown(low), 1 / roundDown(1/high)
}

// roundDown returns the largest power of ten, or 2 or 5 times one, that is not above v.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{5, 2} {
		if v >= digit*power {
			return digit * power
		}
	}
	return power
}
