package figure

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// An SVG has the names and the axes, with legends above the axes, never over the curves.
// Values that differ by rounding only have ticks with different labels.
func TestCurves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.svg")
	p := Panel{Title: "T", X: "length", Y: "size", Marks: []float64{2}, MarkName: "two", Curves: []Curve{
		{Name: "first", X: []float64{1, 2, 3, 4, 5}, Y: []float64{1, 2, math.Inf(1), 3, 4}}, {Name: "second", X: []float64{1, 5}, Y: []float64{2, 2}}}}
	narrow := Panel{LogX: true, Curves: []Curve{{X: []float64{1, 2}, Y: []float64{3, math.Nextafter(3, 4)}}}}
	must.Do(t, Curves(path, []Panel{p, narrow}))
	svg := readSVG(t, path)
	for _, text := range []string{"T", "length", "size", "2.99998", "3", "3.00002"} {
		svg.at(text)
	}
	_, title := svg.at("T")
	_, axis := svg.at("4")
	for _, name := range []string{"first", "second", "two"} {
		if _, legend := svg.at(name); legend > title-10 || legend < axis+10 {
			t.Errorf("the legend has %s at %g, the title is at %g and the axis begins at %g", name, legend, title, axis)
		}
	}
	must.Fail(t, Curves(filepath.Join(t.TempDir(), "x.gif"), []Panel{p}), ".png or .svg")
	must.Fail(t, Curves(filepath.Join(t.TempDir(), "nowhere", "x.svg"), []Panel{p}), "nowhere")
}

// A plot grows with its legend, so that no text is cut off and the axes keep their size.
func TestLongLegend(t *testing.T) {
	var p Panel
	for i := range 60 {
		p.Curves = append(p.Curves, Curve{Name: strings.Repeat("a long name ", 6) + fmt.Sprint(i), X: []float64{0, 1}, Y: []float64{0, float64(i)}})
	}
	path := filepath.Join(t.TempDir(), "long.svg")
	must.Do(t, Curves(path, []Panel{p}))
	svg := readSVG(t, path)
	_, y := svg.at(p.Curves[59].Name)
	_, axis := svg.at("60")
	if right := svg.right(p.Curves[59].Name); right > svg.width || y < axis+5 {
		t.Errorf("the last name ends at (%g, %g) in a plot of width %g whose axis begins at %g", right, y, svg.width, axis)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker plot.Ticker
		lo, hi float64
		want   string
	}{
		{ticks(6), 141, 171, "145 150 155 160 165 170"},
		{ticks(4), -0.95, 1.3, "-0.5 0 0.5 1"},
		{ticks(6), 0, 1200, "0 200 400 600 800 1000 1200"},
		{logTicks(5), 0.9, 1.3, "0.9 1 1.1 1.2 1.3"},
		{logTicks(5), 0.0035, 0.21, "0.005 0.01 0.02 0.05 0.1 0.2"},
		{logTicks(5), 1e-6, 1, "1e-6 1e-5 0.0001 0.001 0.01 0.1 1"},
		{logTicks(5), 1e-12, 1e6, "1e-12 1e-10 1e-8 1e-6 0.0001 0.01 1 100 10000 1e6"},
		{frequencyTicks(0), 0, math.Pi, "0 π/4 π/2 3π/4 π"},
		{frequencyTicks(8000), 0, math.Pi * (1 + 1e-9), "0 500 1000 1500 2000 2500 3000 3500 4000"},
	} {
		if _, logarithmic := c.ticker.(logTicks); logarithmic {
			c.lo, c.hi = math.Log10(c.lo), math.Log10(c.hi)
		}
		var got []string
		for _, tick := range c.ticker.Ticks(c.lo, c.hi) {
			if tick.Label != "" {
				got = append(got, tick.Label)
			}
		}
		must.Equal(t, strings.Join(got, " "), c.want, "%T %[1]v in [%v, %v]", c.ticker, c.lo, c.hi)
	}
}

