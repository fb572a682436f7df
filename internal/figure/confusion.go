package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Matrix counts how often examples of each class were taken for each class.
type Matrix struct {
	Title  string
	Labels []string
	Counts [][]int // [true class][found class]
}

// MaxClasses is the largest number of classes of a matrix. With more, its cells would be too small.
const MaxClasses = 200

// Confusion draws a matrix: a row per true class and a column per found class. The colour of a cell
// grows with its share of the row, blue on the diagonal and orange elsewhere; empty cells are
// white. Small cells have no numbers.
func Confusion(path string, m Matrix) error {
	n := len(m.Labels)
	cell := vg.Length(min(35, 1050/float64(n)))
	p := axes(m.Title, "label found", "label of the recording")
	p.NominalX(m.Labels...)
	names := slices.Clone(m.Labels)
	slices.Reverse(names) // the first class is on top
	p.NominalY(names...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5, -0.5, float64(n)-0.5
	p.X.Padding, p.Y.Padding, p.X.Tick.Length, p.Y.Tick.Length = 0, 0, 4, 4
	p.X.Tick.Label.Font.Size = min(10, cell/2)
	p.Y.Tick.Label.Font.Size = p.X.Tick.Label.Font.Size
	longest, below := vg.Length(0), vg.Length(64)
	for _, label := range m.Labels {
		longest = max(longest, p.X.Tick.Label.Width(label))
	}
	if longest > cell {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/2, text.XRight, text.YCenter
		below += longest
	}
	p.Add(m)
	width := cell*vg.Length(n) + longest + 24
	beside := max(8, (p.Title.TextStyle.Width(m.Title)+16-width)/2) // for a title that is wider than the matrix
	return save(path, width+2*beside, cell*vg.Length(n)+below, func(c draw.Canvas) {
		p.Draw(draw.Crop(c, beside, -beside, 8, -8))
	})
}

// Plot implements plot.Plotter.
func (m Matrix) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := p.Y.Tick.Label
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	for i, row := range m.Counts {
		sum := 0
		for _, v := range row {
			sum += v
		}
		for j, v := range row {
			full, share := orange, math.Sqrt(float64(v)/float64(max(sum, 1))) // so that a few errors are visible
			style.Color = color.Black
			if i == j {
				full = blue
			}
			if i == j && share > 0.5 {
				style.Color = color.White
			}
			at := vg.Point{X: x(float64(j)), Y: y(float64(len(m.Counts) - 1 - i))}
			half := vg.Point{X: (x(1) - x(0)) / 2, Y: (y(1) - y(0)) / 2}
			box := vg.Rectangle{Min: at.Sub(half), Max: at.Add(half)}.Path()
			c.SetColor(mix(full, share))
			c.Fill(box)
			c.SetLineStyle(draw.LineStyle{Color: faint, Width: 0.5})
			c.Stroke(box)
			if v > 0 && half.Y > 8 {
				c.FillText(style, at, fmt.Sprint(v))
			}
		}
	}
}

// mix returns the colour at a fraction t of the way from white to another colour.
func mix(c color.RGBA, t float64) color.Color {
	at := func(v uint8) uint8 { return uint8(math.Round(255 + t*(float64(v)-255))) }
	return color.RGBA{R: at(c.R), G: at(c.G), B: at(c.B), A: 0xff}
}
