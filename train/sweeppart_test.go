package train

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The parts of a sweep, joined by Collect, give the table and the models of the undivided sweep,
// also if one of its runs diverges. Until each part is complete, Collect names the missing runs.
func TestSweepParts(t *testing.T) {
	sweep := func(dir string, part Part) Sweep {
		return Sweep{Base: tiny(t, "train.epochs=1").Config, Load: loadEchoes, Dir: dir, Seeds: 1, Part: part,
			Axes: []Axis{{[]string{"optim.lr"}, []string{"0.01", "0.02", "1e30"}}}}
	}
	whole, dir := sweep(t.TempDir(), Part{}), t.TempDir()
	rows := must.Get(whole.Run(t.Context()))(t)
	if len(rows) != 3 || !rows[2].Diverged {
		t.Fatalf("rows %+v, expected three, the last one diverged", rows)
	}
	must.Reject(sweep(filepath.Join(dir, "nowhere"), Part{}).Collect())(t, os.ErrNotExist, "nowhere")
	for i, want := range []int{2, 1} { // rows of each part
		rows := must.Get(sweep(dir, Part{i, 2}).Run(t.Context()))(t)
		must.Equal(t, len(rows), want, "rows of part %d", i)
		if i == 0 {
			must.Reject(sweep(dir, Part{}).Collect())(t, "1 of 3 runs are not complete: 2 (optim.lr=0.02 seed=1)")
		}
	}
	must.Equal(t, len(must.Get(sweep(dir, Part{5, 8}).Run(t.Context()))(t)), 0, "rows of a part without runs")
	collected := sweep(dir, Part{})
	must.Equal(t, len(must.Get(collected.Collect())(t)), 3, "collected rows")
	for _, name := range []string{sweepFile, "optim.lr=0.02,seed=1/best.safetensors"} {
		read := func(dir string) []byte { return must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t) }
		if !bytes.Equal(read(dir), read(whole.Dir)) {
			t.Errorf("%s: %s, expected that of the undivided sweep: %s", name, read(dir), read(whole.Dir))
		}
	}
}

func TestParsePart(t *testing.T) {
	if p, err := ParsePart("7/8"); err != nil || p != (Part{7, 8}) {
		t.Errorf("%v, %v", p, err)
	}
	for _, text := range []string{"", "1", "8/8", "-1/8", "0/0", "a/b", "1/2/3", " 0/1", "0/"} {
		must.Reject(ParsePart(text))(t, ErrConfig, "expected I/N")
	}
}
