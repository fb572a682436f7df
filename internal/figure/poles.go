package figure

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Poles are those of one panel, in the complex plane.
type Poles struct {
	Title string
	Poles []complex128 // of the discrete system
	Value []float64    // of each pole, to be told by its colour; +Inf is unbounded; nil for none
}

// steps are the colours of rising values, from dark to light, as readers with any eyes can order them.
var steps = []color.RGBA{
	{R: 0x0d, G: 0x08, B: 0x87, A: 0xff}, {R: 0x7e, G: 0x03, B: 0xa8, A: 0xff}, {R: 0xcc, G: 0x47, B: 0x78, A: 0xff},
	{R: 0xf8, G: 0x95, B: 0x40, A: 0xff}, {R: 0xe8, G: 0xd4, B: 0x00, A: 0xff},
}

// unbounded is the colour of values without a bound, which no step has.
var unbounded = color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}

// PolePlane draws rows of panels, each with its poles beside the unit circle (paper, Figures 3 and 9). Panels with values
// share one scale of colours, which the first of them explains as label. The scale begins at floor: values below count
// as that.
func PolePlane(path, label string, floor float64, rows [][]Poles) error {
	s := scale{lo: math.Inf(1), hi: math.Inf(-1), floor: floor}
	for _, row := range rows {
		for _, p := range row {
			if p.Value != nil && len(p.Value) != len(p.Poles) {
				return fmt.Errorf("figure: poles: %d values of %d poles", len(p.Value), len(p.Poles))
			}
			if err := s.take(p.Value); err != nil {
				return err
			}
		}
	}
	const side = 400
	var plots [][]*plot.Plot
	explained := false
	for _, row := range rows {
		var panels []*plot.Plot
		for _, p := range row {
			pl, err := polePanel(p, s)
			if err != nil {
				return err
			}
			if len(p.Value) > 0 && !explained {
				s.explain(pl, label)
				explained = true
			}
			panels = append(panels, pl)
		}
		for len(panels) < len(rows[0]) {
			panels = append(panels, nil)
		}
		plots = append(plots, panels)
	}
	return saveSquares(path, side*len(rows[0])+40, (side+20)*len(rows), plots)
}

// polePanel draws one panel. The axes have the same range and, by saveSquares, the same length: the circle is round.
func polePanel(p Poles, s scale) (*plot.Plot, error) {
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
	if len(p.Poles) == 0 {
		return pl, nil
	}
	order := make([]int, len(p.Poles))
	for i := range order {
		order[i] = i
	}
	if p.Value != nil { // the strongest are drawn last, over the others
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Value[i], p.Value[j]) })
	}
	xy := make(plotter.XYs, len(p.Poles))
	for at, i := range order {
		xy[at] = plotter.XY{X: real(p.Poles[i]), Y: imag(p.Poles[i])}
	}
	points, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, fmt.Errorf("figure: poles: %w", err)
	}
	size := vg.Points(2.4)
	if len(xy) > 500 {
		size = vg.Points(1.1)
	}
	points.GlyphStyleFunc = func(at int) draw.GlyphStyle {
		c := blue
		if p.Value != nil {
			c = s.colour(p.Value[order[at]])
		}
		return draw.GlyphStyle{Color: c, Radius: size, Shape: draw.CircleGlyph{}}
	}
	pl.Add(points)
	return pl, nil
}

// scale orders values in steps between the least and the largest that is finite.
type scale struct {
	lo, hi    float64 // of the finite values, none below floor; lo > hi where there are none
	floor     float64
	clipped   bool // a value lies below floor
	unbounded bool // a value is +Inf
}

// take widens the scale to values.
func (s *scale) take(values []float64) error {
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			return errors.New("figure: poles: a value is no number")
		case math.IsInf(v, 1):
			s.unbounded = true
			continue
		case v < s.floor:
			s.clipped, v = true, s.floor
		}
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
	return nil
}

// colour is that of the fifth of the range that a value is in.
func (s scale) colour(v float64) color.RGBA {
	switch {
	case math.IsInf(v, 1):
		return unbounded
	case !(s.hi > s.lo):
		return steps[0]
	}
	return steps[max(0, min(int(float64(len(steps))*(v-s.lo)/(s.hi-s.lo)), len(steps)-1))]
}

// explain adds the legend of colours, the strongest above.
func (s scale) explain(p *plot.Plot, label string) {
	p.Legend.Top, p.Legend.Left = false, true // within the circle
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(50), vg.Points(78)
	p.Legend.ThumbnailWidth = vg.Points(14)
	p.Legend.Add(label)
	entry := func(c color.Color, text string) {
		mark, _ := plotter.NewScatter(plotter.XYs{{}}) // of one point, which is finite
		mark.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		p.Legend.Add(text, mark)
	}
	if s.unbounded {
		entry(unbounded, "unbounded")
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if s.lo > s.hi || s.lo == s.hi && i > 0 {
			continue
		}
		text := fmt.Sprintf("≥ %.3g", s.lo+(s.hi-s.lo)*float64(i)/float64(len(steps)))
		if i == 0 && s.clipped {
			text = fmt.Sprintf("less (scale from %g)", s.floor)
		}
		entry(steps[i], text)
	}
}
