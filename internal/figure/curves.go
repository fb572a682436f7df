package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is a named line.
type Curve struct {
	Name string
	X, Y []float64
}

// Panel is a coordinate system with curves in it. Values that are not finite break a line off.
type Panel struct {
	Title, X, Y string
	Curves      []Curve
	LogX, LogY  bool
	YMin, YMax  float64 // both 0: those of the curves
	Marks       []float64
	MarkName    string // what the vertical lines at Marks are
}

// fewPoints get a mark each.
const fewPoints = 40

// palette is that of Okabe and Ito, the colours apart for all readers.
var palette = []color.RGBA{
	blue, orange, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, {R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, grey,
}

// Curves draws panels below one another.
func Curves(path string, panels []Panel) error {
	var all [][]*plot.Plot
	for _, p := range panels {
		pl := panel(p.Title, p.X, p.Y)
		if p.LogX {
			pl.X.Scale, pl.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		} else {
			pl.X.Tick.Marker = ticks(8)
		}
		if p.LogY {
			pl.Y.Scale, pl.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		} else {
			pl.Y.Tick.Marker = ticks(5)
		}
		for i, c := range p.Curves {
			if len(c.X) != len(c.Y) {
				return fmt.Errorf("figure: %s: %d and %d coordinates", c.Name, len(c.X), len(c.Y))
			}
			if err := curve(pl, c, palette[i%len(palette)]); err != nil {
				return err
			}
		}
		if p.YMin != p.YMax {
			pl.Y.Min, pl.Y.Max = p.YMin, p.YMax
		}
		if err := marks(pl, p); err != nil {
			return err
		}
		if p.LogY { // room for the legend
			pl.Y.Max *= math.Pow(pl.Y.Max/pl.Y.Min, 0.2)
		} else {
			pl.Y.Max += 0.2 * (pl.Y.Max - pl.Y.Min)
		}
		all = append(all, []*plot.Plot{pl})
	}
	return saveGrid(path, widthPx, 320*len(all)+80, all)
}

// curve draws the finite stretches of a curve, which share one entry of the legend.
func curve(p *plot.Plot, c Curve, colour color.Color) error {
	var stretch plotter.XYs
	named := false
	flush := func() error {
		if len(stretch) == 0 {
			return nil
		}
		l, err := plotter.NewLine(stretch)
		if err != nil {
			return fmt.Errorf("figure: %s: %w", c.Name, err)
		}
		l.Color, l.Width = colour, vg.Points(1.5)
		p.Add(l)
		if len(c.X) <= fewPoints {
			s, err := plotter.NewScatter(stretch)
			if err != nil {
				return fmt.Errorf("figure: %s: %w", c.Name, err)
			}
			s.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
			p.Add(s)
		}
		if !named && c.Name != "" {
			p.Legend.Add(c.Name, l)
			named = true
		}
		stretch = nil
		return nil
	}
	for i, y := range c.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		stretch = append(stretch, plotter.XY{X: c.X[i], Y: y})
	}
	return flush()
}

func marks(p *plot.Plot, panel Panel) error {
	for i, x := range panel.Marks {
		l, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
		if err != nil {
			return fmt.Errorf("figure: %s: %w", panel.MarkName, err)
		}
		l.Color, l.Width, l.Dashes = grey, vg.Points(1), []vg.Length{vg.Points(3), vg.Points(3)}
		p.Add(l)
		if i == 0 {
			p.Legend.Add(panel.MarkName, l)
		}
	}
	return nil
}
