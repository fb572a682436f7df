// Package figure draws plots of signals and networks.
//
// Data come in as slices; the output is a PNG or SVG file. Every axis states its unit, and legends
// are to the right of the axes, never over the data. Curves differ in colour (the palette of Okabe
// and Ito, which colour-blind readers can distinguish), in marker shape and in line width.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // the format png
	_ "gonum.org/v1/plot/vg/vgsvg" // the format svg

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// Sizes in points. A PNG has 96 pixels per inch, which are 72 points.
const (
	plotWidth = 900 // of a plot of curves
	keyWidth  = 135 // of the key to the colours of poles
	margin    = 14  // around panels and between them
)

var (
	grey   = color.RGBA{R: 0x59, G: 0x59, B: 0x59, A: 0xff}
	orange = color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	blue   = color.RGBA{R: 0x00, G: 0x5a, B: 0x9c, A: 0xff}
	silver = color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}
	faint  = color.RGBA{R: 0xe0, G: 0xe0, B: 0xe0, A: 0xff}
)

// panel returns an empty plot with a grid.
func panel(title, x, y string) *plot.Plot {
	p := axes(title, x, y)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	return p
}

// axes returns an empty plot in the common style.
func axes(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.BackgroundColor = nil // panels share that of the plot
	p.Title.Padding = 6
	for f, size := range map[*font.Font]vg.Length{
		&p.Title.TextStyle.Font: 14, &p.X.Label.TextStyle.Font: 12, &p.Y.Label.TextStyle.Font: 12,
		&p.X.Tick.Label.Font: 10, &p.Y.Tick.Label.Font: 10, &p.Legend.TextStyle.Font: 11,
	} {
		*f = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	}
	p.Legend.Top, p.Legend.Left = true, true // the text is to the right of the line
	p.Legend.Padding = 2
	p.Legend.ThumbnailWidth = 28
	return p
}

// saveSquares draws a grid of panels with square axes, and the key to their colours in a strip on
// the right if it is not nil. The last row may be incomplete.
func saveSquares(path string, side vg.Length, columns int, panels []*plot.Plot, key *plot.Plot) error {
	var rows [][]*plot.Plot
	for row := range slices.Chunk(panels, columns) {
		rows = append(rows, slices.Concat(row, make([]*plot.Plot, columns-len(row))))
	}
	strip := vg.Length(0)
	if key != nil {
		strip = keyWidth
	}
	return save(path, vg.Length(columns)*side+strip, vg.Length(len(rows))*(side+15), func(c draw.Canvas) {
		beside := draw.Crop(c, vg.Length(columns)*side, -margin, 0, 0)
		for i, row := range align(draw.Crop(c, 0, -strip, 0, 0), rows) {
			for j, tile := range row {
				p := rows[i][j]
				if p == nil {
					continue
				}
				size := p.DataCanvas(tile).Size()
				wide, tall := max(0, size.X-size.Y)/2, max(0, size.Y-size.X)/2
				tile = draw.Crop(tile, wide, -wide, tall, -tall)
				p.Draw(tile)
				if i == 0 {
					beside.Min.Y, beside.Max.Y = p.DataCanvas(tile).Min.Y, p.DataCanvas(tile).Max.Y
				}
			}
		}
		if key != nil {
			key.Draw(beside)
		}
	})
}

// saveWithLegends draws panels below one another, each at least so high, with their legends in a
// strip on the right. The plot grows with its legends: a long list makes a panel higher, long names
// make the plot wider.
func saveWithLegends(path string, height vg.Length, panels []*plot.Plot) error {
	rows, legends, strip := make([][]*plot.Plot, len(panels)), make([]plot.Legend, len(panels)), vg.Length(0)
	for i, p := range panels {
		legends[i], p.Legend = p.Legend, plot.NewLegend()
		rows[i] = []*plot.Plot{p}
		size := legends[i].Rectangle(draw.Canvas{}).Size()
		strip = max(strip, size.X)
		height = max(height, size.Y+70) // the rest is the title and the axis
	}
	width := vg.Length(plotWidth)
	if strip > 0 {
		strip += 2 * margin
		width = max(width, strip+plotWidth*2/3)
	}
	return save(path, width, height*vg.Length(len(panels))+60, func(c draw.Canvas) {
		for i, tile := range align(draw.Crop(c, 0, -strip, 0, 0), rows) {
			panels[i].Draw(tile[0])
			legend := panels[i].DataCanvas(tile[0])
			legend.Min.X, legend.Max.X = c.Max.X-strip+margin, c.Max.X
			legends[i].Draw(legend)
		}
	})
}

// align returns the tiles of rows of panels whose axes all have the same size.
func align(c draw.Canvas, rows [][]*plot.Plot) [][]draw.Canvas {
	return plot.Align(rows, draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]),
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: margin, PadX: margin, PadY: margin,
	}, c)
}

// save writes a drawing to a PNG or SVG file, according to the file's name.
func save(path string, width, height vg.Length, drawing func(draw.Canvas)) error {
	canvas, err := draw.NewFormattedCanvas(width, height, strings.TrimPrefix(filepath.Ext(path), "."))
	if err != nil {
		return fmt.Errorf("figure: %s: %w: expected a name that ends in .png or .svg", path, err)
	}
	c := draw.New(canvas)
	c.SetColor(color.White) // an SVG has no background
	c.Fill(c.Rectangle.Path())
	drawing(c)
	var file bytes.Buffer
	if _, err := canvas.WriteTo(&file); err != nil {
		return fmt.Errorf("figure: %s: %w", path, err)
	}
	data := file.Bytes()
	if filepath.Ext(path) == ".svg" { // the alternatives have the same widths as Liberation Sans
		const font = "font-family:Liberation Sans"
		data = bytes.ReplaceAll(data, []byte(font), []byte(font+",Arimo,Arial,Helvetica,sans-serif"))
	}
	if err := atomicfile.Write(path, 0o666, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}
