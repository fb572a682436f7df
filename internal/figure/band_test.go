package figure

import (
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A band fills the area between its lines and lies behind the curves.
func TestBand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "band.png")
	p := Panel{LogX: true, YMin: 0, YMax: 10, XMin: 1, XMax: 100,
		Bands:  []Band{{Name: "area", X: []float64{0, 1, 10, 100}, Low: []float64{0, 2, 2, 2}, High: []float64{9, 8, 8, math.NaN()}}},
		Curves: []Curve{{Name: "middle", X: []float64{1, 100}, Y: []float64{5, 5}}, {X: []float64{3}, Y: []float64{9}, Points: true, Large: true}}}
	must.Do(t, Curves(path, []Panel{p}))
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	img := must.Get(png.Decode(f))(t)
	colour := func(x, y int) [3]uint32 {
		r, g, b, _ := img.At(x, y).RGBA()
		return [3]uint32{r >> 8, g >> 8, b >> 8}
	}
	area, line := [3]uint32{0xcc, 0xdf, 0xee}, [3]uint32{0, 0x5a, 0x9c}
	columns := 0
	for x := range 800 { // without the legend
		above, below, middle := 0, 0, 0
		for y := range img.Bounds().Max.Y {
			switch c := colour(x, y); {
			case c == line:
				middle++
			case c == area && middle == 0:
				above++
			case c == area:
				below++
			}
		}
		if above+below == 0 {
			continue
		}
		columns++
		if middle == 0 || above < 80 || above-below > 4 || below-above > 4 {
			t.Fatalf("column %d: %d pixels of the band above the curve, %d of the curve, %d of the band below", x, above, middle, below)
		}
	}
	if columns < 300 {
		t.Errorf("the band has %d columns, expected at least 300: from 1 to 10 on an axis from 1 to 100", columns)
	}
	p.Bands[0].Low = nil
	must.Fail(t, Curves(path, []Panel{p}), "area: 4, 0 and 4 coordinates")
}
