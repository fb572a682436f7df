package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/task"
)

func TestPrintConfusion(t *testing.T) {
	c := &task.Confusion{
		Labels: []string{"yes", "größer", "none"},
		Counts: [][]int{{38, 1, 3}, {0, 40, 0}, {0, 2, 27}},
		Mistakes: []task.Mistake{
			{Path: "a/1.wav", Label: "yes", Found: "größer", Peaks: []float32{0.125, 0.999, 1}},
			{Path: "a/\x1b[2J", Label: "yes", Found: "none", Peaks: []float32{0.25, 0, 1}},
		},
	}
	var out bytes.Buffer
	printConfusion(&out, c)
	want := `
Validation clips: 78 of 82 right (95.1 %); other words: 27 of 29 right.
Rows: label of the recording; columns: label found.
           yes  größer  none
     yes    38       1     3   90.5 %
  größer     .      40     .  100.0 %
    none     .       2    27   93.1 %

Worst mistakes (2 of 2), with the largest probability of both labels:
  a/1.wav: yes (0.12), found größer (1.00)
  a/\x1b[2J: yes (0.25), found none
`
	if out.String() != want {
		t.Errorf("printed\n%s\nexpected\n%s", out.String(), want)
	}
	out.Reset()
	many := &task.Confusion{Labels: make([]string, 201), Counts: make([][]int, 201)}
	for i := range many.Counts {
		many.Counts[i] = make([]int, 201)
	}
	many.Counts[0][0] = 7
	printConfusion(&out, many)
	if got := out.String(); strings.Contains(got, "columns") || strings.Contains(got, "mistakes") || !strings.Contains(got, "7 of 7 right") {
		t.Errorf("201 labels without mistakes: %q, expected one line", got)
	}
	path := filepath.Join(t.TempDir(), "confusion.png")
	out.Reset()
	must.Do(t, drawConfusion(&out, path, many))
	must.Equal(t, out.String(), "\nNo plot: there are 201 labels, and a plot shows at most 200.\n", "printed")
	out.Reset()
	must.Do(t, drawConfusion(&out, path, &task.Confusion{Labels: []string{"yes", "none"}, Counts: [][]int{{3, 1}, {0, 2}}}))
	must.Equal(t, out.String(), "\nPlot: "+path+"\n", "printed")
	if !bytes.HasPrefix(read(t, path), []byte("\x89PNG")) {
		t.Errorf("%s is not a PNG file", path)
	}
}
