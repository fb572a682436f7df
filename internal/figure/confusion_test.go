package figure

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every count and label is in the picture, at the crossing of its row and its column; full cells
// have the colours of hits and misses.
func TestPlotConfusion(t *testing.T) {
	dir := t.TempDir()
	m := Matrix{Title: "Validation", Labels: []string{"yes", "none", "a long label"}, Counts: [][]int{{41, 0, 7}, {0, 53, 0}, {0, 99, 0}}}
	must.Do(t, Confusion(filepath.Join(dir, "a.svg"), m))
	v := readSVG(t, filepath.Join(dir, "a.svg"))
	at := func(text string) [2]float64 {
		t.Helper()
		p, ok := v.texts[text]
		if !ok {
			t.Errorf("there is no text %q", text)
		}
		return p
	}
	if at("41")[1] <= at("53")[1] || at("53")[1] <= at("99")[1] {
		t.Errorf("rows at %v, %v and %v, expected them from top to bottom", at("41"), at("53"), at("99"))
	}
	if at("41")[0] >= at("53")[0] || at("7")[0] <= at("53")[0] {
		t.Errorf("columns at %v, %v and %v, expected them from left to right", at("41"), at("53"), at("7"))
	}
	must.Equal(t, at("41")[1], at("7")[1], "row of 41 at %v, and of 7 at %v", at("41"), at("7"))
	for _, text := range []string{"Validation", "yes", "none", "a long label", "label found", "label of the recording"} {
		at(text)
	}
	if _, ok := v.texts["0"]; ok {
		t.Error("a zero is written")
	}

	must.Do(t, Confusion(filepath.Join(dir, "a.png"), m))
	img := readPNG(t, filepath.Join(dir, "a.png"))
	if n := count(img, blue); n < 1000 {
		t.Errorf("%d blue pixels, expected the full cell on the diagonal", n)
	}
	if n := count(img, orange); n < 1000 {
		t.Errorf("%d orange pixels, expected the full cell beside the diagonal", n)
	}

	many := Matrix{Title: "a title that is wider than the cells", Labels: make([]string, MaxClasses), Counts: make([][]int, MaxClasses)}
	for i := range many.Counts {
		many.Labels[i], many.Counts[i] = fmt.Sprint("label ", i), make([]int, MaxClasses)
	}
	must.Do(t, Confusion(filepath.Join(dir, "many.png"), many))
	if b := readPNG(t, filepath.Join(dir, "many.png")).Bounds(); b.Dx() > 1700 || b.Dy() > 1700 {
		t.Errorf("%d classes: %v", MaxClasses, b)
	}
}
