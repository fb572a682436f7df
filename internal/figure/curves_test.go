package figure

import (
	"encoding/xml"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"first", []float64{1, 2, 3, 4, 5}, []float64{1, 2, math.Inf(1), 3, 4}}, {"second", []float64{1, 5}, []float64{2, 2}}}}
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
	if err := Curves(path, []Panel{{Curves: []Curve{{"bad", []float64{1}, nil}}}}); err == nil {
		t.Error("a curve without values: no error")
	}
}
