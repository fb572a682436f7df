package figure

import (
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

func TestPolePlane(t *testing.T) {
	path := filepath.Join(t.TempDir(), "poles.png")
	rows := [][]Poles{
		{{Title: "a", Poles: []complex128{0.5, 0.5i, -0.5, 1i}, Value: []float64{-10, math.Inf(1), 10, math.Inf(-1)}}, {Title: "b", Poles: []complex128{1}}},
		{{Title: "c"}},
	}
	if err := PolePlane(path, "gain [dB]", -20, rows); err != nil {
		t.Fatal(err)
	}
	img := readPNG(t, path)
	for i, c := range append([]color.RGBA{unbounded}, steps...) { // every colour is in the legend, and some in the panel
		if n := count(img, c); n < 10 {
			t.Errorf("colour %d: %d pixels", i, n)
		}
	}
	if n := count(img, blue); n < 10 {
		t.Errorf("poles without values: %d pixels", n)
	}
	for _, bad := range [][]float64{{1, 2}, {math.NaN()}} {
		if err := PolePlane(path, "", 0, [][]Poles{{{Poles: []complex128{1}, Value: bad}}}); err == nil {
			t.Errorf("values %v of one pole: no error", bad)
		}
	}
}

// The classes are those of the finite values alone, and say where the scale begins.
func TestPoleScale(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, 5, 10}, "≥ 8, ≥ 6, ≥ 4, ≥ 2, ≥ 0"},
		{[]float64{-inf, 40, inf}, "unbounded, ≥ 20, ≥ 0, ≥ -20, ≥ -40, less (scale from -60)"},
		{[]float64{inf}, "unbounded"},
		{[]float64{3, 3}, "≥ 3"},
		{[]float64{-inf}, "less (scale from -60)"},
	} {
		path := filepath.Join(t.TempDir(), "poles.svg")
		if err := PolePlane(path, "H", -60, [][]Poles{{{Poles: make([]complex128, len(c.values)), Value: c.values}}}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, legend, _ := strings.Cut(string(text), ">H</text>")
		var got []string
		for _, part := range strings.Split(legend, "</text>") {
			if at := strings.LastIndex(part, ">"); strings.Contains(part, "<text") {
				got = append(got, strings.TrimSpace(part[at+1:]))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%v: legend %s, want %s", c.values, s, c.want)
		}
	}
	s := scale{lo: inf, hi: -inf, floor: -60}
	if err := s.take([]float64{-inf, 40, inf}); err != nil {
		t.Fatal(err)
	}
	for v, want := range map[float64]color.RGBA{-inf: steps[0], -60: steps[0], -1: steps[2], 40: steps[4], inf: unbounded} {
		if got := s.colour(v); got != want {
			t.Errorf("colour of %v: %v, want %v", v, got, want)
		}
	}
}

// The unit circle is as wide as it is high in any arrangement, and the strongest of two poles covers the other.
func TestPolePlaneIsRound(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 1}, {2, 6}} {
		rows := make([][]Poles, size[0])
		for i := range rows {
			rows[i] = make([]Poles, size[1])
		}
		inf := math.Inf(1)
		rows[0][0] = Poles{Title: "two\nlines", Poles: []complex128{1, 1i, -1, -1i, 0.5i, 0.5i}, Value: []float64{inf, inf, inf, inf, inf, 3}}
		path := filepath.Join(t.TempDir(), "round.png")
		if err := PolePlane(path, "H", 0, rows); err != nil {
			t.Fatal(err)
		}
		img := readPNG(t, path)
		at := image.Rectangle{}
		side := img.Bounds().Dx() / size[1] // the first panel
		for y := range img.Bounds().Dy() / size[0] {
			for x := range side {
				if color.RGBAModel.Convert(img.At(x, y)) == unbounded {
					at = at.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if w, h := at.Dx(), at.Dy(); w < 200 || max(w-h, h-w) > 2 {
			t.Errorf("%v panels: the circle is %d×%d pixels", size, w, h)
		}
		if x, y := (at.Min.X+at.Max.X)/2, at.Min.Y+at.Dy()/4; color.RGBAModel.Convert(img.At(x, y)) != unbounded {
			t.Errorf("%v panels: colour %v where the strongest pole lies", size, img.At(x, y))
		}
	}
}

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// An SVG is well-formed, and has the names, the axes and all finite stretches of the lines.
func TestCurves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.svg")
	p := Panel{Title: "T", X: "angle", Y: "size", Marks: []float64{2}, MarkName: "two", Curves: []Curve{
		{Name: "first", X: []float64{1, 2, 3, 4, 5}, Y: []float64{1, 2, math.Inf(1), 3, 4}}, {Name: "second", X: []float64{1, 5}, Y: []float64{2, 2}}}}
	if err := Curves(path, []Panel{p, {LogX: true, Curves: p.Curves[1:]}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, new(any)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{">T<", ">angle<", ">size<", ">first<", ">second<", ">two<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the picture", want)
		}
	}
	if err := Curves(filepath.Join(t.TempDir(), "x.gif"), []Panel{p}); err == nil || !strings.Contains(err.Error(), ".png or .svg") {
		t.Errorf("GIF: error %v", err)
	}
	if err := Curves(path, []Panel{{Curves: []Curve{{Name: "bad", X: []float64{1}}}}}); err == nil {
		t.Error("a curve without values: no error")
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
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("marks in [%v, %v]: %s, want %s", c.lo, c.hi, s, c.want)
		}
	}
}

