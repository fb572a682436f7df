package figure

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// delayWindow is the number of samples of a sequence that are shown. The shortest period of the
// signal is four samples.
const delayWindow = 120

// Sequence is a validation sequence of the delay task (docs/maths.md §5.1), one value per sample.
type Sequence struct {
	Input, Target, Output []float32
	SampleRate            float64 // Hz
	Network               string  // that the output is of; "" if there is only one
	Result                string  // on the validation set, for the title: "relative squared error 0.457 %"
}

// Delay draws the input over a short time, and below it the target and the network's output, later
// by the delay that the task asks for. If the network has learned the task, both panels show the
// same curve. The title states the result. The panels that follow are drawn below, for
// example learned kernels (paper, Figure 4).
func Delay(path string, s Sequence, follow ...Panel) error {
	x, target, output := s.Input, s.Target, s.Output
	if len(x) == 0 || len(target) != len(x) || len(output) != len(x) {
		return fmt.Errorf("figure: delay: %d input, %d target and %d output samples: expected equal numbers, at least 1",
			len(x), len(target), len(output))
	}
	if !(s.SampleRate > 0) {
		return fmt.Errorf("figure: delay: sampling rate %v Hz: expected a positive number", s.SampleRate)
	}
	delay := max(firstNonzero(target)-firstNonzero(x), 0)
	from, to := window(len(x), delay)
	ms := 1000 / s.SampleRate

	title := fmt.Sprintf("Delay task: repeat the input %s samples (%.4g ms) later", Thousands(delay), float64(delay)*ms)
	if s.Result != "" {
		title += ". Validation set: " + s.Result
	}
	above := panel(title, "time [ms]", "input")
	below := panel("", "time [ms]", "output")
	if err := line(above, "input", points(x, from-delay, to-delay, ms), grey, vg.Points(1.5)); err != nil {
		return err
	}
	if err := line(below, "target: the input, delayed", points(target, from, to, ms), orange, vg.Points(3)); err != nil {
		return err
	}
	name := "output of the network"
	if s.Network != "" {
		name = "output of " + s.Network
	}
	if err := line(below, name, points(output, from, to, ms), blue, vg.Points(1.5)); err != nil {
		return err
	}
	frame(above, below)
	panels := []*plot.Plot{above, below}
	for _, f := range follow {
		p, err := f.plot()
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	height := (heightPx - bordersPx) / 2
	if len(follow) > 0 {
		height = 240
	}
	return saveWithLegends(path, height, panels)
}

// frame gives the panels the same vertical range and the same spacing of ticks.
func frame(panels ...*plot.Plot) {
	top := 0.0
	for _, p := range panels {
		top = max(top, -p.Y.Min, p.Y.Max)
	}
	for _, p := range panels {
		p.Y.Min, p.Y.Max = -1.1*top, 1.1*top
		p.X.Tick.Marker, p.Y.Tick.Marker = ticks(6), ticks(4)
	}
}

// window returns the range [from, to) of target samples to show. It lies after the delay, in the
// middle of the rest.
func window(length, delay int) (from, to int) {
	n := min(delayWindow, length-delay)
	from = delay + (length-delay-n)/2
	return from, from + n
}

func points(x []float32, from, to int, ms float64) plotter.XYs {
	p := make(plotter.XYs, to-from)
	for i := range p {
		p[i] = plotter.XY{X: float64(from+i) * ms, Y: float64(x[from+i])}
	}
	return p
}

func firstNonzero(x []float32) int {
	for i, v := range x {
		if v != 0 {
			return i
		}
	}
	return 0
}

// Thousands formats n with commas between groups of three digits.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}
