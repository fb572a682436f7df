package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is a named line. The curves of a panel differ in colour, marker and width, and from the
// eighth on also in dashes.
type Curve struct {
	Name   string // in the legend; "" for none
	X, Y   []float64
	Points bool    // a marker per value, and no line
	Large  bool    // larger markers
	Hue    Hue     // for curves that are named after a colour
	Runs   []Point // single results whose mean the curve shows: small markers
}

// Point is a place in a panel.
type Point struct{ X, Y float64 }

// Panel is a coordinate system with curves in it. A curve has a gap where a value is not finite, or
// is not positive on a logarithmic axis.
type Panel struct {
	Title, X, Y string
	Curves      []Curve
	Bands       []Band
	LogX, LogY  bool
	Frequency   bool    // X is an angular frequency in radians per sample, from 0 to π; the title of the axis is fixed
	SampleRate  float64 // Hz; with Frequency, the labels are in Hz; 0: fractions of π
	XMin, XMax  float64 // both 0: the range of the curves
	YMin, YMax  float64 // both 0: the range of the curves
	Marks       []float64
	MarkName    string // of the vertical lines at Marks, in the legend; "" for no entry
	MarkTicks   bool   // the ticks of the X axis are at 0 and at Marks, unless there are too many
}

// Hue is a fixed colour of the palette.
type Hue int

// The hues.
const (
	AnyHue Hue = iota // the next of the palette
	Red
	Green
	Blue
)

const (
	fewPoints  = 40   // a line with at most so many values has a marker at each
	manyPoints = 5000 // a line with more values is thinned; the plot has fewer columns
	fewMarks   = 24   // labels of more marks would overlap
)

// palette is that of Okabe and Ito, which colour-blind readers can distinguish.
var palette = []color.RGBA{
	blue, orange, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, {R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, grey,
}

var hues = map[Hue]color.RGBA{Red: palette[3], Green: palette[2], Blue: blue}

// shapes are the markers of successive curves. Their number and that of the colours have no common
// divisor.
var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{},
	draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{},
}

// look is the style of a curve.
type look struct {
	colour color.Color
	dashes []vg.Length
	shape  draw.GlyphDrawer
	width  vg.Length
}

// lookOf returns the style of the i-th of n curves. Later curves are drawn over earlier ones, which
// are wider, so that curves that coincide are all visible.
func lookOf(i, n int) look {
	return look{
		colour: palette[i%len(palette)],
		dashes: [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}}[i/len(palette)%3],
		shape:  shapes[i%len(shapes)],
		width:  vg.Points(1.5 + 0.8*float64(min(2, n-1-i))),
	}
}

// Curves draws panels below one another, with their legends on the right, and writes a PNG or SVG
// file.
func Curves(path string, panels []Panel) error {
	plots := make([]*plot.Plot, len(panels))
	for i, p := range panels {
		var err error
		if plots[i], err = p.plot(); err != nil {
			return err
		}
	}
	height := 320
	switch {
	case len(panels) == 1:
		height = 420
	case len(panels) > 3:
		height = 230
	}
	return saveWithLegends(path, height, plots)
}

// plot draws the panel. The axes of the plot are linear; a logarithmic axis holds decades.
func (p Panel) plot() (*plot.Plot, error) {
	pl := panel(p.Title, p.X, p.Y)
	pl.X.Tick.Marker, pl.Y.Tick.Marker = ticker(p.LogX, 8), ticker(p.LogY, 5)
	lines := verticals{style: draw.LineStyle{Color: silver, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}}
	for _, x := range p.Marks {
		lines.at = append(lines.at, along(x, p.LogX))
	}
	for _, b := range p.Bands {
		if err := p.addBand(pl, b); err != nil {
			return nil, err
		}
	}
	pl.Add(lines)
	for i, c := range p.Curves {
		if len(c.X) != len(c.Y) {
			return nil, fmt.Errorf("figure: %s: %d and %d coordinates", c.Name, len(c.X), len(c.Y))
		}
		look := lookOf(i, len(p.Curves))
		if c.Hue != AnyHue {
			look.colour = hues[c.Hue]
		}
		if err := p.add(pl, c, look); err != nil {
			return nil, fmt.Errorf("figure: %s: %w", c.Name, err)
		}
	}
	if p.MarkTicks && len(p.Marks) > 0 && len(p.Marks) <= fewMarks {
		pl.X.Tick.Marker = markTicks(p.Marks)
	}
	if p.Frequency {
		p.XMin, p.XMax = 0, math.Pi
		pl.X.Tick.Marker, pl.X.Label.Text = frequencyTicks(p.SampleRate), frequencyTicks(p.SampleRate).title()
	}
	const hair, space = 1e-6, 0.02 // space for markers
	around := hair
	if slices.ContainsFunc(p.Curves, Curve.hasPoints) {
		around = space
	}
	fit(&pl.X, p.XMin, p.XMax, p.LogX, around, hair)
	fit(&pl.Y, p.YMin, p.YMax, p.LogY, around, hair)
	if len(p.Marks) > 0 && p.MarkName != "" {
		pl.Legend.Add(p.MarkName, lines)
	}
	return pl, nil
}

