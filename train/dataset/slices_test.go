package dataset

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestFromSlices(t *testing.T) {
	train := []Example{{X: []float32{1, 2, 3, 10, 10, 10}, Label: 1}, {X: []float32{6, 10}, Label: 0, Path: "a"}}
	val := []Example{{X: []float32{0, 0, 0, 0, 0, 0, 0, 0}, Label: 2}}
	d := must.Get(FromSlices(Info{Name: "two", Channels: 2}, train, val, nil))(t)
	must.Equal(t, d.Outputs, 3, "outputs")
	must.Equal(t, d.MaxLen, 4, "longest")
	if d.Test != nil {
		t.Errorf("test set %v, expected none", d.Test)
	}
	if !slices.Equal(d.Mean, []float32{3, 10}) || d.Std[1] != 1 || math.Abs(float64(d.Std[0])-math.Sqrt(3.5)) > 1e-6 {
		t.Errorf("mean %v, std %v, expected 3, 10 and √3.5, 1", d.Mean, d.Std)
	}
	var e Example
	must.Do(t, d.Train.Example(&e, 1, 0))
	if e.Len != 1 || e.Path != "a" || !slices.Equal(e.X, []float32{6, 10}) {
		t.Errorf("second example %+v", e)
	}
	e.X[0] = 99 // the caller's, not the set's
	must.Do(t, d.Train.Example(&e, 1, 0))
	must.Equal(t, e.X[0], 6, "first sample of the second example, read again")
	must.Equal(t, train[1].Len, 0, "length of the caller's example, which stays as it was")

	words := must.Get(FromSlices(Info{Pairs: true, Labels: []string{"x", "y"}}, []Example{{Tokens: []int32{4}, Other: []int32{1, 9}}}, nil, nil))(t)
	if words.Vocab != 10 || words.Outputs != 2 || words.Mean != nil || words.Train.Length(0) != 2 {
		t.Errorf("pairs of tokens: %+v, expected 10 tokens and 2 outputs", words.Info)
	}

	targets := []Example{{X: []float32{1, 2}, Target: []float32{10, 20, 5, float32(math.NaN())}}, {X: []float32{3}, Target: []float32{30, 5}}}
	r := must.Get(FromSlices(Info{Channels: 1, Regression: true, PerPosition: true}, targets, nil, nil))(t)
	if r.Outputs != 2 || !slices.Equal(r.TargetMean, []float32{20, 5}) || r.TargetStd[1] != 1 {
		t.Errorf("targets of mean %v, std %v, of %d outputs; expected 20 and 5 of 2", r.TargetMean, r.TargetStd, r.Outputs)
	}
	f := must.Get(FromSlices(Info{Channels: 1, PerPosition: true}, []Example{{X: []float32{1, 2}, Labels: []int32{-1, 4}}}, nil, nil))(t)
	must.Equal(t, f.Outputs, 5, "classes of positions")
}

func TestFromSlicesErrors(t *testing.T) {
	x := []float32{1, 2}
	nan := float32(math.NaN())
	good := Example{X: x}
	for want, c := range map[string]struct {
		info Info
		e    Example
	}{
		"length 0, expected 1":                     {Info{Channels: 1}, Example{}},
		"2 samples and 0 tokens, expected 1 and 0": {Info{Channels: 1}, Example{X: x, Len: 1}},
		"length 0, expected 1 … ":                  {Info{Channels: 3}, Example{X: x}},
		"2 samples and 1 tokens, expected 0 and 1": {Info{}, Example{X: x, Tokens: []int32{1}}},
		"token 1 is 3, expected 0 to 2":            {Info{Vocab: 3}, Example{Tokens: []int32{2, 3}}},
		"label 3, expected 0 … 2":                  {Info{Channels: 1, Outputs: 3}, Example{X: x, Label: 3}},
		"label 4 at position 1, expected −1 … 3":   {Info{Channels: 1, Outputs: 4, PerPosition: true}, Example{X: x, Labels: []int32{3, 4}}},
		"token 1 is -1":                            {Info{}, Example{Tokens: []int32{1, -1}}},
		"a second sequence of 1 tokens":            {Info{}, Example{Tokens: []int32{1}, Other: []int32{1}}},
		"a second sequence of 0 tokens":            {Info{Pairs: true}, Example{Tokens: []int32{1}}},
		"sample 1 is NaN":                          {Info{Channels: 1}, Example{X: []float32{0, nan}}},
		"target 0 is NaN":                          {Info{Channels: 1, Regression: true}, Example{X: x, Target: []float32{nan}}},
		"0 target values, expected 1":              {Info{Channels: 1, Regression: true}, Example{X: x}},
		"3 target values, expected 2":              {Info{Channels: 1, Regression: true, Outputs: 2}, Example{X: x, Target: []float32{1, 2, 3}}},
		"label -1, expected 0 … 1":                 {Info{Channels: 1, Outputs: 2}, Example{X: x, Label: -1}},
		"label 2, expected 0 … 1":                  {Info{Channels: 1, Labels: []string{"a", "b"}}, Example{X: x, Label: 2}},
		"1 labels, expected one for each of 2":     {Info{Channels: 1, PerPosition: true}, Example{X: x, Labels: []int32{1}}},
		"label -2 at position 0, expected −1 … ":   {Info{Channels: 1, PerPosition: true}, Example{X: x, Labels: []int32{-2, 3}}},
	} {
		must.Reject(FromSlices(c.info, []Example{c.e}, nil, nil))(t, want, "training example 0")
	}
	must.Reject(FromSlices(Info{Channels: 1}, []Example{good}, nil, []Example{good, {}}))(t, "test example 1")
	must.Reject(FromSlices(Info{Channels: 1}, nil, nil, nil))(t, "no training examples")
	must.Reject(FromSlices(Info{Channels: -1}, []Example{good}, nil, nil))(t, "Channels -1")
}

func TestSplit(t *testing.T) {
	d := must.Get(FromSlices(Info{Channels: 1}, []Example{{X: []float32{1}}}, []Example{{X: []float32{2, 3}}}, nil))(t)
	must.Equal(t, slices.Equal(Lengths(must.Get(d.Split("all"))(t)), []int{1, 2}), true, "lengths of both sets")
	must.Reject(d.Split("test"))(t, "there are no test examples")
	must.Reject(d.Split("dev"))(t, `unknown split "dev"`)
}
