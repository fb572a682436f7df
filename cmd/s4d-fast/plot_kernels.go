package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type plotKernelsCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	Length int       `help:"Number of taps to show, at most the kernel length of a model with truncated kernels (default: ${default})." default:"256" range:"1..1000000" placeholder:"L"`
	Unroll bool      `help:"Show stride² taps as an image with stride taps per row (Figure 1)."`
	Stride *int      `help:"Mark multiples of N samples; 0: none (default: for image tasks, the length of a row)." range:"0..1000000" placeholder:"N"`
	Out    plotFile  `help:"Output file, PNG or SVG by its name (default: ${default})." default:"kernels.png" type:"path" placeholder:"FILE"`
}

func (c *plotKernelsCmd) Help() string {
	return `One panel per layer shows the mean of |K[l]| over its channels, without D. In bidirectional layers the anticausal
kernel has its own curve. --unroll shows the causal one.

Examples:
  s4d-fast plot kernels runs/scifar/best.safetensors
  s4d-fast plot kernels cifar10.safetensors --stride 32 --length 200 --out kernels.svg`
}

func (c *plotKernelsCmd) Run(std *streams, ctx context.Context) error {
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	stride := or(c.Stride, 0)
	if tk, err := task.Lookup(m.Meta.Task); c.Stride == nil && err == nil { // the model may be of another program
		stride = tk.ImageWidth()
	}
	if !c.Unroll {
		return c.Out.curves(std, kernelPanels(m, c.Length, stride)...)
	}
	if stride == 0 {
		return usageError(errors.New("--unroll: the task has no images: set --stride to the length of a row"))
	}
	var panels []figure.Unrolled
	for i := range m.Config.CountSSM() {
		k := convmode.MeanKernel(m, i, stride*stride)[0]
		panels = append(panels, figure.Unrolled{Title: fmt.Sprintf("layer %d: mean |K[l]|, 40 dB", i+1), Width: stride, Values: k})
	}
	return c.Out.report(std, figure.Unroll(string(c.Out), "pixels to the left", "rows above", panels))
}

// kernelPanels returns one panel per layer. The last one has the title of the axis of lags, the
// first one the legend.
func kernelPanels(m *model.Model, length, stride int) []figure.Panel {
	panels := make([]figure.Panel, m.Config.CountSSM())
	for i := range panels {
		p := &panels[i]
		p.Title = fmt.Sprintf("layer %d of %d", i+1, m.Config.NLayers)
		p.Y, p.LogY = "mean |K[l]|", true
		mean := convmode.MeanKernel(m, i, length)
		for dir, k := range mean {
			if m.Config.SSM.MIMO() {
				dir = 0 // both directions start at lag 0; else the anticausal kernel starts at the next sample
			}
			c := figure.Curve{Y: k} // over the distance to the sample that each tap multiplies (docs/maths.md §1.5)
			for l := range k {
				c.X = append(c.X, float64(l+dir))
			}
			p.Curves = append(p.Curves, c)
			p.YMax = max(p.YMax, slices.Max(k))
		}
		p.YMin = p.YMax
		for _, k := range mean { // taps more than five decades below the largest are rounding errors of float32
			p.YMin = min(p.YMin, max(slices.Min(k), 1e-5*p.YMax))
		}
		p.XMax = float64(max(len(mean[0]), 1))
		for l := stride; stride > 0 && l <= len(mean[0]); l += stride {
			p.Marks = append(p.Marks, float64(l))
		}
		if i == 0 {
			over := fmt.Sprintf("%d channels", m.Config.DModel)
			if m.Config.SSM.MIMO() {
				over = fmt.Sprintf("%d × %[1]d pairs of channels", m.Config.DModel)
			}
			p.Title += fmt.Sprintf(": mean over %s, first %d taps", over, len(mean[0]))
			p.MarkName = fmt.Sprintf("multiples of %d", stride)
			if m.Config.SSM.Bidirectional {
				p.Curves[0].Name, p.Curves[1].Name = "causal", "anticausal"
			}
		}
	}
	panels[len(panels)-1].X = lagTitle(m.Meta.PositionRate())
	return panels
}

// lagTitle returns the title of an axis of lags, with the duration of a sample if the sampling rate
// in Hz is not 0.
func lagTitle(sampleRate float64) string {
	if sampleRate > 0 {
		return fmt.Sprintf("lag l [samples of %.4g ms]", 1000/sampleRate)
	}
	return "lag l [samples]"
}
