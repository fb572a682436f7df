package figure

import (
	"encoding/xml"
	"fmt"
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
		{{Title: "a", Poles: []complex128{0.5, 0.5i, -0.5}, Value: []float64{-10, 0, 10}}, {Title: "b", Poles: []complex128{1}}},
		{{Title: "c"}},
	}
	if err := PolePlane(path, "gain [dB]", rows); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range steps { // every colour is in the legend, and three more in the panel
		if n := count(img, c); n < 10 {
			t.Errorf("colour %d: %d pixels", i, n)
		}
	}
	if n := count(img, blue); n < 10 {
		t.Errorf("poles without values: %d pixels", n)
	}
	if err := PolePlane(path, "", [][]Poles{{{Poles: []complex128{1}, Value: []float64{1, 2}}}}); err == nil {
		t.Error("two values of one pole: no error")
	}
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
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
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
