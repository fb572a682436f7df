package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Poles is one panel of a PolePlane.
type Poles struct {
	Title string
	Poles []complex128 // of the discrete system
	Value []float64    // of each pole, shown as its colour; +Inf is unbounded; nil: one colour for all
}

// PolePlane is a grid of panels that show poles and the unit circle (paper, Figures 3 and 9).
// Panels with values share one scale of colours.
type PolePlane struct {
	Panels     []Poles
	Columns    int     // of the grid; 0: chosen for the number of panels
	Value      string  // name and unit of the values
	SampleRate float64 // Hz, for the labels around the circle; 0: fractions of π
}

// Save writes the plot to a PNG or SVG file.
func (p *PolePlane) Save(path string) error {
	columns := cmp.Or(p.Columns, min(4, int(math.Ceil(math.Sqrt(float64(len(p.Panels)))))))
	side := []vg.Length{585, 420, 315, 240}[min(columns, 4)-1]
	scale := p.scale()
	plots := make([]*plot.Plot, len(p.Panels))
	for i, poles := range p.Panels {
		var err error
		if plots[i], err = p.panel(poles, scale, side); err != nil {
			return fmt.Errorf("figure: poles: %w", err)
		}
	}
	return saveSquares(path, side, columns, plots, scale.key(p.Value))
}

// extent is the largest |Re λ| and |Im λ| in a panel: the circle and the labels around it.
const extent = 1.3

// panel draws the poles over the unit circle. Both axes have the same range and, by saveSquares,
// the same length, so that the circle is round.
func (p *PolePlane) panel(poles Poles, s scale, side vg.Length) (*plot.Plot, error) {
	pl, style := panel(poles.Title, "Re λ", "Im λ"), markers(len(poles.Poles), side)
	pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max = -extent, extent, -extent, extent
	pl.X.Tick.Marker, pl.Y.Tick.Marker = ticks(4), ticks(4)
	pl.Add(circle{rate: frequencyTicks(p.SampleRate), label: pl.X.Tick.Label})
	order := make([]int, len(poles.Poles))
	for i := range order {
		order[i] = i
	}
	if poles.Value != nil { // the highest are drawn last, over the others
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(poles.Value[i], poles.Value[j]) })
	}
	xy := make(plotter.XYs, len(order))
	for at, i := range order {
		xy[at] = plotter.XY{X: real(poles.Poles[i]), Y: imag(poles.Poles[i])}
	}
	points, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, err
	}
	points.GlyphStyleFunc = func(at int) draw.GlyphStyle {
		style := style
		if poles.Value != nil {
			style.Color = s.colour(poles.Value[order[at]])
		}
		return style
	}
	pl.Add(points)
	return pl, nil
}

// markers returns the style of n markers in a panel. Poles lie close to the circle: the more there
// are, the smaller the markers, so that they stay apart along half of it; from the number on from
// which they cannot, they are translucent.
func markers(n int, side vg.Length) draw.GlyphStyle {
	const largest, smallest = 2.4, 0.7 // radii in points
	circle := 0.4 * side / extent      // its radius; the axes take the rest of the side
	radius := 0.35 * math.Pi * circle / vg.Length(n)
	style := draw.GlyphStyle{Color: blue, Shape: draw.CircleGlyph{}}
	style.Radius = max(smallest, min(largest, radius))
	if radius < style.Radius {
		style.Color = color.NRGBA{R: blue.R, G: blue.G, B: blue.B, A: 0x80}
	}
	return style
}

// circle is the unit circle with labels of angular frequencies along its upper half.
type circle struct {
	rate  frequencyTicks
	label draw.TextStyle
}

// Plot implements plot.Plotter.
func (u circle) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	at := func(theta, radius float64) vg.Point {
		sin, cos := math.Sincos(theta)
		return vg.Point{X: toX(radius * cos), Y: toY(radius * sin)}
	}
	var line []vg.Point
	for i := range 361 {
		line = append(line, at(2*math.Pi*float64(i)/360, 1))
	}
	style := draw.LineStyle{Color: silver, Width: 0.75}
	c.StrokeLines(style, line)
	for _, tick := range frequencyTicks(0).Ticks(0, math.Pi) {
		if tick.Label == "" {
			continue
		}
		from, to, sin, cos := at(tick.Value, 1), at(tick.Value, 1.03), math.Sin(tick.Value), math.Cos(tick.Value)
		c.StrokeLine2(style, from.X, from.Y, to.X, to.Y)
		label := u.label
		label.Color, label.XAlign, label.YAlign = grey, text.XAlignment((cos-1)/2), text.YAlignment((sin-1)/2)
		c.FillText(label, at(tick.Value, 1.05), u.rate.label(tick))
	}
}