// Lines reach the frame, and markers keep a distance from it. An axis of frequencies ends at 0 and
// π.
func TestAxisEnds(t *testing.T) {
	x, y := make([]float64, 100), make([]float64, 100)
	for i := range x {
		x[i], y[i] = float64(i), float64(i)
	}
	p := Panel{Curves: []Curve{{X: x, Y: y}}}
	ends := func(p Panel) [4]float64 {
		pl := p.plot()
		return [4]float64{pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 2e-3 }
	if e := ends(p); !near(e[0], 0) || !near(e[1], 99) {
		t.Errorf("axis of a line from %v to %v", e[0], e[1])
	}
	p.XMax, p.YMin, p.YMax = 128, -1, 7
	if e := ends(p); !near(e[0], 0) || !near(e[1], 128) || !near(e[2], -1) || !near(e[3], 7) {
		t.Errorf("axes %v", e)
	}
	p.Curves[0].Runs = []Point{{1, 1}}
	p.XMax, p.YMin, p.YMax = 0, 0, 0
	if e := ends(p); e[0] > -1 || e[1] < 100 || e[2] > -1 || e[3] < 100 {
		t.Errorf("axes around points %v", e)
	}
	p.Frequency = true
	if e := ends(p); !near(e[0], 0) || !near(e[1], math.Pi) {
		t.Errorf("axis of angles from %v to %v", e[0], e[1])
	}
}

// Every mark has a label on the axis, unless there are too many.
func TestMarkTicks(t *testing.T) {
	for n, want := range map[int]int{8: 9, 24: 25, 25: 7} {
		p := Panel{XMax: float64(32 * n)}
		for i := range n {
			p.Marks = append(p.Marks, float64(32*(i+1)))
		}
		pl := p.plot()
		list := pl.X.Tick.Marker.Ticks(pl.X.Min, pl.X.Max)
		if len(list) < want || len(list) > want+3 {
			t.Fatalf("%d marks: %d ticks %v, expected %d to %d", n, len(list), list, want, want+3)
		}
		if n < 25 {
			must.Equal(t, list[1].Label, "32", "%d marks: label of tick 1", n)
		}
	}
}

// On a logarithmic axis a curve has gaps at values without a logarithm. Single runs have the colour
// of their curve. Curves differ in colour and marker, the first eight in the marker alone.
func TestCurvesApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "apart.png")
	p := Panel{LogY: true, Curves: []Curve{
		{Name: "mean", X: []float64{1, 2, 3, 4}, Y: []float64{1, 0, 10, 100}, Runs: []Point{{1, 0.5}, {4, -1}, {4, 200}}},
		{Name: "cloud", X: []float64{1, 2}, Y: []float64{3, 4}, Points: true},
		{Name: "green", X: []float64{1, 2}, Y: []float64{3, 4}, Hue: Green}}}
	must.Do(t, Curves(path, []Panel{p}))
	if got := p.stretches(p.Curves[0]); len(got) != 2 || len(got[0]) != 1 || len(got[1]) != 2 {
		t.Errorf("stretches %v", got)
	}
	img := readPNG(t, path)
	if line, cloud := count(img, blue), count(img, orange); line < 400 || cloud < 8 || cloud > 200 {
		t.Errorf("%d pixels of the line's colour, %d of the points'", line, cloud)
	}
	if n := count(img, palette[2]); n < 100 {
		t.Errorf("%d pixels of green", n)
	}
	const n = 40
	seen, grey := map[string]bool{}, map[string]bool{}
	for i := range n {
		l := lookOf(i, n, AnyHue)
		seen[fmt.Sprintf("%v %T", l.Color, l.shape)] = true
		if i < len(shapes) {
			grey[fmt.Sprintf("%T", l.shape)] = true
		}
	}
	if len(seen) != n || len(grey) != len(shapes) {
		t.Errorf("%d of %d curves differ, %d of %d without colours", len(seen), n, len(grey), len(shapes))
	}
	if err := Curves(path, []Panel{{LogX: true, LogY: true, Curves: []Curve{{Name: "none", X: []float64{1}, Y: []float64{math.NaN()}}}}}); err != nil {
		t.Errorf("a panel without values: %v", err)
	}
}

// Of curves that coincide all are visible: another colour of any of them changes the plot.
func TestCurvesCoincide(t *testing.T) {
	x := make([]float64, fewPoints+10) // without markers
	for i := range x {
		x[i] = float64(i)
	}
	same := func(hue int) image.Image {
		curves := []Curve{{X: x, Y: x}, {X: x, Y: x}, {X: x, Y: x}}
		if hue >= 0 {
			curves[hue].Hue = Red
		}
		path := filepath.Join(t.TempDir(), "same.png")
		must.Do(t, Curves(path, []Panel{{Curves: curves}}))
		return readPNG(t, path)
	}
	before := same(-1)
	for i := range 3 {
		after, n := same(i), 0
		for y := range before.Bounds().Dy() {
			for x := range before.Bounds().Dx() {
				r, g, b, _ := before.At(x, y).RGBA()
				red, green, blue, _ := after.At(x, y).RGBA()
				if max(r, red)-min(r, red)+max(g, green)-min(g, green)+max(b, blue)-min(b, blue) > 0x3000 {
					n++
				}
			}
		}
		if n < 500 {
			t.Errorf("curve %d: %d pixels change with its colour", i, n)
		}
	}
}

// A band fills the area between its lines, as far as they have values, and lies behind the curves.
func TestBand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "band.png")
	must.Do(t, Curves(path, []Panel{{LogX: true, YMin: 0, YMax: 10,
		Bands:  []Band{{Name: "area", X: []float64{0, 1, 10, 100}, Low: []float64{0, 2, 2, 2}, High: []float64{9, 8, 8, math.NaN()}}},
		Curves: []Curve{{Name: "middle", X: []float64{1, 100}, Y: []float64{5, 5}}}}}))
	img, area := readPNG(t, path), color.RGBA{R: 0xcc, G: 0xdf, B: 0xee, A: 0xff}
	columns := 0
	for x := range img.Bounds().Dx() {
		if n := countIn(img, area, image.Rect(x, 0, x+1, img.Bounds().Dy())); n > 160 && countIn(img, blue, image.Rect(x, 0, x+1, img.Bounds().Dy())) > 0 {
			columns++
		}
	}
	if columns < 500 || columns > 600 {
		t.Errorf("the band has %d columns, expected half of the axis: from 1 to 10 of 1 to 100", columns)
	}
}
