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

// Curve is a named line. Curves of one panel are told apart by their colours and, past seven, by dashes and shapes.
type Curve struct {
	Name   string // in the legend; "" for none
	X, Y   []float64
	Points bool    // a point for each value, and no line
	Hue    Hue     // for curves whose names are colours
	Runs   []Point // single results whose mean the curve is: small points of its colour
}

// Point is a place in a panel.
type Point struct{ X, Y float64 }

// Panel is a coordinate system with curves in it. Values that are not finite break a line off; on a logarithmic axis so do
// those that are not positive.
type Panel struct {
	Title, X, Y string
	Curves      []Curve
	LogX, LogY  bool
	Angles      bool    // X is in radians a sample, from 0 to π
	XMin, XMax  float64 // both 0: those of the curves
	YMin, YMax  float64 // both 0: those of the curves
	Marks       []float64
	MarkName    string // what the vertical lines at Marks are, in the legend; "" for no entry
}

// Hue is a colour of the palette that stands for itself.
type Hue int

// The hues.
const (
	AnyHue Hue = iota // the next of the palette
	Red
	Green
	Blue
)

const (
	fewPoints  = 40   // have a mark each
	manyPoints = 5000 // are more than a picture's columns and are thinned
)

// palette is that of Okabe and Ito, the colours apart for all readers.
var palette = []color.RGBA{
	blue, orange, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, {R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, grey,
}

var hues = map[Hue]color.RGBA{Red: palette[3], Green: palette[2], Blue: blue}

// look is how a curve is drawn.
type look struct {
	colour color.Color
	dashes []vg.Length
	shape  draw.GlyphDrawer
}

// lookOf returns the look of a panel's i-th curve.
func lookOf(i int) look {
	l := look{colour: palette[i%len(palette)]}
	switch i / len(palette) % 3 {
	case 0:
		l.shape = draw.CircleGlyph{}
	case 1:
		l.shape, l.dashes = draw.PyramidGlyph{}, []vg.Length{vg.Points(6), vg.Points(3)}
	case 2:
		l.shape, l.dashes = draw.BoxGlyph{}, []vg.Length{vg.Points(2), vg.Points(2)}
	}
	return l
}

// Curves draws panels below one another, their legends beside them.
func Curves(path string, panels []Panel) error {
	plots := make([]*plot.Plot, len(panels))
	for i, p := range panels {
		var err error
		if plots[i], err = p.plot(); err != nil {
			return err
		}
	}
	each := 320
	switch {
	case len(panels) == 1:
		each = 420
	case len(panels) > 3:
		each = 230
	}
	return saveBeside(path, each*len(panels)+80, plots)
}

// plot draws the panel. The axes of the plot are linear; a logarithmic one holds decades.
func (p Panel) plot() (*plot.Plot, error) {
	pl := panel(p.Title, p.X, p.Y)
	pl.X.Tick.Marker, pl.Y.Tick.Marker = ticker(p.LogX, 8), ticker(p.LogY, 5)
	lines := verticals{style: draw.LineStyle{Color: silver, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}}
	for _, x := range p.Marks {
		lines.at = append(lines.at, along(x, p.LogX))
	}
	pl.Add(lines)
	for i, c := range p.Curves {
		if len(c.X) != len(c.Y) {
			return nil, fmt.Errorf("figure: %s: %d and %d coordinates", c.Name, len(c.X), len(c.Y))
		}
		look := lookOf(i)
		if c.Hue != AnyHue {
			look.colour = hues[c.Hue]
		}
		if err := p.add(pl, c, look); err != nil {
			return nil, fmt.Errorf("figure: %s: %w", c.Name, err)
		}
	}
	if p.Angles {
		p.XMin, p.XMax = 0, math.Pi
		pl.X.Tick.Marker = turns{}
	}
	const hair, room = 1e-6, 0.02 // room for points
	around := hair
	if slices.ContainsFunc(p.Curves, Curve.hasPoints) {
		around = room
	}
	fit(&pl.X, p.XMin, p.XMax, p.LogX, around, hair)
	fit(&pl.Y, p.YMin, p.YMax, p.LogY, around, hair)
	if len(p.Marks) > 0 && p.MarkName != "" {
		pl.Legend.Add(p.MarkName, lines)
	}
	return pl, nil
}

// ticker marks about n values of an axis.
func ticker(logarithmic bool, n int) plot.Ticker {
	if logarithmic {
		return logTicks(n)
	}
	return ticks(n)
}

// along returns where on an axis a value is, NaN where it has no place.
func along(v float64, logarithmic bool) float64 {
	if logarithmic {
		v = math.Log10(v)
	}
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// place returns where a point is in the panel, ok being false where it has no place.
func (p Panel) place(x, y float64) (xy plotter.XY, ok bool) {
	xy = plotter.XY{X: along(x, p.LogX), Y: along(y, p.LogY)}
	return xy, !math.IsNaN(xy.X) && !math.IsNaN(xy.Y)
}

// fit gives an axis its ends: lo and hi, unless they are equal, or else those of what is drawn with a share of its length
// around. Either reaches out by a hair, less than a pixel, so that a mark at the end is not lost by rounding. Without
// values it has ends all the same.
func fit(axis *plot.Axis, lo, hi float64, logarithmic bool, around, hair float64) {
	switch {
	case lo != hi:
		axis.Min, axis.Max, around = along(lo, logarithmic), along(hi, logarithmic), hair
	case axis.Min > axis.Max:
		axis.Min, axis.Max = 0, 1
	}
	around *= axis.Max - axis.Min
	axis.Min, axis.Max = axis.Min-around, axis.Max+around
}

// hasPoints reports whether a curve's values have a mark each.
func (c Curve) hasPoints() bool { return c.Points || len(c.X) <= fewPoints || len(c.Runs) > 0 }

// add draws a curve: its stretches of points that can be shown, its single runs, and one entry of the legend.
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
		l.Color, l.Width, l.Dashes = look.colour, vg.Points(1.5), look.dashes
		pl.Add(l)
		thumb = []plot.Thumbnailer{l}
	}
	if len(all) > 0 && (c.Points || len(c.X) <= fewPoints) {
		s, err := scatter(pl, all, look, 2.5)
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
		if _, err := scatter(pl, runs, look, 1.3); err != nil {
			return err
		}
	}
	if c.Name != "" {
		pl.Legend.Add(c.Name, thumb...)
	}
	return nil
}

// stretches cuts a curve where a value cannot be shown.
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

// thin leaves of a line with more points than the picture has columns its ends and the lowest and the highest of every
// few: what is drawn is the same.
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

// scatter adds points of a radius in typographic points.
func scatter(pl *plot.Plot, xy plotter.XYs, look look, radius float64) (*plotter.Scatter, error) {
	s, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, err
	}
	s.GlyphStyle = draw.GlyphStyle{Color: look.colour, Radius: vg.Points(radius), Shape: look.shape}
	pl.Add(s)
	return s, nil
}

// verticals are lines over the height of a panel, beneath what is added after them.
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
