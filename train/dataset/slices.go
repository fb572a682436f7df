package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// FromSlices returns the data set of examples in memory. Val and test may be empty. It computes
// MaxLen, Mean and Std, and the TargetMean and TargetStd of a regression. Where Outputs or Vocab is
// 0 in info, the examples determine it: Outputs is the number of labels, the largest class plus 1,
// or the number of values in a target, and Vocab is the largest token plus 1. Otherwise a larger
// class or token is an error. If the Len of an example is 0, it is set from X or Tokens. If an
// example does not fit, the error states its set and index. The data set keeps the slices of the
// examples, which must not change.
func FromSlices(info Info, train, val, test []Example) (*Dataset, error) {
	if len(train) == 0 {
		return nil, errors.New("dataset: no training examples, expected at least one")
	}
	if info.Channels < 0 || info.Pairs && info.Channels > 0 || info.Pairs && info.PerPosition {
		return nil, fmt.Errorf("dataset: Channels %d, Pairs %t, PerPosition %t: expected at least 0 channels, and pairs of sequences of tokens with one target each",
			info.Channels, info.Pairs, info.PerPosition)
	}
	if info.Channels == 0 && len(train[0].X) > 0 && len(train[0].Tokens) == 0 {
		return nil, fmt.Errorf("dataset: training example 0 has %d samples, but Info.Channels is 0, which is for tokens", len(train[0].X))
	}
	parts := []*memory{{slices.Clone(train)}, {slices.Clone(val)}, {slices.Clone(test)}}
	given := info
	for _, s := range parts {
		for i := range s.examples {
			info.include(&s.examples[i], given)
		}
	}
	for p, s := range parts {
		for i := range s.examples {
			e := &s.examples[i]
			if info.Regression {
				e.Label = -1
			}
			if err := info.Check(e); err != nil {
				return nil, fmt.Errorf("dataset: %s example %d: %w", []string{"training", "validation", "test"}[p], i, err)
			}
		}
	}
	d := &Dataset{Info: info, Train: parts[0], Val: InMemory(parts[1].examples), Test: InMemory(parts[2].examples)}
	parts[0].moments(d)
	return d, nil
}

// include sets e.Len. It also increases the fields of i that are 0 in given, so that they cover e.
func (i *Info) include(e *Example, given Info) {
	if e.Len == 0 && i.Channels > 0 {
		e.Len = len(e.X) / i.Channels
	}
	if i.Channels == 0 {
		e.Len = cmp.Or(e.Len, len(e.Tokens))
		for _, tokens := range [][]int32{e.Tokens, e.Other} {
			for _, v := range tokens {
				if given.Vocab == 0 {
					i.Vocab = max(i.Vocab, int(v)+1)
				}
			}
		}
	}
	i.MaxLen = max(i.MaxLen, e.Len, len(e.Other))
	switch {
	case given.Outputs != 0:
	case len(i.Labels) > 0:
		i.Outputs = len(i.Labels)
	case i.Regression && i.Outputs == 0:
		i.Outputs = len(e.Target) / i.positions(e)
	case i.PerPosition:
		for _, label := range e.Labels {
			i.Outputs = max(i.Outputs, int(label)+1)
		}
	case !i.Regression:
		i.Outputs = max(i.Outputs, e.Label+1)
	}
}

type memory struct{ examples []Example }

// InMemory returns a set of examples that fit their description, or nil if there are none.
func InMemory(examples []Example) Set {
	if len(examples) == 0 {
		return nil
	}
	return &memory{examples}
}

func (s *memory) Len() int { return len(s.examples) }

func (s *memory) Length(i int) int { return max(s.examples[i].Len, len(s.examples[i].Other)) }

func (s *memory) Example(dst *Example, i, _ int) error {
	e := &s.examples[i]
	*dst = Example{
		X: append(dst.X[:0], e.X...), Tokens: append(dst.Tokens[:0], e.Tokens...), Other: append(dst.Other[:0], e.Other...), Len: e.Len,
		Label: e.Label, Labels: append(dst.Labels[:0], e.Labels...), Target: append(dst.Target[:0], e.Target...), Path: e.Path,
	}
	return nil
}

// Identity identifies an example by everything that is in memory.
func (s *memory) Identity(i int) Identity {
	e := &s.examples[i]
	return Identity{Label: e.Label, Path: e.Path, Samples: []any{e.X, e.Target, e.Tokens, e.Other, e.Labels}}
}

// moments sets the moments of the inputs, and of the targets of a regression.
func (s *memory) moments(d *Dataset) {
	inputs, targets := make([]Moments, d.Channels), make([]Moments, d.Outputs)
	for i := range s.examples {
		e := &s.examples[i]
		for c := range inputs {
			inputs[c].Add(e.X[c*e.Len : (c+1)*e.Len])
		}
		for o := range targets {
			for n, k := d.positions(e), 0; d.Regression && k < n; k++ {
				if v := e.Target[o*n+k]; v == v { // NaN is not scored
					targets[o].Add([]float32{v})
				}
			}
		}
	}
	d.Mean, d.Std = MeanStdOf(inputs)
	if d.Regression {
		d.TargetMean, d.TargetStd = MeanStdOf(targets)
	}
}
