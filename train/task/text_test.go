package task

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// reviews writes n reviews per class.
func reviews(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		write(t, filepath.Join(dir, "neg", fmt.Sprintf("%d_1.txt", i)), []byte("bad"))
		write(t, filepath.Join(dir, "pos", fmt.Sprintf("%d_9.txt", i)), []byte("good é"))
	}
}

func TestText(t *testing.T) {
	dir := t.TempDir()
	reviews(t, filepath.Join(dir, "aclImdb", "train"), 20)
	whole := mustLoad(t, "text", Options{Dir: dir})
	if whole.Train.Len() != 36 || whole.Val.Len() != 4 {
		t.Fatalf("%d, %d examples without a test folder, expected 36, 4", whole.Train.Len(), whole.Val.Len())
	}
	if whole.Test != nil {
		t.Fatalf("a test set of %d examples, expected none", whole.Test.Len())
	}
	// d and o occur 40 times, the others (space a b g é) 20 times.
	if whole.Vocab != 3+7 || whole.Outputs != 2 || whole.MaxLen != 7 || whole.Channels != 0 {
		t.Errorf("%+v", whole.Info)
	}
	reviews(t, filepath.Join(dir, "aclImdb", "test"), 1)
	write(t, filepath.Join(dir, "aclImdb", "test", "pos", "long.txt"), []byte(strings.Repeat("go!", 3000)))
	d := mustLoad(t, "text", Options{Dir: dir})
	if d.Train.Len() != 40 || d.Val.Len() != 3 || d.Test.Len() != 3 || d.MaxLen != 4096 {
		t.Fatalf("%d, %d, %d examples, MaxLen %d", d.Train.Len(), d.Val.Len(), d.Test.Len(), d.MaxLen)
	}
	var e dataset.Example
	must.Do(t, d.Test.Example(&e, 1, 0))
	if want := []int32{8, 4, 4, 3, 5, 9, 2}; e.Label != 1 || !slices.Equal(e.Tokens, want) || filepath.Base(e.Path) != "0_9.txt" {
		t.Errorf("%s: label %d, tokens %v, expected %v", e.Path, e.Label, e.Tokens, want)
	}
	must.Do(t, d.Test.Example(&e, 2, 0))
	if e.Len != 4096 || e.Tokens[2] != tokenUnknown {
		t.Fatalf("a long review: %d tokens, %v …", e.Len, e.Tokens[:4])
	}
	must.Equal(t, e.Tokens[4095], tokenEnd, "last token of a long review")
	all, err := mustLoad(t, "text", Options{Dir: dir, Split: "all"}).Split("all")
	if err != nil || all.Len() != 43 {
		t.Errorf("all examples: %d, expected 43: the test set is the validation set too; error %v", all.Len(), err)
	}
	if only := mustLoad(t, "text", Options{Dir: dir, Split: "test"}); only.Train != nil || only.Test.Len() != 3 || only.Vocab != d.Vocab {
		t.Errorf("the test set alone: %+v", only)
	}
	mustFail(t, "no reviews", "text", Options{Dir: t.TempDir()}, "ai.stanford.edu")
	os.RemoveAll(filepath.Join(dir, "aclImdb", "train", "pos"))
	mustFail(t, "no class", "text", Options{Dir: dir}, "pos")
}
