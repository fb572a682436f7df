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

// Poles are those of one panel, in the complex plane.
type Poles struct {
	Title string
	Poles []complex128 // of the discrete system
	Value []float64    // of each pole, to be told by its colour; nil for none
}

// steps are the colours of rising values, from dark to light, as readers with any eyes can order them.
var steps = []color.RGBA{
	{R: 0x0d, G: 0x08, B: 0x87, A: 0xff}, {R: 0x7e, G: 0x03, B: 0xa8, A: 0xff}, {R: 0xcc, G: 0x47, B: 0x78, A: 0xff},
	{R: 0xf8, G: 0x95, B: 0x40, A: 0xff}, {R: 0xe8, G: 0xd4, B: 0x00, A: 0xff},
}

// PolePlane draws rows of panels, each with its poles beside the unit circle (paper, Figures 3 and 9). Panels with values
// share one scale of colours, which the first of them explains as label.
func PolePlane(path, label string, rows [][]Poles) error {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		for _, p := range row {
			if p.Value != nil && len(p.Value) != len(p.Poles) {
				return fmt.Errorf("figure: poles: %d values of %d poles", len(p.Value), len(p.Poles))
			}
			for _, v := range p.Value {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	const side = 400
	var plots [][]*plot.Plot
	explained := false
	for _, row := range rows {
		var panels []*plot.Plot
		for _, p := range row {
			pl, err := polePanel(p, lo, hi)
			if err != nil {
				return err
			}
			if p.Value != nil && !explained {
				explain(pl, label, lo, hi)
				explained = true
			}
			panels = append(panels, pl)
		}
		for len(panels) < len(rows[0]) {
			panels = append(panels, nil)
		}
		plots = append(plots, panels)
	}
	return saveGrid(path, side*len(rows[0])+40, (side+20)*len(rows), plots)
}

// polePanel draws one panel. The axes have the same range, so that the circle is round.
func polePanel(p Poles, lo, hi float64) (*plot.Plot, error) {
	pl := panel(p.Title, "Re λ", "Im λ")
	pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max = -1.15, 1.15, -1.15, 1.15
	pl.X.Tick.Marker, pl.Y.Tick.Marker = ticks(4), ticks(4)
	circle := make(plotter.XYs, 361)
	for i := range circle {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 360)
		circle[i] = plotter.XY{X: cos, Y: sin}
	}
	l, err := plotter.NewLine(circle)
	if err != nil {
		return nil, fmt.Errorf("figure: poles: %w", err)
	}
	l.Color = grey
	pl.Add(l)
	xy := make(plotter.XYs, len(p.Poles))
	for i, z := range p.Poles {
		xy[i] = plotter.XY{X: real(z), Y: imag(z)}
	}
	if len(xy) == 0 {
		return pl, nil
	}
	s, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, fmt.Errorf("figure: poles: %w", err)
	}
	size := vg.Points(2.4)
	if len(xy) > 500 {
		size = vg.Points(1.1)
	}
	s.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		c := blue
		if p.Value != nil {
			c = steps[step(p.Value[i], lo, hi)]
		}
		return draw.GlyphStyle{Color: c, Radius: size, Shape: draw.CircleGlyph{}}
	}
	pl.Add(s)
	return pl, nil
}

// step returns which fifth of the range a value is in.
func step(v, lo, hi float64) int {
	if !(hi > lo) {
		return 0
	}
	return min(int(float64(len(steps))*(v-lo)/(hi-lo)), len(steps)-1)
}

// explain adds the legend of colours.
func explain(p *plot.Plot, label string, lo, hi float64) {
	p.Legend.Top, p.Legend.Left = false, true // within the circle
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(62), vg.Points(90)
	for i := range steps {
		from := lo + (hi-lo)*float64(i)/float64(len(steps))
		mark, _ := plotter.NewScatter(plotter.XYs{{}}) // of one point, which is finite
		mark.GlyphStyle = draw.GlyphStyle{Color: steps[i], Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		p.Legend.Add(fmt.Sprintf("%s ≥ %.3g", label, from), mark)
	}
}
