package dataset

import (
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A fingerprint depends on the samples in memory, and not on the spelling of the data folder.
func TestFingerprint(t *testing.T) {
	images := func(v byte) *imageSet {
		return &imageSet{
			images:  &rawImages{pixels: []byte{1, 2, 3, v}, channels: 1, labels: []uint8{0, 1}},
			members: []int{1}, length: 2, channels: 1,
		}
	}
	for name, c := range map[string]struct{ a, same, other Set }{
		"series": {
			&tsSet{&series{channels: 1, x: [][]float32{{1, 2}}, labels: []int{3}}, []int{0}},
			&tsSet{&series{channels: 1, x: [][]float32{{9}, {1, 2}}, labels: []int{9, 3}}, []int{1}},
			&tsSet{&series{channels: 1, x: [][]float32{{1, 3}}, labels: []int{3}}, []int{0}},
		},
		"images": {images(7), images(7), images(8)},
		"texts": {
			&tokenSet{tokens: [][]uint16{{1, 2}}, labels: []int{1}},
			&tokenSet{tokens: [][]uint16{{1, 2}}, labels: []int{1}},
			&tokenSet{tokens: [][]uint16{{1, 3}}, labels: []int{1}},
		},
		"pairs": {
			&tokenSet{tokens: [][]uint16{{1}}, others: [][]uint16{{2}}, labels: []int{1}},
			&tokenSet{tokens: [][]uint16{{1}}, others: [][]uint16{{2}}, labels: []int{1}},
			&tokenSet{tokens: [][]uint16{{1}}, others: [][]uint16{{3}}, labels: []int{1}},
		},
	} {
		a := Fingerprint(c.a, Info{}, "data")
		for _, dir := range []string{"data", "a/data", "/a/data", ""} {
			must.Equal(t, Fingerprint(c.same, Info{}, filepath.FromSlash(dir)), a, "%s: fingerprint in %q", name, dir)
		}
		if Fingerprint(c.other, Info{}, "data") == a {
			t.Errorf("%s: other samples have the same fingerprint", name)
		}
	}
}
