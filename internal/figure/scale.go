package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shades are the colours of falling values, 20 dB each; the last one is also that of all lower
// values. They keep their order in grey, and the highest values stand out most from the white
// background.
var shades = []color.RGBA{
	{R: 0x0d, G: 0x08, B: 0x87, A: 0xff}, {R: 0x7e, G: 0x03, B: 0xa8, A: 0xff}, {R: 0xcc, G: 0x47, B: 0x78, A: 0xff},
	{R: 0xf8, G: 0x95, B: 0x40, A: 0xff}, {R: 0xe8, G: 0xd4, B: 0x00, A: 0xff},
}

const shadeStep = 20 // dB

// unbounded is the colour of values without a bound, which is not among the shades.
var unbounded = color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}

// scale has the colours of the values of all panels.
type scale struct {
	top       float64 // upper end of the first shade, a multiple of shadeStep; NaN without finite values
	unbounded bool    // a value is +Inf
}

func (p *PolePlane) scale() scale {
	s := scale{top: math.NaN()}
	for _, panel := range p.Panels {
		for _, v := range panel.Value {
			top := (math.Floor(v/shadeStep) + 1) * shadeStep
			switch {
			case math.IsInf(v, 1):
				s.unbounded = true
			case !math.IsInf(v, -1) && !(top <= s.top):
				s.top = top
			}
		}
	}
	return s
}

// colour returns the colour of a value.
func (s scale) colour(v float64) color.RGBA {
	if math.IsInf(v, 1) {
		return unbounded
	}
	for i := range shades {
		if v >= s.top-shadeStep*float64(i+1) {
			return shades[i]
		}
	}
	return shades[len(shades)-1]
}

// key returns the key to the colours, a bar with the values at its edges; nil without values.
func (s scale) key(label string) *plot.Plot {
	bar, names := keyBar{}, plot.ConstantTicks{}
	if s.unbounded {
		bar = append(bar, unbounded)
		names = append(names, plot.Tick{Value: -0.5, Label: "unbounded"})
	}
	if !math.IsNaN(s.top) {
		if s.unbounded {
			bar = append(bar, color.RGBA{}) // a gap
		}
		for i, shade := range shades {
			names = append(names, plot.Tick{Value: -float64(len(bar)), Label: number(s.top - shadeStep*float64(i))})
			bar = append(bar, shade)
		}
		names = append(names, plot.Tick{Value: -float64(len(bar)), Label: "less"})
	}
	if len(bar) == 0 {
		return nil
	}
	pl := axes("", "", label)
	pl.HideX()
	pl.X.Min, pl.X.Max = 0, 1
	pl.Y.Min, pl.Y.Max = -float64(max(len(bar), len(shades))), 0
	pl.Y.LineStyle.Width = 0
	pl.Y.Tick.Marker = names
	pl.Add(bar)
	return pl
}

// keyBar is a column of coloured boxes of height 1, from the top down.
type keyBar []color.RGBA

// Plot implements plot.Plotter.
func (b keyBar) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	for i, box := range b {
		c.SetColor(box)
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: toY(-float64(i + 1))}, Max: vg.Point{X: c.Min.X + 16, Y: toY(-float64(i))}}.Path())
	}
}
