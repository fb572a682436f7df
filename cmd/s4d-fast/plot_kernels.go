package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type plotKernelsCmd struct {
	Model  modelFile `arg:"" help:"Model file (.safetensors), or the name of a built-in model (${models})."`
	Length int       `help:"Number of taps to show, at most the kernel length of a model with truncated kernels (default: ${default})." default:"256" placeholder:"L"`
	Stride *int      `help:"Mark multiples of N samples; 0: none (default: for image tasks, the length of a row)." placeholder:"N"`
	First  int       `help:"Show only the first N layers; 0: all." default:"0" placeholder:"N"`
	Out    plotFile  `help:"Output file, PNG or SVG by its name (default: ${default})." default:"kernels.png" type:"path" placeholder:"FILE"`
}

func (c *plotKernelsCmd) Help() string {
	return `One panel per layer shows the mean of |K[l]| over its channels, without D. In bidirectional layers the anticausal
kernel has its own curve.

Examples:
  s4d-fast plot kernels runs/scifar/best.safetensors
  s4d-fast plot kernels cifar10.safetensors --stride 32 --length 200 --out kernels.svg`
}

// Limits of a plot of kernels.
const (
	maxTaps  = 1 << 20
	maxMarks = 100 // more lines would merge
)

// strideOf returns the value of a flag --stride, or without it the row length of a task's images.
func strideOf(flag *int, name string) int {
	if flag != nil {
		return *flag
	}
	tk, err := task.Lookup(name)
	if err != nil { // of another program's model
		return 0
	}
	return tk.ImageWidth()
}

func (c *plotKernelsCmd) Run(std *streams, ctx *ctxBox) error {
	if c.Length < 1 || c.Length > maxTaps {
		return usageError(fmt.Errorf("--length %d: expected 1 to %d", c.Length, maxTaps))
	}
	if c.Stride != nil && *c.Stride < 0 || c.First < 0 {
		return usageError(fmt.Errorf("--stride %d, --first %d: expected at least 0", strideOf(c.Stride, ""), c.First))
	}
	m, err := c.Model.load(ctx)
	if err != nil {
		return badInput(err)
	}
	stride := strideOf(c.Stride, m.Meta.Task)
	if n := c.Length / max(stride, 1); stride > 0 && n > maxMarks {
		fmt.Fprintf(std.err, "no marks: %d multiples of %d samples would merge, the limit is %d\n", n, stride, maxMarks)
		stride = 0
	}
	if layers := m.Config.CountSSM(); c.First > layers {
		return usageError(fmt.Errorf("--first %d: %s has %s with SSMs", c.First, c.Model, plural(layers, "layer")))
	}
	panels, err := orInterrupt(ctx, func() ([]figure.Panel, error) { return c.panels(m, stride), nil })
	if err != nil {
		return err
	}
	return c.Out.curves(std, panels...)
}

// panels returns one panel per layer. The last one has the title of the axis of lags, the first one
// the legend.
func (c *plotKernelsCmd) panels(m *model.Model, stride int) []figure.Panel {
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
			if m.Config.SSM.MIMO() {
				dir = 0 // both directions start at lag 0
			}
			p.Curves = append(p.Curves, kernelCurve(k, dir))
		}
		p.YMin, p.YMax = kernelRange(p.Curves)
		p.XMax = float64(max(len(mean[0]), 1))
		p.MarkTicks = true
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
	panels[layers-1].X = lagTitle(m.Meta.PositionRate())
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

// kernelCurve returns a kernel over the distance to the sample that each tap multiplies. The
// anticausal kernel (dir 1) begins with the next sample (docs/maths.md §1.5).
func kernelCurve(k []float64, dir int) figure.Curve {
	c := figure.Curve{Y: k}
	for l := range k {
		c.X = append(c.X, float64(l+dir))
	}
	return c
}

// kernelRange returns the ends of a logarithmic axis, which are round values and have a label. Taps
// more than five decades below the largest are left out, because they are rounding errors of
// float32.
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

// roundDown returns the largest of 1, 2 or 5 times a power of ten that is at most v.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{5, 2} {
		if v >= digit*power {
			return digit * power
		}
	}
	return power
}
