package figure

import (
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
	Points bool    // a marker per value, and no line; a single one is large
	Hue    Hue     // for curves with a fixed colour
	Runs   []Point // single results whose mean the curve shows: small markers
}

// Point is a place in a panel.
type Point struct{ X, Y float64 }

// Band is an area between two lines, behind the curves.
type Band struct {
	Name         string // in the legend
	X, Low, High []float64
}

// Panel is a coordinate system with curves in it. A curve has a gap where a value is not finite, or
// is not positive on a logarithmic axis.
type Panel struct {
	Title, X, Y string
	Curves      []Curve
	Bands       []Band
	LogX, LogY  bool
	Frequency   bool      // X is an angular frequency in radians per sample, from 0 to π; the title of the axis is fixed
	SampleRate  float64   // Hz; with Frequency, the labels are in Hz; 0: fractions of π
	XMax        float64   // the axis begins at 0; 0: the range of the curves
	YMin, YMax  float64   // both 0: the range of the curves
	Marks       []float64 // vertical lines; from 2 to 24 have the ticks of the X axis, unless that has frequencies
	MarkName    string    // in the legend; "" for no entry
}

// Hue is a colour of the palette of Okabe and Ito, which colour-blind readers can distinguish.
type Hue int

// The hues.
const (
	AnyHue Hue = iota // the next of the palette
	Blue
	Orange
	Green
	Red
	Grey Hue = 7
)

var palette = []color.RGBA{
	blue, orange, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, {R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, grey,
}

const (
	fewPoints = 40 // a line with at most so many values has a marker at each
	fewMarks  = 24 // labels of more marks would overlap
)

// shapes are the markers of successive curves. Their number and that of the colours have no common
// divisor.
var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{},
	draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{},
}

// look is the style of a curve.
type look struct {
	draw.LineStyle
	shape draw.GlyphDrawer
}

// lookOf returns the style of the i-th of n curves. Later curves are drawn over earlier ones, which
// are wider, so that curves that coincide are all visible.
func lookOf(i, n int, hue Hue) look {
	l := look{shape: shapes[i%len(shapes)]}
	l.Color, l.Width = palette[i%len(palette)], vg.Length(1.5+1.7*float64(min(2, n-1-i)))
	l.Dashes = [][]vg.Length{nil, {6, 3}, {2, 2}}[i/len(palette)%3]
	if hue != AnyHue {
		l.Color = palette[hue-1]
	}
	return l
}

// Curves draws panels below one another, with their legends above the axes, and writes a PNG or
// SVG file.
func Curves(path string, panels []Panel) error {
	plots := make([]*labelled, len(panels))
	for i, p := range panels {
		plots[i] = p.plot()
	}
	height := vg.Length(240)
	switch {
	case len(panels) == 1:
		height = 315
	case len(panels) > 3:
		height = 174
	}
	return saveWithLegends(path, height, plots)
}

