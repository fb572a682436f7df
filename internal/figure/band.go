package figure

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Band is an area between two lines, behind the curves. Values without a place on the axes are left
// out.
type Band struct {
	Name         string // in the legend
	X, Low, High []float64
}

var bandColour = color.RGBA{R: 0xcc, G: 0xdf, B: 0xee, A: 0xff}

// addBand draws a band and its entry of the legend.
func (p Panel) addBand(pl *plot.Plot, b Band) error {
	if len(b.X) != len(b.Low) || len(b.X) != len(b.High) {
		return fmt.Errorf("figure: %s: %d, %d and %d coordinates", b.Name, len(b.X), len(b.Low), len(b.High))
	}
	var low, high plotter.XYs
	for i, x := range b.X {
		l, okLow := p.place(x, b.Low[i])
		h, okHigh := p.place(x, b.High[i])
		if okLow && okHigh {
			low, high = append(low, l), append(high, h)
		}
	}
	if len(low) == 0 {
		return nil
	}
	slices.Reverse(high)
	area, err := plotter.NewPolygon(append(low, high...))
	if err != nil {
		return fmt.Errorf("figure: %s: %w", b.Name, err)
	}
	area.Color, area.LineStyle.Width = bandColour, 0
	pl.Add(area)
	pl.Legend.Add(b.Name, area)
	return nil
}
