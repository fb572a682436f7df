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

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// Sizes in pixels. A point is 1/72 inch.
const (
	dotsPerInch = 96
	widthPx     = 1200 // of a plot of curves
	heightPx    = 640  // of the delay task's signals
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
	p.Legend.Top, p.Legend.Left = true, true // the text is to the right of the line
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(28)
	return p
}

// line adds a line through the points, and its name to the legend.
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

// drawPanel draws a panel with its title centred over the axes; gonum centres it over the whole
// tile.
func drawPanel(p *plot.Plot, tile draw.Canvas) {
	title := p.Title
	defer func() { p.Title = title }()
	if title.Text != "" {
		data := p.DataCanvas(tile)
		middle := max(data.Center().X, tile.Min.X+title.TextStyle.Width(title.Text)/2) // nothing is cut off on the left
		top := vg.Point{X: middle, Y: tile.Max.Y + title.TextStyle.FontExtents().Descent}
		tile.FillText(title.TextStyle, top, title.Text)
		tile.Max.Y -= title.TextStyle.Rectangle(title.Text).Size().Y + title.Padding
		p.Title.Text = ""
	}
	p.Draw(tile)
}

// saveSquares draws a grid of panels with square axes, and the key to their colours in a strip on
// the right if it is not nil. The last row may be incomplete.
func saveSquares(path string, side, columns int, panels []*plot.Plot, key *plot.Plot) error {
	var rows [][]*plot.Plot
	for row := range slices.Chunk(panels, columns) {
		rows = append(rows, slices.Concat(row, make([]*plot.Plot, columns-len(row))))
	}
	width := columns * side
	if key != nil {
		width += keyPx
	}
	return saveCanvas(path, width, len(rows)*(side+20), func(c draw.Canvas) {
		strip := draw.Crop(c, px(columns*side), -margin, 0, 0)
		for i, row := range align(draw.Crop(c, 0, px(columns*side-width), 0, 0), rows) {
			for j, tile := range row {
				if p := rows[i][j]; p != nil {
					size := p.DataCanvas(tile).Size()
					wide, tall := max(0, size.X-size.Y)/2, max(0, size.Y-size.X)/2
					tile = draw.Crop(tile, wide, -wide, tall, -tall)
					drawPanel(p, tile)
					if i == 0 {
						strip.Min.Y, strip.Max.Y = p.DataCanvas(tile).Min.Y, p.DataCanvas(tile).Max.Y
					}
				}
			}
		}
		if key != nil {
			key.Draw(strip)
		}
	})
}

// keyPx is the width of the strip for a key to colours.
const keyPx = 180

// saveWithLegends draws panels below one another, each at least so many pixels high, with their
// legends in a strip on the right. The plot grows with its legends: a long list makes a panel
// higher, long names make the plot wider.
func saveWithLegends(path string, least int, panels []*plot.Plot) error {
	rows, legends, strip := make([][]*plot.Plot, len(panels)), make([]plot.Legend, len(panels)), vg.Length(0)
	for i, p := range panels {
		legends[i], p.Legend = p.Legend, plot.NewLegend()
		rows[i] = []*plot.Plot{p}
		size := legends[i].Rectangle(draw.Canvas{}).Size()
		strip = max(strip, size.X)
		least = max(least, int(size.Y/px(1))+90) // the rest is the title and the axis
	}
	width := widthPx
	if strip > 0 {
		strip += 2 * margin
		width = max(width, int(strip/px(1))+2*widthPx/3)
	}
	return saveCanvas(path, width, least*len(panels)+bordersPx, func(c draw.Canvas) {
		for i, tile := range align(draw.Crop(c, 0, -strip, 0, 0), rows) {
			drawPanel(panels[i], tile[0])
			legend := panels[i].DataCanvas(tile[0])
			legend.Min.X, legend.Max.X = c.Max.X-strip+margin, c.Max.X
			legends[i].Draw(legend)
		}
	})
}

const (
	bordersPx = 80                // of a plot of curves, above and below its panels
	margin    = 14 * vg.Inch / 72 // around panels and between them
)

// px is a length of n pixels.
func px(n int) vg.Length { return vg.Length(n) * vg.Inch / dotsPerInch }

// align returns the tiles of rows of panels whose axes all have the same size.
func align(c draw.Canvas, rows [][]*plot.Plot) [][]draw.Canvas {
	return plot.Align(rows, draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]),
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: margin, PadX: margin, PadY: margin,
	}, c)
}

// maxPixels bounds the memory of a PNG: 512 MiB.
const maxPixels = 1 << 27

// saveCanvas writes a drawing of so many pixels to a PNG or SVG file, according to the file's name.
func saveCanvas(path string, width, height int, drawing func(draw.Canvas)) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch ext := filepath.Ext(path); ext {
	case ".svg":
		canvas = vgsvg.New(px(width), px(height))
	case ".png":
		if height > maxPixels/width {
			return fmt.Errorf("figure: %s: a plot of %d × %d pixels, expected at most %d: shorten the names in it, or write .svg", path, width, height, maxPixels)
		}
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(px(width), px(height)), vgimg.UseDPI(dotsPerInch))}
	default:
		return fmt.Errorf("figure: %s: expected a name that ends in .png or .svg", path)
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
