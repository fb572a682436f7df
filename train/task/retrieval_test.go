package task

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// aan writes a file in the layout of LRA's Retrieval.
func aan(t *testing.T, dir, split string, lines ...string) {
	t.Helper()
	write(t, filepath.Join(dir, "new_aan_pairs."+split+".tsv"), []byte(strings.Join(lines, "\n")+"\n"))
}

func TestRetrieval(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "tsv_data")
	aan(t, in, "train", "0.0\tA\tB\taab\tc", "1.0\tA\tC\taab\téa", "1\tB\tB\tc\tc")
	aan(t, in, "eval", "0\tX\tA\tz"+strings.Repeat("a", 5000)+"\taab")
	d := mustLoad(t, "retrieval", Options{Dir: dir})
	// a occurs 5 times, c 3, b 2, é once: numbers 3, 4, 5, 6
	if d.Train.Len() != 3 || d.Val.Len() != 1 || d.Vocab != 3+4 || d.Outputs != 2 || !d.Pairs || d.MaxLen != 4000 {
		t.Fatalf("%d and %d examples, %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	if d.Test != nil {
		t.Fatalf("a test set of %d examples, expected none", d.Test.Len())
	}
	var e dataset.Example
	for i, want := range []struct {
		tokens, other []int32
		label         int
	}{
		{[]int32{3, 3, 5, tokenEnd}, []int32{4, tokenEnd}, 0},
		{[]int32{3, 3, 5, tokenEnd}, []int32{6, 3, tokenEnd}, 1},
		{[]int32{4, tokenEnd}, []int32{4, tokenEnd}, 1},
	} {
		must.Do(t, d.Train.Example(&e, i, 0))
		if !slices.Equal(e.Tokens, want.tokens) || !slices.Equal(e.Other, want.other) || e.Label != want.label {
			t.Errorf("pair %d: %v and %v, label %d; expected %v", i, e.Tokens, e.Other, e.Label, want)
		}
		must.Equal(t, e.Len, len(want.tokens), "length of pair %d", i)
	}
	if got := dataset.Lengths(d.Train); !slices.Equal(got, []int{4, 4, 2}) {
		t.Errorf("lengths %v", got)
	}
	must.Do(t, d.Val.Example(&e, 0, 0))
	if e.Len != 4000 || e.Tokens[0] != tokenUnknown || len(e.Other) != 4 {
		t.Fatalf("a long paper: %d tokens, %v …, and %v", e.Len, e.Tokens[:2], e.Other)
	}
	must.Equal(t, e.Tokens[3999], tokenEnd, "last token of a long paper")
	if only := mustLoad(t, "retrieval", Options{Dir: in, Split: "val"}); only.Train != nil || only.Val.Len() != 1 || only.Vocab != d.Vocab {
		t.Errorf("the validation set alone: %+v", only)
	}
}

func TestRetrievalErrors(t *testing.T) {
	for text, want := range map[string]string{
		"0\tA\tB\ta":          "line 1: 4 fields",
		"0\tA\tB\ta\tb\tc":    "line 1: 6 fields",
		"0.5\tA\tB\ta\tb":     `line 1: label "0.5"`,
		"0\tA\tB\ta\tb\n\n\n": "line 2: 1 fields",
	} {
		dir := t.TempDir()
		aan(t, dir, "train", text)
		mustFail(t, text, "retrieval", Options{Dir: dir}, want)
	}
	empty := t.TempDir()
	mustFail(t, "no file", "retrieval", Options{Dir: empty}, "github.com/google-research/long-range-arena")
	must.Do(t, os.WriteFile(filepath.Join(empty, "new_aan_pairs.train.tsv"), nil, 0o666))
	mustFail(t, "no lines", "retrieval", Options{Dir: empty}, ".tsv: no pairs")
}
