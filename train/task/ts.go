package task

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

func init() {
	register(Task{
		name:    "ts",
		source:  "data sets of time series are published at www.timeseriesclassification.com and tseregression.org; pass a folder with NAME_TRAIN.ts and NAME_TEST.ts",
		options: noOptions(loadTS),
	})
}

const (
	minValidation = 30  // series: fewer are too few to select an epoch
	augmentBelow  = 500 // series
)

// loadTS loads a data set in the .ts format. PyTorch's random_split with seed 42 selects a tenth of
// the training file as the validation set, unless that is too small: then all series are for
// training. The test file is the test set.
func loadTS(_ context.Context, src Source) (*dataset.Dataset, error) {
	train, test, err := readTS(src)
	if err != nil {
		return nil, err
	}
	n := len(train.Examples)
	training, val := train.Examples, []dataset.Example(nil)
	if n/10 >= minValidation {
		parts := dataset.RandomSplit(42, n-n/10, n/10)
		training, val = pick(train.Examples, parts[0]), pick(train.Examples, parts[1])
	}
	d, err := tsDataset(train, training, val, test.Examples)
	if err != nil {
		return nil, err
	}
	d.EpochSteps = 30 // at least 1,500 steps in the epochs of the preset
	d.Notes = slices.Compact(slices.Concat(train.Notes, test.Notes))
	if val == nil {
		d.Val, d.NoValidation = d.Train, true
		if src.Split == "val" || src.Split == "all" {
			d.Notes = append(d.Notes, fmt.Sprintf("%d series are too few for a validation set: it has the training examples; --split test measures others", n))
		}
	}
	if n < augmentBelow && !d.Regression {
		rows.Augment(d, src.Seed)
	}
	src.restrict(d)
	return d, nil
}

// pick returns some of the examples.
func pick(all []dataset.Example, members []int) (examples []dataset.Example) {
	for _, i := range members {
		examples = append(examples, all[i])
	}
	return examples
}

// tsDataset returns a data set. like describes the examples.
func tsDataset(like *rows.TS, train, val, test []dataset.Example) (*dataset.Dataset, error) {
	return dataset.FromSlices(dataset.Info{Channels: like.Channels, Regression: like.Regression, Labels: like.Classes}, train, val, test)
}

// readTS reads the training and the test file of a folder.
func readTS(src Source) (train, test *rows.TS, err error) {
	names, err := fs.Glob(os.DirFS(src.Dir), "*_TRAIN.ts") // the folder's name is not part of the pattern
	if err != nil {
		return nil, nil, err
	}
	if len(names) != 1 {
		return nil, nil, datafile.NoData("data folder %s contains %d files *_TRAIN.ts, expected one", src.Dir, len(names))
	}
	path := filepath.Join(src.Dir, names[0])
	if train, err = rows.ReadTS(path); err != nil {
		return nil, nil, err
	}
	if test, err = rows.ReadTS(strings.TrimSuffix(path, "_TRAIN.ts") + "_TEST.ts"); err != nil {
		return nil, nil, err
	}
	if train.Channels != test.Channels || train.Regression != test.Regression {
		return nil, nil, fmt.Errorf("%s and %s differ in their channels or in what they predict, expected the same", train.Path, test.Path)
	}
	for i := range test.Examples { // the classes may be listed in another order
		if e := &test.Examples[i]; !test.Regression {
			class := test.Classes[e.Label]
			if e.Label = train.Class(class); e.Label < 0 {
				return nil, nil, fmt.Errorf("%s: class %q, expected one of %s as in %s", test.Path, class, suggest.List(train.Classes), train.Path)
			}
		}
	}
	return train, test, nil
}
