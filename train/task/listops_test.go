package task

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/generate"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// The files of the generator are a data set. Expressions are truncated to 2047 symbols.
func TestGeneratedListOps(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, generate.ListOps(t.Context(), dir, 60, 10, func(string, int) {}))
	lines, labels, err := readListOps(filepath.Join(dir, "basic_train.tsv"))
	must.Do(t, err)
	d := mustLoad(t, "listops", Options{Dir: dir})
	if d.Train.Len() != 60 || d.Val.Len() != 10 || d.Test.Len() != 10 || d.Vocab != 18 || d.Channels != 0 || d.Outputs != 10 || d.MaxLen > 2048 {
		t.Fatalf("%d, %d, %d examples; %+v", d.Train.Len(), d.Val.Len(), d.Test.Len(), d.Info)
	}
	var e dataset.Example
	must.Do(t, d.Train.Example(&e, 3, 0))
	must.Equal(t, e.Len, min(len(lines[3]), 2047)+1, "tokens of example 3, of %d symbols", len(lines[3]))
	must.Equal(t, e.Tokens[e.Len-1], tokenEnd, "last token of example 3")
	must.Equal(t, e.Label, labels[3], "label of example 3")
	if largest := slices.Max(e.Tokens); largest >= 18 {
		t.Errorf("example 3: largest token %d, expected at most 17", largest)
	}
}

func TestListOpsVocabulary(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "basic_train.tsv"), []byte("Source\tTarget\n( ( ( [MAX 2 ) 2 ) ] )\t2\n3\t3\n"))
	write(t, filepath.Join(dir, "basic_test.tsv"), []byte("Source\tTarget\n( ( ( [MIN 3 ) 2 ) ] )\t2\n"))
	d := mustLoad(t, "listops", Options{Dir: dir})
	var e dataset.Example
	must.Do(t, d.Train.Example(&e, 0, 0)) // 2 occurs twice; of the others 3 < X < [MAX
	if want := []int32{6, 3, 3, 5, 2}; !slices.Equal(e.Tokens, want) {
		t.Errorf("tokens %v, expected %v", e.Tokens, want)
	}
	must.Do(t, d.Test.Example(&e, 0, 0))
	if want := []int32{1, 4, 3, 5, 2}; !slices.Equal(e.Tokens, want) {
		t.Errorf("tokens of a test expression %v, expected %v", e.Tokens, want)
	}
	mustFail(t, "no training file", "listops", Options{Dir: filepath.Dir(dir)}, "basic_train.tsv", "long-range-arena")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("Source\tTarget\n[MAX 1 2 ]\tten\n"))
	mustFail(t, "no digit", "listops", Options{Dir: dir}, "basic_val.tsv: line 2")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("Source\tTarget\n"))
	mustFail(t, "a header alone", "listops", Options{Dir: dir}, "basic_val.tsv: no expressions")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("[MAX 1 2 ]\t2\n[MIN 1 2 ]\t1\n"))
	mustFail(t, "no header", "listops", Options{Dir: dir}, "basic_val.tsv: line 1: expected the header")
}
