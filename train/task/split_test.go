package task

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/train"
)

// Load reads only the recordings of the requested split: the others are not sound files here.
func TestLoadOneSplit(t *testing.T) {
	files := map[string]string{"train": "0_jo_10.wav", "val": "1_jo_5.wav", "test": "2_jo_0.wav"}
	for split, name := range files {
		root := t.TempDir()
		for _, other := range files {
			testfiles.Write(t, filepath.Join(root, other), "no sound")
		}
		testfiles.Ramp(t, filepath.Join(root, name), 8000, 7, 0)
		var totals []int
		d := mustLoad(t, "fsdd", Options{Dir: root, Split: split, Progress: func(_, total int) { totals = append(totals, total) }})
		if len(totals) != 1 || totals[0] != 1 || d.MaxLen != 7 || (d.Mean != nil) != (split == "train") {
			t.Errorf("%s: progress %v, data %+v", split, totals, d)
		}
		for _, s := range []string{"train", "val", "test"} {
			if _, err := d.Split(s); (err == nil) != (s == split) {
				t.Errorf("%s loaded, %s asked for: %v", split, s, err)
			}
		}
		if _, err := load("fsdd", Options{Dir: root, Split: "all"}); err == nil {
			t.Errorf("all: the other files were not read")
		}
	}
	if d := mustLoad(t, "delay", Options{Split: "val"}); d.Train != nil || d.Val == nil || d.Std == nil {
		t.Errorf("delay: %+v", d)
	}
}

func TestLoadStops(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"0_jo_10.wav", "0_jo_11.wav", "0_jo_12.wav"} {
		testfiles.Ramp(t, filepath.Join(root, name), 8000, 7, 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := load("fsdd", Options{Dir: root, Context: ctx, Progress: func(int, int) {
		calls++
		cancel()
	}})
	if !errors.Is(err, train.ErrInterrupted) || calls == 0 {
		t.Errorf("error %v after %d recordings, expected train.ErrInterrupted", err, calls)
	}
}
