// Package figure draws plots of signals and networks.
//
// Data come in as slices; the output is a PNG or SVG file. Every axis states its unit, and legends
// are above the axes, never over the data. Curves differ in colour (the palette of Okabe
// and Ito, which colour-blind readers can distinguish), in marker shape and in line width.
package figure

import (
	"bytes"
	"cmp"
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

// labelled is a panel with the entries of its legend.
type labelled struct {
	*plot.Plot
	legend []plot.Legend // of one entry each
}

// label adds an entry to the legend.
func (l *labelled) label(name string, thumbs ...plot.Thumbnailer) {
	entry := l.Legend // the style
	entry.Add(name, thumbs...)
	l.legend = append(l.legend, entry)
}

// entrySize returns the size of the largest entry of the legend with the space around it.
func (l *labelled) entrySize() (size vg.Point) {
	for _, entry := range l.legend {
		s := entry.Rectangle(draw.Canvas{}).Size()
		size.X, size.Y = max(size.X, s.X+margin), max(size.Y, s.Y+4)
	}
	return size
}

// drawLegend draws the entries row by row, from the upper left corner of the canvas.
func (l *labelled) drawLegend(c draw.Canvas, columns int) {
	size := l.entrySize()
	for i, entry := range l.legend {
		at := c
		at.Min.X += vg.Length(i%columns) * size.X
		at.Max.Y -= vg.Length(i/columns) * size.Y
		entry.Draw(at)
	}
}

// saveWithLegends draws panels below one another, each so high, with their legends between title
// and axes. The plot grows with its legends: many entries make it higher, long ones wider.
func saveWithLegends(path string, height vg.Length, panels []*labelled) error {
	const beside = 90 // the axis of y
	width, total := vg.Length(plotWidth), 60+height*vg.Length(len(panels))
	for _, p := range panels {
		width = max(width, p.entrySize().X+beside)
	}
	rows, columns, space := make([][]*plot.Plot, len(panels)), make([]int, len(panels)), make([]vg.Length, len(panels))
	for i, p := range panels {
		rows[i] = []*plot.Plot{p.Plot}
		if len(p.legend) == 0 {
			continue
		}
		size := p.entrySize()
		columns[i] = int((width - beside) / size.X)
		space[i] = 4 + size.Y*vg.Length((len(p.legend)+columns[i]-1)/columns[i])
		p.Title.Padding += space[i]
		p.Title.Text = cmp.Or(p.Title.Text, " ") // an empty title would take the space away
		total += space[i]
	}
	return save(path, width, total, func(c draw.Canvas) {
		for i, tile := range align(c, rows) {
			panels[i].Draw(tile[0])
			legend := panels[i].DataCanvas(tile[0])
			legend.Max.Y += space[i]
			panels[i].drawLegend(legend, columns[i])
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