// Angles have marks at both ends; points keep away from the frame, and lines reach it.
func TestAxisEnds(t *testing.T) {
	x, y := make([]float64, 100), make([]float64, 100)
	for i := range x {
		x[i], y[i] = float64(i), float64(i)
	}
	p := Panel{Curves: []Curve{{X: x, Y: y}}}
	ends := func(p Panel) [4]float64 {
		pl, err := p.plot()
		if err != nil {
			t.Fatal(err)
		}
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
	p.Angles = true
	if e := ends(p); !near(e[0], 0) || !near(e[1], math.Pi) {
		t.Errorf("axis of angles from %v to %v", e[0], e[1])
	}
	var labels []string
	for _, m := range (turns{}).Ticks(0, math.Pi) {
		labels = append(labels, m.Label)
	}
	if got := strings.Join(labels, " "); got != "0  π/4  π/2  3π/4  π" {
		t.Errorf("marks of angles: %s", got)
	}
}

// A thinned line keeps its ends and every extreme value, in the line's order.
func TestThin(t *testing.T) {
	line := make(plotter.XYs, 65536)
	for i := range line {
		line[i] = plotter.XY{X: float64(i), Y: math.Sin(float64(i))}
	}
	line[31234].Y, line[40001].Y = 7, -7
	got := thin(line)
	if len(got) > 1.1*manyPoints || got[0] != line[0] || got[len(got)-1] != line[len(line)-1] {
		t.Errorf("%d points from %v to %v", len(got), got[0], got[len(got)-1])
	}
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

// On a logarithmic axis a curve breaks off at values without a logarithm; single runs share their curve's colour; curves
// beyond the palette have another dash or shape.
func TestCurvesApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "apart.png")
	p := Panel{LogY: true, Curves: []Curve{
		{Name: "mean", X: []float64{1, 2, 3, 4}, Y: []float64{1, 0, 10, 100}, Runs: []Point{{1, 0.5}, {4, -1}, {4, 200}}},
		{Name: "cloud", X: []float64{1, 2}, Y: []float64{3, 4}, Points: true},
		{Name: "green", X: []float64{1, 2}, Y: []float64{3, 4}, Hue: Green}}}
	if err := Curves(path, []Panel{p}); err != nil {
		t.Fatal(err)
	}
	if got := p.stretches(p.Curves[0]); len(got) != 2 || len(got[0]) != 1 || len(got[1]) != 2 {
		t.Errorf("stretches %v", got)
	}
	img := readPNG(t, path)
	if line, cloud := count(img, blue), count(img, orange); line < 400 || cloud < 20 || cloud > 200 {
		t.Errorf("%d pixels of the line's colour, %d of the points'", line, cloud)
	}
	if n := count(img, palette[2]); n < 100 {
		t.Errorf("%d pixels of green", n)
	}
	seen := map[string]bool{}
	for i := range 3 * len(palette) {
		seen[fmt.Sprintf("%v", lookOf(i))] = true
	}
	if len(seen) != 3*len(palette) {
		t.Errorf("%d looks for %d curves", len(seen), 3*len(palette))
	}
	if err := Curves(path, []Panel{{LogX: true, LogY: true, Curves: []Curve{{Name: "none", X: []float64{1}, Y: []float64{math.NaN()}}}}}); err != nil {
		t.Errorf("a panel without values: %v", err)
	}
}
