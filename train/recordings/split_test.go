package recordings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// splitFolder has recordings of 20 speakers.
type splitFolder struct {
	*testing.T
	root string
}

func newSplitFolder(t *testing.T) splitFolder {
	f := splitFolder{t, t.TempDir()}
	for speaker := range 20 {
		for _, class := range []string{"no", "yes", "_unknown_", "_noise_"} {
			for take := range 2 {
				testfiles.Ramp(t, filepath.Join(f.root, fmt.Sprintf("%s/s%02d_%d.wav", class, speaker, take)), 16000, 10, 1)
			}
		}
	}
	return f
}

// splits returns the split of each file.
func (f splitFolder) splits(opt Options) map[string]split {
	f.Helper()
	r := must.Get(Folder(f.Context(), f.root, opt))(f.T)
	of := map[string]split{}
	for i, s := range []Sounds{r.Train, r.Val, r.Test} {
		for _, name := range clipNames(f.root, slices.Concat(s.Words, s.Other, s.Background)) {
			of[name] = split(i)
		}
	}
	return of
}

func count(of map[string]split, to split) (n int) {
	for _, s := range of {
		if s == to {
			n++
		}
	}
	return n
}

// Without lists the hash of the name decides, and does not depend on other files. A speaker is in
// one split.
func TestFolderSplits(t *testing.T) {
	f := newSplitFolder(t)
	hashed := f.splits(Options{Validation: 0.3})
	if n := count(hashed, valSplit); n < 24 || n > 72 {
		t.Errorf("by hash: %d of %d files for validation, expected about 48", n, len(hashed))
	}
	more := f.splits(Options{Validation: 0.5})
	for name, s := range hashed {
		if s == valSplit && more[name] != valSplit {
			t.Errorf("%s is for validation at 0.3, but not at 0.5", name)
		}
	}
	must.Do(t, os.Remove(filepath.Join(f.root, "yes", "s00_0.wav")))
	for name, s := range f.splits(Options{Validation: 0.3}) {
		must.Equal(t, s, hashed[name], "%s: split after another file was removed", name)
	}

	few := f.splits(Options{Validation: 1e-9})
	must.Equal(t, count(few, valSplit), 4, "files for validation of %d, two of each class", len(few))

	for _, group := range []string{"^s[0-9]+", "^s([0-9]+)_"} {
		speakers := f.splits(Options{GroupBy: group, Validation: 0.1})
		in := map[string]split{}
		for name, s := range speakers {
			if strings.HasPrefix(name, "_noise_") {
				must.Equal(t, s, f.splits(Options{})[name], "%s: background is split by hash", name)
				continue
			}
			speaker := strings.Split(filepath.Base(name), "_")[0]
			if first, seen := in[speaker]; seen && first != s {
				t.Errorf("speaker %s is in two splits", speaker)
			}
			in[speaker] = s
		}
		must.Equal(t, count(in, valSplit), 2, "speakers for validation with GroupBy %q", group)
	}
}

// Lists decide where they are.
func TestFolderLists(t *testing.T) {
	f := newSplitFolder(t)
	hashed := f.splits(Options{Validation: 0.3})
	testfiles.Write(t, filepath.Join(f.root, "validation_list.txt"), "no/s03_0.wav\n_unknown_/s03_0.wav\nmaybe/x.wav\n\n")
	testfiles.Write(t, filepath.Join(f.root, "testing_list.txt"), "no/s04_0.wav\n_noise_/s04_0.wav\n")
	for _, group := range []string{"", "^s[0-9]+"} {
		for name, s := range f.splits(Options{GroupBy: group, Validation: 0.3}) {
			want := trainSplit
			switch {
			case name == "no/s03_0.wav" || name == "_unknown_/s03_0.wav":
				want = valSplit
			case name == "no/s04_0.wav" || name == "_noise_/s04_0.wav":
				want = testSplit
			case strings.HasPrefix(name, "_noise_"):
				want = hashed[name]
			}
			must.Equal(t, s, want, "%s: split with lists", name)
		}
	}
	must.Do(t, os.Remove(filepath.Join(f.root, "validation_list.txt")))
	onlyTest := f.splits(Options{Validation: 0.3})
	must.Equal(t, onlyTest["no/s04_0.wav"], testSplit, "split of a listed file")
	must.Equal(t, onlyTest["yes/s07_1.wav"], hashed["yes/s07_1.wav"], "split of a file that is not listed, without a validation list")
}

// A note names the classes without words for validation, unless a model is evaluated.
func TestFolderUnvalidated(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/1", "a/2", "b/1", "b/2", "c/1"} {
		testfiles.Ramp(t, filepath.Join(root, name+".wav"), 16000, 10, 1)
	}
	testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "b/1.wav\n")
	got := must.Get(Folder(t.Context(), root, Options{}))(t).Notes
	must.Equal(t, strings.Join(got, "\n"), "1 recordings for validation are too few to measure the accuracy and to choose a threshold: expected at least 30\nthe validation accuracy does not cover 2 of 3 classes, which have no recordings for validation: a, c", "notes")
	if got = must.Get(Folder(t.Context(), root, Options{Labels: []string{"a", "b", "c"}}))(t).Notes; got != nil {
		t.Errorf("notes %q for evaluation", got)
	}
	testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "a/1.wav\nb/1.wav\nc/1.wav\n")
	got = must.Get(Folder(t.Context(), root, Options{}))(t).Notes
	must.Equal(t, strings.Join(got, "\n"), "3 recordings for validation are too few to measure the accuracy and to choose a threshold: expected at least 30", "notes for words of every class")
}

// Some of the later recordings are for validation, all of a speaker; none if that would be all.
func TestHoldOut(t *testing.T) {
	var clips []Clip
	for i := range 41 {
		clips = append(clips, Clip{Path: fmt.Sprintf("s%02d_%d.wav", i/4, i)})
	}
	train, val := slices.Clone(clips), []Clip{{Path: "given"}}
	must.Do(t, HoldOut(&train, &val, 1, Options{GroupBy: "^s[0-9]+", Validation: 0.3}))
	if n := len(val) - 1; n < 4 || n > 24 || len(train)+n != 41 || train[0].Path != clips[0].Path || val[0].Path != "given" {
		t.Errorf("%d for training, for validation %v", len(train), val)
	}
	for _, a := range val[1:] {
		for _, b := range train[1:] {
			if a.Path[:3] == b.Path[:3] {
				t.Errorf("%s and %s are in different splits", a.Path, b.Path)
			}
		}
	}
	few, none := clips[:1:1], []Clip(nil)
	must.Do(t, HoldOut(&few, &none, 0, Options{Validation: 0.999999}))
	must.Equal(t, fmt.Sprint(len(few), len(none)), "1 0", "clips if all would be held out")
	few = clips[:5:5]
	must.Do(t, HoldOut(&few, &none, 0, Options{Validation: 1e-9}))
	must.Equal(t, fmt.Sprint(len(few), len(none)), "4 1", "clips if none would be held out")
}
