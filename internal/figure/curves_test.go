package figure

import (
	"fmt"
	"image"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// An SVG has the names and the axes, with legends to the right of the axes, never over the curves.
func TestCurves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.svg")
	p := Panel{Title: "T", X: "length", Y: "size", Marks: []float64{2}, MarkName: "two", Curves: []Curve{
		{Name: "first", X: []float64{1, 2, 3, 4, 5}, Y: []float64{1, 2, math.Inf(1), 3, 4}}, {Name: "second", X: []float64{1, 5}, Y: []float64{2, 2}}}}
	must.Do(t, Curves(path, []Panel{p, {LogX: true, Curves: p.Curves[1:]}}))
	svg := readSVG(t, path)
	for _, text := range []string{"T", "length", "size"} {
		svg.at(text)
	}
	for _, name := range []string{"first", "second", "two"} {
		if legend, _ := svg.at(name); legend < svg.right("5")+20 {
			t.Errorf("the legend has %s at %g, the axis ends at %g", name, legend, svg.right("5"))
		}
	}
	must.Fail(t, Curves(filepath.Join(t.TempDir(), "x.gif"), []Panel{p}), ".png or .svg")
	if err := Curves(path, []Panel{{Curves: []Curve{{Name: "bad", X: []float64{1}}}}}); err == nil {
		t.Error("a curve without values: no error")
	}
}

// A plot grows with its legend, so that no text is cut off and the axes keep their size.
func TestLongLegend(t *testing.T) {
	p := Panel{Title: "a title that is too long for the width of axes beside a legend with names as long as these are"}
	for i := range 60 {
		p.Curves = append(p.Curves, Curve{Name: strings.Repeat("a long name ", 6) + fmt.Sprint(i), X: []float64{0, 1}, Y: []float64{0, float64(i)}})
	}
	path := filepath.Join(t.TempDir(), "long.svg")
	must.Do(t, Curves(path, []Panel{p}))
	svg := readSVG(t, path)
	x, y := svg.at(p.Curves[59].Name)
	if right := svg.right(p.Curves[59].Name); right > svg.width || y < 0 || x < 550 {
		t.Errorf("the last name lies at (%g to %g, %g) in a plot of width %g", x, right, y, svg.width)
	}
	if left, _ := svg.at(p.Title); left < 0 {
		t.Errorf("the title begins at %g", left)
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.9, 1.3, "0.9 1 1.1 1.2 1.3"},
		{0.0035, 0.21, "0.005 0.01 0.02 0.05 0.1 0.2"},
		{1e-6, 1, "1e-6 1e-5 0.0001 0.001 0.01 0.1 1"},
		{1e-12, 1e6, "1e-12 1e-10 1e-8 1e-6 0.0001 0.01 1 100 10000 1e6"},
		{0.0009, 0.12, "0.001 0.002 0.005 0.01 0.02 0.05 0.1"},
		{0, 1, ""},
		{2, 2, ""},
	} {
		var got []string
		for _, m := range logTicks(5).Ticks(math.Log10(c.lo), math.Log10(c.hi)) {
			if v := math.Pow(10, m.Value); v < c.lo*0.999 || v > c.hi*1.001 {
				t.Errorf("mark at %v outside [%v, %v]", m.Value, c.lo, c.hi)
			}
			if m.Label != "" {
				got = append(got, m.Label)
			}
		}
		must.Equal(t, strings.Join(got, " "), c.want, "marks in [%v, %v]", c.lo, c.hi)
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
		pl := must.Get(p.plot())(t)
		return [4]float64{pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }
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

func TestFrequencyTicks(t *testing.T) {
	for rate, want := range map[float64][2]string{
		0:     {"0  π/4  π/2  3π/4  π", "angular frequency [rad per sample]"},
		8000:  {"0 500 1000 1500 2000 2500 3000 3500 4000", "frequency [Hz]"},
		44100: {"0 2000 4000 6000 8000 10000 12000 14000 16000 18000 20000 22000", "frequency [Hz]"},
	} {
		x := []float64{0, 1, 3}
		pl := must.Get(Panel{Frequency: true, SampleRate: rate, Curves: []Curve{{X: x, Y: x}}}.plot())(t)
		var labels []string
		for _, m := range pl.X.Tick.Marker.Ticks(0, math.Pi*(1+1e-9)) {
			labels = append(labels, m.Label)
			if hertz, err := strconv.ParseFloat(m.Label, 64); err == nil && rate > 0 && math.Abs(m.Value-2*math.Pi*hertz/rate) > 1e-9 {
				t.Errorf("rate %g: %s Hz at %g rad per sample", rate, m.Label, m.Value)
			}
		}
		if got := strings.Join(labels, " "); got != want[0] || pl.X.Label.Text != want[1] {
			t.Errorf("rate %g: %q with ticks %s, expected %q", rate, pl.X.Label.Text, got, want)
		}
	}
}

// Every mark has a label on the axis, unless there are too many.
func TestMarkTicks(t *testing.T) {
	for n, want := range map[int]int{8: 9, 24: 25, 25: 7} {
		p := Panel{MarkTicks: true, XMax: float64(32 * n)}
		for i := range n {
			p.Marks = append(p.Marks, float64(32*(i+1)))
		}
		pl := must.Get(p.plot())(t)
		list := pl.X.Tick.Marker.Ticks(pl.X.Min, pl.X.Max)
		if len(list) < want || len(list) > want+3 {
			t.Fatalf("%d marks: %d ticks %v, expected %d to %d", n, len(list), list, want, want+3)
		}
		if n < 25 {
			must.Equal(t, list[1].Label, "32", "%d marks: label of tick 1", n)
		}
	}
}

// A thinned line keeps its ends, every extreme value and the order of its points.
func TestThin(t *testing.T) {
	line := make(plotter.XYs, 65536)
	for i := range line {
		line[i] = plotter.XY{X: float64(i), Y: math.Sin(float64(i))}
	}
	line[31234].Y, line[40001].Y = 7, -7
	got := thin(line)
	if len(got) > 1.1*manyPoints {
		t.Errorf("%d points, expected at most %v", len(got), 1.1*manyPoints)
	}
	must.Equal(t, got[0], line[0], "first point")
	must.Equal(t, got[len(got)-1], line[len(line)-1], "last point")
	for i := 1; i < len(got); i++ {
		if got[i].X < got[i-1].X {
			t.Fatalf("point %d lies before its neighbour", i)
		}
	}
	for _, i := range []int{31234, 40001} {
		if !slices.Contains(got, line[i]) {
			t.Errorf("the extreme value at %d is lost", i)
		}
	}
	if short := line[:5000]; len(thin(short)) != len(short) {
		t.Error("a short line is thinned")
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
		l := lookOf(i, n)
		seen[fmt.Sprintf("%v %T", l.colour, l.shape)] = true
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