// ticker places about n ticks on an axis.
func ticker(logarithmic bool, n int) plot.Ticker {
	if logarithmic {
		return logTicks(n)
	}
	return ticks(n)
}

// along returns the coordinate of a value on an axis, NaN if it has none.
func along(v float64, logarithmic bool) float64 {
	if logarithmic {
		v = math.Log10(v)
	}
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// place returns the coordinates of a point in the panel. ok is false if it has none.
func (p Panel) place(x, y float64) (xy plotter.XY, ok bool) {
	xy = plotter.XY{X: along(x, p.LogX), Y: along(y, p.LogY)}
	return xy, !math.IsNaN(xy.X) && !math.IsNaN(xy.Y)
}

// fit sets the ends of an axis: lo and hi, or if these are equal the range of the values, extended
// by a fraction of its length at both ends. An axis from lo to hi is extended by a hair, less than
// a pixel, so that rounding removes no tick at an end. An axis without values ends at 0 and 1. If
// the values differ only by rounding, the margin is so wide that tick labels of six digits differ.
func fit(axis *plot.Axis, lo, hi float64, logarithmic bool, around, hair float64) {
	switch {
	case lo != hi:
		axis.Min, axis.Max, around = along(lo, logarithmic), along(hi, logarithmic), hair
	case axis.Min > axis.Max:
		axis.Min, axis.Max = 0, 1
	}
	length, largest := axis.Max-axis.Min, max(math.Abs(axis.Min), math.Abs(axis.Max))
	around *= length
	if length > 0 && length < 1e-12*largest {
		around = 1e-5 * largest
	}
	axis.Min, axis.Max = axis.Min-around, axis.Max+around
}

// hasPoints reports whether the values of a curve have a marker each.
func (c Curve) hasPoints() bool { return c.Points || len(c.X) <= fewPoints || len(c.Runs) > 0 }

// add draws a curve: the stretches between its gaps, its single runs, and an entry of the legend.
func (p Panel) add(pl *plot.Plot, c Curve, look look) error {
	var all plotter.XYs
	var thumb []plot.Thumbnailer
	for _, stretch := range p.stretches(c) {
		all = append(all, stretch...)
		if c.Points {
			continue
		}
		l, err := plotter.NewLine(thin(stretch))
		if err != nil {
			return err
		}
		l.Color, l.Width, l.Dashes = look.colour, look.width, look.dashes
		pl.Add(l)
		thumb = []plot.Thumbnailer{l}
	}
	if len(all) > 0 && (c.Points || len(c.X) <= fewPoints) {
		radius := vg.Points(2.5)
		if !c.Points {
			radius = vg.Points(1.75) + look.width/2
		}
		if c.Large {
			radius *= 2
		}
		s, err := scatter(pl, all, look, radius)
		if err != nil {
			return err
		}
		thumb = append(thumb, s)
	}
	var runs plotter.XYs
	for _, r := range c.Runs {
		if xy, ok := p.place(r.X, r.Y); ok {
			runs = append(runs, xy)
		}
	}
	if len(runs) > 0 {
		if _, err := scatter(pl, runs, look, vg.Points(1.6)); err != nil {
			return err
		}
	}
	if c.Name != "" {
		pl.Legend.Add(c.Name, thumb...)
	}
	return nil
}

// stretches splits a curve at its gaps.
func (p Panel) stretches(c Curve) (list []plotter.XYs) {
	open := false
	for i, y := range c.Y {
		xy, ok := p.place(c.X[i], y)
		if !ok {
			open = false
			continue
		}
		if !open {
			list = append(list, nil)
			open = true
		}
		list[len(list)-1] = append(list[len(list)-1], xy)
	}
	return list
}

// thin reduces a line with more points than the plot has columns to its ends, and the lowest and
// the highest point of each group of neighbours. It looks the same.
func thin(line plotter.XYs) plotter.XYs {
	group := 2 * len(line) / manyPoints
	if group <= 2 {
		return line
	}
	thinned := plotter.XYs{line[0]}
	for from := 0; from < len(line); from += group {
		low, high := from, from
		for i := from; i < min(from+group, len(line)); i++ {
			if line[i].Y < line[low].Y {
				low = i
			}
			if line[i].Y > line[high].Y {
				high = i
			}
		}
		thinned = append(thinned, line[min(low, high)])
		if low != high {
			thinned = append(thinned, line[max(low, high)])
		}
	}
	return append(thinned, line[len(line)-1])
}

// scatter adds a marker at each point.
func scatter(pl *plot.Plot, xy plotter.XYs, look look, radius vg.Length) (*plotter.Scatter, error) {
	s, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, err
	}
	s.GlyphStyle = draw.GlyphStyle{Color: look.colour, Radius: radius, Shape: look.shape}
	pl.Add(s)
	return s, nil
}

// verticals are lines over the height of a panel. What is added to the panel later covers them.
type verticals struct {
	at    []float64
	style draw.LineStyle
}

// Plot implements plot.Plotter.
func (v verticals) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	for _, at := range v.at {
		if x := toX(at); c.ContainsX(x) {
			c.StrokeLine2(v.style, x, c.Min.Y, x, c.Max.Y)
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (v verticals) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(v.style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}
