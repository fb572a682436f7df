package figure

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Values that differ by rounding only, and those at the ends of the range of float64, give a plot.
func TestExtremeValues(t *testing.T) {
	for _, y := range [][]float64{
		{1, math.Nextafter(1, 2)}, {-math.Nextafter(1, 2), -1}, {1e16, 1e16 + 2}, {1e300, math.Nextafter(1e300, 2e300)},
		{math.MaxFloat64, -math.MaxFloat64}, {5e-324, 1e-323}, {-5e-324, 0},
	} {
		for _, logarithmic := range []bool{false, true} {
			panel := Panel{X: "x", Y: "y", LogX: logarithmic, LogY: logarithmic, Curves: []Curve{{X: y, Y: y}}}
			must.Do(t, Curves(filepath.Join(t.TempDir(), "y.svg"), []Panel{panel}))
		}
		p := PolePlane{Panels: []Poles{{Poles: []complex128{0.5, 0.6i}, Value: y}}, Floor: math.Inf(-1)}
		must.Do(t, p.Save(filepath.Join(t.TempDir(), "p.svg")))
	}
}

// The labels of an axis whose values differ by rounding only differ.
func TestNarrowAxis(t *testing.T) {
	path := filepath.Join(t.TempDir(), "y.svg")
	must.Do(t, Curves(path, []Panel{{Curves: []Curve{{X: []float64{1, 2}, Y: []float64{3, math.Nextafter(3, 4)}}}}}))
	text := readSVG(t, path)
	text.at("2.99998")
	text.at("3")
	text.at("3.00002")
}

// Long names do not make a PNG of any size.
func TestCanvasIsBounded(t *testing.T) {
	m := Matrix{Labels: []string{strings.Repeat("word ", 4000), "b"}, Counts: [][]int{{1, 2}, {3, 4}}}
	path := filepath.Join(t.TempDir(), "m.png")
	must.Fail(t, Confusion(path, m), path, "pixels", fmt.Sprint(maxPixels))
}