// plot draws the panel. The axes of the plot are linear; a logarithmic axis holds decades, because
// plot.LogScale leaves a gap above the axes.
func (p Panel) plot() *labelled {
	pl := &labelled{Plot: panel(p.Title, p.X, p.Y)}
	pl.X.Tick.Marker, pl.Y.Tick.Marker = ticks(8), ticks(5)
	if p.LogX {
		pl.X.Tick.Marker = logTicks(8)
	}
	if p.LogY {
		pl.Y.Tick.Marker = logTicks(5)
	}
	for _, b := range p.Bands {
		p.addBand(pl, b)
	}
	marks := verticals{style: draw.LineStyle{Color: silver, Width: 1, Dashes: []vg.Length{3, 3}}}
	for _, x := range p.Marks {
		marks.at = append(marks.at, along(x, p.LogX))
	}
	pl.Add(marks)
	space := 0.0
	for i, c := range p.Curves {
		p.add(pl, c, lookOf(i, len(p.Curves), c.Hue))
		if c.Points || len(c.X) <= fewPoints || len(c.Runs) > 0 {
			space = 0.02 // for markers
		}
	}
	if n := len(p.Marks); 1 < n && n <= fewMarks {
		at := plot.ConstantTicks{{Value: 0, Label: "0"}}
		for _, v := range p.Marks {
			at = append(at, plot.Tick{Value: v, Label: number(v)})
		}
		pl.X.Tick.Marker = at
	}
	if rate := frequencyTicks(p.SampleRate); p.Frequency {
		p.XMax = math.Pi
		pl.X.Tick.Marker, pl.X.Label.Text = rate, rate.title()
	}
	fit(&pl.X, 0, p.XMax, p.LogX, space)
	fit(&pl.Y, p.YMin, p.YMax, p.LogY, space)
	if len(p.Marks) > 0 && p.MarkName != "" {
		pl.label(p.MarkName, marks)
	}
	return pl
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

// fit sets the ends of an axis: lo and hi, or if these are equal the range of the values with some
// space at both ends, as a fraction of its length. The space is at least so wide that rounding
// removes no tick at an end, and that the labels of ticks differ if the values hardly do.
func fit(axis *plot.Axis, lo, hi float64, logarithmic bool, space float64) {
	switch {
	case lo != hi:
		axis.Min, axis.Max, space = along(lo, logarithmic), along(hi, logarithmic), 0
	case axis.Min > axis.Max: // no values
		axis.Min, axis.Max = 0, 1
	}
	space = max(space*(axis.Max-axis.Min), 1e-5*max(math.Abs(axis.Min), math.Abs(axis.Max)))
	axis.Min, axis.Max = axis.Min-space, axis.Max+space
}

// add draws a curve: the stretches between its gaps, its single runs, and an entry of the legend.
func (p Panel) add(pl *labelled, c Curve, look look) {
	var all, runs plotter.XYs
	var thumb []plot.Thumbnailer
	for _, stretch := range p.stretches(c) {
		all = append(all, stretch...)
		if c.Points {
			continue
		}
		l := valid(plotter.NewLine(stretch))
		l.LineStyle = look.LineStyle
		pl.Add(l)
		thumb = []plot.Thumbnailer{l}
	}
	radius := 1.75 + look.Width/2
	if c.Points {
		radius = 2.5
	}
	if c.Points && len(all) == 1 {
		radius = 5
	}
	if len(all) > 0 && (c.Points || len(c.X) <= fewPoints) {
		thumb = append(thumb, scatter(pl, all, look, radius))
	}
	for _, r := range c.Runs {
		if xy, ok := p.place(r.X, r.Y); ok {
			runs = append(runs, xy)
		}
	}
	if len(runs) > 0 {
		scatter(pl, runs, look, 1.6)
	}
	if c.Name != "" {
		pl.label(c.Name, thumb...)
	}
}

// valid returns what plotter made of points. Its errors are for none, and for numbers that are not
// finite.
func valid[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// stretches splits a curve at its gaps.
func (p Panel) stretches(c Curve) (list []plotter.XYs) {
	open := false
	for i, y := range c.Y {
		xy, ok := p.place(c.X[i], y)
		if ok && !open {
			list = append(list, nil)
		}
		if open = ok; open {
			list[len(list)-1] = append(list[len(list)-1], xy)
		}
	}
	return list
}

// scatter adds a marker at each point.
func scatter(pl *labelled, xy plotter.XYs, look look, radius vg.Length) *plotter.Scatter {
	s := valid(plotter.NewScatter(xy))
	s.GlyphStyle = draw.GlyphStyle{Color: look.Color, Radius: radius, Shape: look.shape}
	pl.Add(s)
	return s
}

// addBand draws a band and its entry of the legend, if it has a place.
func (p Panel) addBand(pl *labelled, b Band) {
	var low, high plotter.XYs
	for i, x := range b.X {
		l, okLow := p.place(x, b.Low[i])
		h, okHigh := p.place(x, b.High[i])
		if okLow && okHigh {
			low, high = append(low, l), append(high, h)
		}
	}
	if len(low) == 0 {
		return
	}
	slices.Reverse(high)
	area := valid(plotter.NewPolygon(append(low, high...)))
	area.Color, area.LineStyle.Width = color.RGBA{R: 0xcc, G: 0xdf, B: 0xee, A: 0xff}, 0
	pl.Add(area)
	pl.label(b.Name, area)
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
