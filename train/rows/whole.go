package rows

import (
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// wholeDataset returns the data set of a classification or a regression.
func (s *seriesData) wholeDataset() (*dataset.Dataset, error) {
	d := &dataset.Dataset{Info: s.info}
	splits := map[string][]dataset.Example{}
	targets := make([]dataset.Moments, len(s.opt.Targets))
	for i := range s.records {
		r := &s.records[i]
		d.MaxLen = max(d.MaxLen, r.length)
		for c := range s.columns {
			x := r.channel(c)
			if s.opt.Missing == model.MissingInterpolate {
				interpolate(x)
			} else {
				fillPrevious(x, s.fill[c])
			}
		}
		e := dataset.Example{X: r.x, Len: r.length, Label: r.class, Path: r.id}
		if s.info.Regression {
			e.Label, e.Target = -1, r.target
		}
		splits[r.split] = append(splits[r.split], e)
		for o, v := range r.target {
			if s.info.Regression && r.split == "train" {
				targets[o].Add([]float32{v})
			}
		}
	}
	d.Train, d.Val, d.Test = dataset.InMemory(splits["train"]), dataset.InMemory(splits["val"]), dataset.InMemory(splits["test"])
	if d.Train == nil {
		return d, nil
	}
	d.Mean, d.Std = dataset.MeanStdOf(s.inputs)
	if s.info.Regression {
		d.TargetMean, d.TargetStd = dataset.MeanStdOf(targets)
	}
	return d, nil
}
