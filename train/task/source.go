package task

import (
	"iter"
	"path/filepath"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// split is the training, validation or test part of a data set.
type split string

const (
	trainSplit split = "train"
	valSplit   split = "val"
	testSplit  split = "test"
)

// splits iterates over the sets of a data set.
func splits(d *dataset.Dataset) iter.Seq2[split, *dataset.Set] {
	return func(yield func(split, *dataset.Set) bool) {
		_ = yield(trainSplit, &d.Train) && yield(valSplit, &d.Val) && yield(testSplit, &d.Test)
	}
}

// includes reports whether a split is requested.
func (s Source) includes(part split) bool {
	return s.Split == "" || s.Split == "all" || s.Split == string(part)
}

// restrict removes the splits that are not requested.
func (s Source) restrict(d *dataset.Dataset) {
	d.MaxLen = 0
	for part, set := range splits(d) {
		if !s.includes(part) {
			*set = nil
		}
		if *set != nil {
			d.MaxLen = max(d.MaxLen, slices.Max(dataset.Lengths(*set)))
		}
	}
	if d.Train == nil {
		d.Mean, d.Std, d.TargetMean, d.TargetStd = nil, nil, nil, nil
	}
}

func (s Source) progress(done, total int) {
	if s.Progress != nil {
		s.Progress(done, total)
	}
}

// folderIn returns the folder inner of dir, or dir if it has none.
func folderIn(dir, inner string) (string, error) {
	path := filepath.Join(dir, inner)
	isFolder, err := datafile.IsFolder(path)
	if !isFolder {
		path = dir
	}
	return path, err
}

// identity returns 0, 1, …, n−1.
func identity(n int) []int {
	r := make([]int, n)
	for i := range r {
		r[i] = i
	}
	return r
}
