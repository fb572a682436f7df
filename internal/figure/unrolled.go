package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Unrolled is a panel of positive values in rows of a width, the first row at the top. The largest
// value is dark and those 40 dB below it are white.
type Unrolled struct {
	Title  string
	Width  int
	Values []float64
}

// Unroll draws panels in a grid and writes a PNG or SVG file.
func Unroll(path string, x, y string, panels []Unrolled) error {
	plots := make([]*plot.Plot, len(panels))
	for i, u := range panels {
		pl := axes(u.Title, x, y)
		pl.X.Min, pl.X.Max = 0, float64(u.Width)
		pl.Y.Min, pl.Y.Max = 0, math.Ceil(float64(len(u.Values))/float64(u.Width))
		pl.X.Tick.Marker, pl.Y.Tick.Marker = ticks(4), ticks(4)
		pl.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		pl.Add(u)
		plots[i] = pl
	}
	return saveSquares(path, 315, min(3, len(panels)), plots, nil)
}

// Plot implements plot.Plotter.
func (u Unrolled) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	top := slices.Max(u.Values)
	for i, v := range u.Values {
		x, y := float64(i%u.Width), float64(i/u.Width)
		share := max(0, 1+20*math.Log10(v/top)/40)
		c.SetColor(mix(color.RGBA{R: 0x08, G: 0x1d, B: 0x58}, share))
		const overlap = 0.4 // points: no lines between the pixels of a PNG
		c.Fill(vg.Rectangle{Min: vg.Point{X: toX(x), Y: toY(y+1) - overlap}, Max: vg.Point{X: toX(x+1) + overlap, Y: toY(y)}}.Path())
	}
}
