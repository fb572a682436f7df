package train

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A run is resumed with the data that it began with, in whatever folder they are.
func TestOtherData(t *testing.T) {
	data := func(dir string, change func(train, val, test []dataset.Example) ([]dataset.Example, []dataset.Example, []dataset.Example)) *dataset.Dataset {
		clip := func(name string, label int) dataset.Example {
			return dataset.Example{X: slices.Repeat([]float32{1, -1}, 20), Label: label, Path: filepath.Join(dir, name)}
		}
		train := []dataset.Example{clip("a", 0), clip("b", 1), clip("c", 0)}
		val, test := []dataset.Example{clip("d", 2)}, []dataset.Example{clip("e", 0)}
		if change != nil {
			train, val, test = change(train, val, test)
		}
		d := must.Get(dataset.FromSlices(dataset.Info{Channels: 1, Outputs: 3}, train, val, test))(t)
		d.Dir = dir
		return d
	}
	cfg := digits(t)
	cfg.data = data("here", nil)
	newTrainer(t, cfg).Close()
	cfg.Resume = true
	cfg.data = data("moved", nil)
	newTrainer(t, cfg).Close()
	for _, c := range []struct {
		want   string
		change func(train, val, test []dataset.Example)
		longer bool
	}{
		{"4 training examples, expected 3", nil, true},
		{"the 3 training examples have other names", func(train, _, _ []dataset.Example) { train[0].Path = "moved/x" }, false},
		{"the 3 training examples have other names, labels, lengths or values", func(train, _, _ []dataset.Example) { train[1].X = train[1].X[:30] }, false},
		{"the 3 training examples have other", func(train, _, _ []dataset.Example) { train[1].X[3] = 0.5 }, false},
		{"the 1 validation examples have other", func(_, val, _ []dataset.Example) { val[0].Label = 1 }, false},
		{"the 1 test examples have other names", func(_, _, test []dataset.Example) { test[0].Path = "moved/x" }, false},
	} {
		cfg.data = data("moved", func(train, val, test []dataset.Example) ([]dataset.Example, []dataset.Example, []dataset.Example) {
			if c.longer {
				return append(train, train[0]), val, test
			}
			c.change(train, val, test)
			return train, val, test
		})
		must.Reject(start(t.Context(), cfg))(t, ErrConfig, c.want, cfg.Out)
	}
}
