// Package figure draws pictures of signals and networks.
//
// Samples go in as slices, a PNG or SVG file comes out. Every picture states its units and names its lines; the
// colours are from the palette of Okabe and Ito, which colour-blind readers can tell apart.
package figure

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// Size of a picture of signals. A point is 1/72 inch.
const (
	dotsPerInch = 96
	widthPx     = 1200
	heightPx    = 640
)

var (
	grey   = color.RGBA{R: 0x59, G: 0x59, B: 0x59, A: 0xff}
	orange = color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	blue   = color.RGBA{R: 0x00, G: 0x5a, B: 0x9c, A: 0xff}
	silver = color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}
	faint  = color.RGBA{R: 0xe0, G: 0xe0, B: 0xe0, A: 0xff}
)

// panel returns an empty plot in the pictures' common style.
func panel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	for _, s := range []struct {
		font *font.Font
		size vg.Length
	}{
		{&p.Title.TextStyle.Font, 14}, {&p.X.Label.TextStyle.Font, 12}, {&p.Y.Label.TextStyle.Font, 12},
		{&p.X.Tick.Label.Font, 10}, {&p.Y.Tick.Label.Font, 10}, {&p.Legend.TextStyle.Font, 11},
	} {
		*s.font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: s.size}
	}
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(28)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	return p
}

// line adds a named line through the points to the plot.
func line(p *plot.Plot, name string, points plotter.XYs, c color.Color, width vg.Length) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("figure: %s: %w", name, err)
	}
	l.Color, l.Width = c, width
	p.Add(l)
	p.Legend.Add(name, l)
	return nil
}

// ticks marks about this many round values on an axis: multiples of 1, 2 or 5 times a power of ten. Axes of
// equal length get marks at equal distances.
type ticks int

// Ticks implements plot.Ticker.
func (n ticks) Ticks(lo, hi float64) []plot.Tick {
	raw := (hi - lo) / float64(n)
	if !(raw > 0) || math.IsInf(raw, 1) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	switch r := raw / step; {
	case r >= 7:
		step *= 10
	case r >= 3.5:
		step *= 5
	case r >= 1.5:
		step *= 2
	}
	var marks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		marks = append(marks, plot.Tick{Value: i * step, Label: number(i*step + 0)})
	}
	return marks
}

// logTicks marks about this many values on an axis that holds decades: where it is long, powers of ten, where it is short,
// their multiples by 2 and 5 as well, and where it is shorter than that, as on a linear axis.
type logTicks int

// Ticks implements plot.Ticker.
func (n logTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) || hi-lo > 600 { // the range of float64
		return nil
	}
	if hi-lo < math.Log10(5) {
		marks := ticks(n).Ticks(math.Pow(10, lo), math.Pow(10, hi))
		for i := range marks {
			marks[i].Value = math.Log10(marks[i].Value)
		}
		return marks
	}
	first, last := int(math.Floor(lo)), int(math.Floor(hi))
	every := 1 + (last-first)/(2*int(n)) // decades from label to label
	var marks []plot.Tick
	for decade := first; decade <= last; decade++ {
		for digit := 1; digit < 10; digit++ {
			t := plot.Tick{Value: float64(decade) + math.Log10(float64(digit))}
			if t.Value < lo || t.Value > hi {
				continue
			}
			if digit == 1 && decade%every == 0 || hi-lo < 3 && (digit == 2 || digit == 5) {
				t.Label = number(float64(digit) * math.Pow(10, float64(decade)))
			}
			marks = append(marks, t)
		}
	}
	return marks
}

// turns marks an axis of angles at fractions of a half turn.
type turns struct{}

// Ticks implements plot.Ticker.
func (turns) Ticks(lo, hi float64) (marks []plot.Tick) {
	for i, label := range []string{"0", "", "π/4", "", "π/2", "", "3π/4", "", "π"} {
		if v := math.Pi * float64(i) / 8; v >= lo && v <= hi {
			marks = append(marks, plot.Tick{Value: v, Label: label})
		}
	}
	return marks
}

// number writes a value in six digits at most, an exponent without sign and zeros that say nothing.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	return strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(s)
}

// saveSquares draws rows of panels of one number, the axes of each as long as one another, and writes them as the file's
// name says, PNG or SVG, by way of a temporary name. An empty place is nil.
func saveSquares(path string, width, height int, rows [][]*plot.Plot) error {
	return saveCanvas(path, width, height, func(c draw.Canvas) {
		for i, row := range align(c, rows) {
			for j, tile := range row {
				if p := rows[i][j]; p != nil {
					size := p.DataCanvas(tile).Size()
					wide, tall := max(0, size.X-size.Y)/2, max(0, size.Y-size.X)/2
					p.Draw(draw.Crop(tile, wide, -wide, tall, -tall))
				}
			}
		}
	})
}

// saveBeside draws panels below one another, their legends in a strip on the right, where they cover nothing.
func saveBeside(path string, height int, panels []*plot.Plot) error {
	return saveCanvas(path, widthPx, height, func(c draw.Canvas) {
		rows, legends, strip := make([][]*plot.Plot, len(panels)), make([]plot.Legend, len(panels)), vg.Length(0)
		for i, p := range panels {
			legends[i], p.Legend = p.Legend, plot.NewLegend()
			legends[i].Left = true // the text behind the line
			rows[i] = []*plot.Plot{p}
			strip = max(strip, legends[i].Rectangle(c).Size().X)
		}
		if strip > 0 {
			strip += margin
		}
		for i, tile := range align(draw.Crop(c, 0, -strip, 0, 0), rows) {
			panels[i].Draw(tile[0])
			beside := panels[i].DataCanvas(tile[0])
			beside.Min.X, beside.Max.X = c.Max.X-strip, c.Max.X
			legends[i].Draw(beside)
		}
	})
}

// margin is around panels and between them.
const margin = 14 * vg.Inch / 72

// align returns where rows of panels lie so that their axes have one size.
func align(c draw.Canvas, rows [][]*plot.Plot) [][]draw.Canvas {
	return plot.Align(rows, draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]),
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: margin, PadX: margin, PadY: margin,
	}, c)
}

// saveCanvas writes what drawing leaves on a canvas of that many pixels.
func saveCanvas(path string, width, height int, drawing func(draw.Canvas)) error {
	w, h := vg.Length(width)*vg.Inch/dotsPerInch, vg.Length(height)*vg.Inch/dotsPerInch
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch ext := filepath.Ext(path); ext {
	case ".svg":
		canvas = vgsvg.New(w, h)
	case ".png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dotsPerInch))}
	default:
		return fmt.Errorf("figure: %s: want a name that ends in .png or .svg", path)
	}
	c := draw.New(canvas)
	c.SetColor(color.White) // an SVG has no ground of its own
	c.Fill(c.Rectangle.Path())
	drawing(c)
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := canvas.WriteTo(w); return err }); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}
