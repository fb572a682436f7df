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

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/s4d-fast/s4d-fast/internal/atomicfile"
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
	case r >= 5:
		step *= 5
	case r >= 2:
		step *= 2
	}
	var marks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		marks = append(marks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step+0, 'g', 6, 64)})
	}
	return marks
}

// save draws the panels below one another, in the common size.
func save(path string, panels ...*plot.Plot) error {
	rows := make([][]*plot.Plot, len(panels))
	for i, p := range panels {
		rows[i] = []*plot.Plot{p}
	}
	return saveGrid(path, widthPx, heightPx, rows)
}

// saveGrid draws rows of panels of one number and writes them as the file's name says, PNG or SVG, by way of a temporary
// name. An empty place is nil.
func saveGrid(path string, width, height int, rows [][]*plot.Plot) error {
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
	margin := vg.Points(14)
	tiles := draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]),
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: margin, PadX: margin, PadY: margin,
	}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		for j, tile := range row {
			if rows[i][j] != nil {
				rows[i][j].Draw(tile)
			}
		}
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := canvas.WriteTo(w); return err }); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}
