package task

import (
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A fingerprint depends on the samples in memory, and not on the spelling of the data folder.
func TestFingerprint(t *testing.T) {
	images := func(v byte) *imageSet {
		return &imageSet{
			images:  &rawImages{pixels: []byte{1, v}, channels: 1, labels: []uint8{0, 1}},
			members: []int{1}, side: 1,
		}
	}
	memory := func(x ...float32) dataset.Set {
		return must.Get(dataset.FromSlices(dataset.Info{Channels: 1}, []dataset.Example{{X: x, Label: 3}}, nil, nil))(t).Train
	}
	for name, c := range map[string]struct{ a, same, other dataset.Set }{
		"series": {memory(1, 2), memory(1, 2), memory(1, 3)},
		"images": {images(7), images(7), images(8)},
	} {
		a := dataset.Fingerprint(c.a, dataset.Info{}, "data")
		for _, dir := range []string{"data", "a/data", "/a/data", ""} {
			must.Equal(t, dataset.Fingerprint(c.same, dataset.Info{}, filepath.FromSlash(dir)), a, "%s: fingerprint in %q", name, dir)
		}
		if dataset.Fingerprint(c.other, dataset.Info{}, "data") == a {
			t.Errorf("%s: other samples have the same fingerprint", name)
		}
	}
}
