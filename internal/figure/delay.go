package figure

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// delayWindow is how many samples of a sequence the picture shows: the signal's fastest swing lasts four.
const delayWindow = 120

// Sequence is one of the delay task (docs/maths.md §5.1), a value a sample.
type Sequence struct {
	Input, Target, Output []float32
	SampleRate            float64 // samples a second
	Network               string  // whose output it is; "" where there is one network only
	Result                string  // on the validation set, for the title: "relative squared error 0.457 %"
}

// Delay draws a sequence: above, a stretch of the input; below, as many samples later as the task asks for, the target
// and the network's output. Where the network has learned the task, the two panels show the same curve. The title gives the
// result. Panels that follow, such as of learned kernels (paper, Figure 4), are drawn below.
func Delay(path string, s Sequence, follow ...Panel) error {
	x, target, output := s.Input, s.Target, s.Output
	if len(x) == 0 || len(target) != len(x) || len(output) != len(x) {
		return fmt.Errorf("figure: delay: %d input, %d target and %d output samples: want as many of each, at least 1",
			len(x), len(target), len(output))
	}
	if !(s.SampleRate > 0) {
		return fmt.Errorf("figure: delay: rate %v: want a positive number of samples a second", s.SampleRate)
	}
	delay := max(firstNonzero(target)-firstNonzero(x), 0)
	from, to := window(len(x), delay)
	ms := 1000 / s.SampleRate

	title := fmt.Sprintf("Delay task: repeat the input %s samples (%.4g ms) later", Thousands(delay), float64(delay)*ms)
	if s.Result != "" {
		title += ".  Validation set: " + s.Result
	}
	above := panel(title, "time [ms]", "input")
	below := panel("", "time [ms]", "output")
	if err := line(above, "input", points(x, from-delay, to-delay, ms), grey, vg.Points(1.5)); err != nil {
		return err
	}
	if err := line(below, "target: the input, delayed", points(target, from, to, ms), orange, vg.Points(3)); err != nil {
		return err
	}
	name := "network's output"
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
	return saveBeside(path, heightPx+240*len(follow), panels)
}

// frame gives the panels one vertical range, and marks at the same distances.
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

// window returns the stretch [from, to) of target samples to show: behind the delay, where there is room.
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

// Thousands writes n with a comma between groups of three digits.
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
