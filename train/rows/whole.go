package rows

import (
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// wholeDataset returns the data set of a classification or a regression.
func (s *seriesData) wholeDataset() (*dataset.Dataset, error) {
	d := &dataset.Dataset{Info: s.info}
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
	}
	for _, p := range []struct {
		name string
		dst  *dataset.Set
	}{{"train", &d.Train}, {"val", &d.Val}, {"test", &d.Test}} {
		set := &wholeSet{seriesData: s}
		for i := range s.records {
			if s.records[i].split == p.name {
				set.members = append(set.members, i)
			}
		}
		if len(set.members) > 0 {
			*p.dst = set
		}
	}
	trained, ok := d.Train.(*wholeSet)
	if !ok {
		return d, nil
	}
	d.Mean, d.Std = dataset.MeanStdOf(s.inputs)
	if !s.info.Regression {
		return d, nil
	}
	targets := make([]dataset.Moments, len(s.opt.Targets))
	for _, i := range trained.members {
		for o, v := range s.records[i].target {
			targets[o].Add([]float32{v})
		}
	}
	d.TargetMean, d.TargetStd = dataset.MeanStdOf(targets)
	return d, nil
}

// wholeSet is a split of series with one target each.
type wholeSet struct {
	*seriesData
	members []int
}

func (s *wholeSet) Len() int { return len(s.members) }

func (s *wholeSet) Length(i int) int { return s.records[s.members[i]].length }

func (s *wholeSet) Example(dst *dataset.Example, i, _ int) error {
	r := &s.records[s.members[i]]
	*dst = dataset.Example{X: append(dst.X[:0], r.x...), Tokens: dst.Tokens[:0], Len: r.length, Label: -1, Target: dst.Target[:0], Path: r.id}
	if s.info.Regression {
		dst.Target = append(dst.Target, r.target...)
	} else {
		dst.Label = r.class
	}
	return nil
}

// Identity identifies a series by its ID, its values and its target.
func (s *wholeSet) Identity(i int) dataset.Identity {
	r := &s.records[s.members[i]]
	id := dataset.Identity{Label: r.class, Samples: []any{[]byte(r.id), r.x}}
	if s.info.Regression {
		id = dataset.Identity{Label: -1, Samples: append(id.Samples, r.target)}
	}
	return id
}
