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

// Cells of a matrix, in pixels. Smaller ones than cellTextPx have no numbers.
const (
	cellPx     = 46
	cellTextPx = 22
	matrixPx   = 1400 // largest side of all cells
)

// MaxClasses is the largest number of classes of a matrix. With more, its cells would be too small.
const MaxClasses = 200

// Confusion draws a matrix: a row per true class and a column per found class. The colour of a cell
// grows with its share of the row, blue on the diagonal and orange elsewhere; empty cells are
// white.
func Confusion(path string, m Matrix) error {
	n := len(m.Labels)
	if n < 1 || n > MaxClasses || len(m.Counts) != n || slices.ContainsFunc(m.Counts, func(row []int) bool { return len(row) != n }) {
		return fmt.Errorf("figure: confusion: %d rows for %d labels, expected a square matrix of 1 to %d", len(m.Counts), n, MaxClasses)
	}
	p := axes(m.Title, "label found", "label of the recording")
	cell := min(cellPx, matrixPx/n)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(n), 0, float64(n)
	var rows []plot.Tick
	for i, label := range m.Labels {
		rows = append(rows, plot.Tick{Value: float64(n-i) - 0.5, Label: label})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks{}, plot.ConstantTicks(rows)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Padding, axis.Tick.Length, axis.Tick.LineStyle.Width = 0, gap, 0
		axis.LineStyle.Width = 0
		axis.Tick.Label.Font.Size = vg.Points(min(10, float64(cell)/2))
	}
	longest := vg.Length(0)
	for _, label := range m.Labels {
		longest = max(longest, p.Y.Tick.Label.Width(label))
	}
	drawn := cells{Matrix: m, numbers: cell >= cellTextPx, names: p.X.Tick.Label}
	drawn.names.XAlign, drawn.names.YAlign = text.XCenter, text.YTop
	height := drawn.names.Height("x")
	if longest > px(cell-4) {
		drawn.names.Rotation, drawn.names.XAlign, drawn.names.YAlign = math.Pi/2, text.XRight, text.YCenter
		height = longest
	}
	p.X.Label.Padding = height + 2*gap // below the names of the columns
	p.Add(drawn)
	beside, below := int(longest/px(1))+80, int(height/px(1))+100
	width := max(n*cell+beside, int(p.Title.TextStyle.Width(m.Title)/px(1))+60)
	return saveCanvas(path, width, n*cell+below, func(c draw.Canvas) {
		tile := draw.Crop(c, px(10), px(beside-20+n*cell-width), px(10), -px(10))
		drawPanel(p, tile)
	})
}

// gap is the space between the cells and the names of their rows and columns.
const gap = 4 * vg.Inch / 72

// cells draws a matrix and the names of its columns.
type cells struct {
	Matrix
	numbers bool
	names   draw.TextStyle
}

var white = color.RGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}

// Plot implements plot.Plotter.
func (m cells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	n := len(m.Labels)
	for j, label := range m.Labels {
		c.FillText(m.names, vg.Point{X: x(float64(j) + 0.5), Y: y(0) - gap}, label)
	}
	style := m.names
	style.Rotation, style.XAlign, style.YAlign = 0, text.XCenter, text.YCenter
	for i, row := range m.Counts {
		sum := 0
		for _, v := range row {
			sum += v
		}
		for j, v := range row {
			left, bottom := float64(j), float64(n-1-i)
			corners := []vg.Point{{X: x(left), Y: y(bottom)}, {X: x(left + 1), Y: y(bottom)}, {X: x(left + 1), Y: y(bottom + 1)}, {X: x(left), Y: y(bottom + 1)}}
			full, share := orange, 0.0
			if i == j {
				full = blue
			}
			if v > 0 {
				share = math.Sqrt(float64(v) / float64(sum)) // so that a few errors are visible
			}
			c.FillPolygon(mix(white, full, share), corners)
			c.StrokeLines(draw.LineStyle{Color: faint, Width: vg.Points(0.5)}, append(corners, corners[0]))
			if v == 0 || !m.numbers {
				continue
			}
			style.Color = color.Black
			if i == j && share > 0.5 {
				style.Color = white
			}
			c.FillText(style, vg.Point{X: x(left + 0.5), Y: y(bottom + 0.5)}, fmt.Sprint(v))
		}
	}
}

// mix returns the colour at a fraction t of the way from a to b.
func mix(a, b color.RGBA, t float64) color.RGBA {
	at := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + t*(float64(b)-float64(a)))) }
	return color.RGBA{R: at(a.R, b.R), G: at(a.G, b.G), B: at(a.B, b.B), A: 0xff}
}
