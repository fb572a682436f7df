package figure

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shades are the colours of rising values. Every one is darker than those before it, so that they
// keep their order in grey, and the highest values stand out most from the white background.
var shades = []color.RGBA{
	{R: 0xe8, G: 0xd4, B: 0x00, A: 0xff}, {R: 0xf8, G: 0x95, B: 0x40, A: 0xff}, {R: 0xcc, G: 0x47, B: 0x78, A: 0xff},
	{R: 0x7e, G: 0x03, B: 0xa8, A: 0xff}, {R: 0x0d, G: 0x08, B: 0x87, A: 0xff},
}

// unbounded is the colour of values without a bound, which is not among the shades.
var unbounded = color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}

// scale divides the range of the finite values into at most as many classes as there are shades.
type scale struct {
	edges     []float64 // of the classes, rising, at round values; nil without finite values
	clipped   bool      // a value lies below the lowest edge
	unbounded bool      // a value is +Inf
}

// scale returns the scale of the values of all panels.
func (p *PolePlane) scale() (s scale, err error) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, panel := range p.Panels {
		if panel.Value != nil && len(panel.Value) != len(panel.Poles) {
			return s, fmt.Errorf("figure: poles: %d values for %d poles, expected one per pole", len(panel.Value), len(panel.Poles))
		}
		for _, v := range panel.Value {
			switch {
			case math.IsNaN(v):
				return s, errors.New("figure: poles: a value is NaN")
			case math.IsInf(v, 1):
				s.unbounded = true
				continue
			case v < p.Floor:
				s.clipped, v = true, p.Floor
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return s, nil
	}
	lo, hi = max(lo, -1e300), min(hi, 1e300)                                        // their distance is finite
	if least := max(1e-300, 1e-9*max(math.Abs(lo), math.Abs(hi))); hi-lo <= least { // equal up to rounding
		hi = lo + max(1, least)
	}
	step := roundStep((hi - lo) / float64(len(shades)))
	for math.Ceil(hi/step)-math.Floor(lo/step) > float64(len(shades)) {
		step = roundStep(2 * step)
	}
	for k := math.Floor(lo / step); k < math.Ceil(hi/step); k++ {
		s.edges = append(s.edges, max(k*step, p.Floor))
	}
	s.edges = append(s.edges, math.Ceil(hi/step)*step)
	return s, nil
}

// classes returns the number of classes.
func (s scale) classes() int { return max(0, len(s.edges)-1) }

// shade returns the colour of a class, counted from the lowest values.
func (s scale) shade(class int) color.RGBA {
	top := len(shades) - 1
	below := s.classes() - 1 - class
	return shades[top-int(math.Round(float64(below*top)/float64(max(1, s.classes()-1))))]
}

// colour returns the colour of a value.
func (s scale) colour(v float64) color.RGBA {
	if math.IsInf(v, 1) {
		return unbounded
	}
	class := 0
	for class < s.classes()-1 && v >= s.edges[class+1] {
		class++
	}
	return s.shade(class)
}

// key returns the key to the colours, a bar with the edges of the classes; nil without values.
func (s scale) key(label string) *plot.Plot {
	var bar keyBar
	var labels []plot.Tick
	for class := range s.classes() {
		bar = append(bar, s.shade(class))
	}
	for i, edge := range s.edges {
		text := number(edge)
		if i == 0 && s.clipped {
			text = "≤ " + text
		}
		labels = append(labels, plot.Tick{Value: float64(i), Label: text})
	}
	if s.unbounded {
		if len(bar) > 0 {
			bar = append(bar, color.RGBA{}) // a gap
		}
		bar = append(bar, unbounded)
		labels = append(labels, plot.Tick{Value: float64(len(bar)) - 0.5, Label: "unbounded"})
	}
	if len(bar) == 0 {
		return nil
	}
	pl := axes("", "", label)
	pl.HideX()
	pl.X.Min, pl.X.Max = 0, 1
	pl.Y.Min, pl.Y.Max = float64(min(0, len(bar)-len(shades))), float64(len(bar)) // a short bar has boxes of the same height
	pl.Y.LineStyle.Width = 0
	pl.Y.Tick.Marker = plot.ConstantTicks(labels)
	pl.Add(bar)
	return pl
}

// keyBar is a column of coloured boxes of height 1, from the bottom up.
type keyBar []color.RGBA

// Plot implements plot.Plotter.
func (b keyBar) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	width := min(c.Size().X, vg.Points(16))
	for i, box := range slices.All(b) {
		bottom, top := toY(float64(i)), toY(float64(i+1))
		c.FillPolygon(box, []vg.Point{{X: c.Min.X, Y: bottom}, {X: c.Min.X + width, Y: bottom}, {X: c.Min.X + width, Y: top}, {X: c.Min.X, Y: top}})
	}
}
