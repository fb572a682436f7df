package convmode

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

func TestNewErrors(t *testing.T) {
	m := newModel(t, tiny())
	bad := *m
	bad.Config.Pool = "median"
	for _, c := range []struct {
		name string
		m    *model.Model
		o    Options
		want string
	}{
		{"no model", nil, Options{MaxBatch: 1, MaxLen: 1}, "convmode: no model"},
		{"no weights", &model.Model{Config: m.Config}, Options{MaxBatch: 1, MaxLen: 1}, "convmode: no model"},
		{"configuration", &bad, Options{MaxBatch: 1, MaxLen: 1}, `"median"`},
		{"batch", m, Options{MaxLen: 1}, "convmode: MaxBatch 0, expected at least 1"},
		{"length", m, Options{MaxBatch: 1, MaxLen: -4}, "convmode: MaxLen -4, expected at least 1"},
		{"workers", m, Options{MaxBatch: 1, MaxLen: 1, Workers: -1}, "convmode: Workers -1, expected 0 or more"},
		{"step scale", m, Options{MaxBatch: 1, MaxLen: 1, StepScale: -1}, "convmode: StepScale -1: expected 1/1024 to 1024"},
		{"NaN step scale", m, Options{MaxBatch: 1, MaxLen: 1, StepScale: math.NaN()}, "convmode: StepScale NaN: expected 1/1024 to 1024"},
		{"infinite step scale", m, Options{MaxBatch: 1, MaxLen: 1, StepScale: math.Inf(1)}, "convmode: StepScale +Inf: expected 1/1024 to 1024"},
		{"fixed", m, Options{MaxBatch: 1, MaxLen: 1, Fixed: true, Training: true}, "convmode: Fixed and Training"},
		{"size", m, Options{MaxBatch: 1 << 30, MaxLen: 1 << 30}, "convmode: an array of MaxBatch 1073741824"},
	} {
		must.Reject(New(c.m, c.o))(t, c.want)
	}
}

// Check returns the error that Forward panics with.
func TestCheck(t *testing.T) {
	words := tiny()
	words.Encoder, words.DInput = model.EncoderEmbedding, 5
	tokens := newNet(t, newModel(t, words), Options{MaxBatch: 2, MaxLen: 8})
	n := newNet(t, newModel(t, tiny()), Options{MaxBatch: 2, MaxLen: 8})
	x := noise(1, 100)
	for _, c := range []struct {
		n    *Net
		b    Batch
		want string
	}{
		{n, Batch{Len: 8}, "batch of 0 sequences, expected 1 to 2"},
		{n, Batch{Size: 3, Len: 8, X: x[:48]}, "batch of 3 sequences, expected 1 to 2"},
		{n, Batch{Size: 1, Len: 9, X: x[:18]}, "sequences of length 9, expected 1 to 8"},
		{n, Batch{Size: 1}, "sequences of length 0, expected 1 to 8"},
		{n, Batch{Size: 1, Len: 8, X: x[:15]}, "15 input values, expected 1 × 2 × 8"},
		{n, Batch{Size: 1, Len: 8, X: x[:16], Lengths: []int{1, 2}}, "2 lengths, expected one for each of 1 sequences"},
		{n, Batch{Size: 1, Len: 8, X: x[:16], Lengths: []int{9}}, "length 9 of sequence 0, expected 1 to 8"},
		{n, Batch{Size: 1, Len: 8, X: x[:16], Lengths: []int{0}}, "length 0 of sequence 0, expected 1 to 8"},
		{tokens, Batch{Size: 1, Len: 8, Tokens: make([]int32, 7)}, "7 tokens, expected 1 × 8"},
		{tokens, Batch{Size: 2, Len: 2, Tokens: []int32{0, 4, 1, 5}}, "token 3 is 5, expected 0 to 4"},
		{tokens, Batch{Size: 1, Len: 2, Tokens: []int32{-1, 4}}, "token 0 is -1, expected 0 to 4"},
	} {
		must.Fail(t, c.n.Check(c.b), "convmode: "+c.want)
		mustPanic(t, func() { c.n.Forward(c.b) }, "convmode: "+c.want)
	}
	must.Do(t, tokens.Check(Batch{Size: 2, Len: 2, Tokens: []int32{4, 0, 1, 3}}))
}

func mustPanic(t *testing.T, f func(), want string) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); !strings.HasPrefix(got, want) {
			t.Errorf("panic %q, expected %q", got, want)
		}
	}()
	f()
}

func TestPanics(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 8, Training: true})
	inference := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 8})
	b, grads := Batch{Size: 1, Len: 8, X: noise(1, 16)}, model.NewWeights(c)
	d := noise(2, 4)
	train := func() { n.ForwardTrain(b, Step{}) }
	backward := func() { n.Backward(d[:3], grads) }
	all := func(list ...func()) func() {
		return func() {
			for _, f := range list {
				f()
			}
		}
	}
	const early = "convmode: Backward without a ForwardTrain"
	mustPanic(t, backward, early)
	mustPanic(t, func() { inference.ForwardTrain(b, Step{}) }, "convmode: ForwardTrain of a Net without Options.Training")
	mustPanic(t, all(train, func() { n.Forward(b) }, backward), early)
	mustPanic(t, all(train, backward, backward), early)
	mustPanic(t, all(train, func() { n.Backward(d, grads) }), "convmode: 4 gradients of logits, expected 3")
}

// With the least norm_eps, channels that are equal are normalised to finite numbers. A smaller one
// could be 0 in float32, and they would become NaN.
func TestLeastNormEps(t *testing.T) {
	for _, norm := range []model.Norm{model.NormLayer, model.NormBatch} {
		c := tiny()
		c.DModel, c.Norm, c.PreNorm, c.NormEps = 1, norm, true, 1e-50
		must.Reject(model.New(c, 1))(t, "norm_eps 1e-50: expected 0 (1e-5) or 1e-37 to 1")
		c.NormEps = 1e-37
		n := newNet(t, newModel(t, c), Options{MaxBatch: 1, MaxLen: 1, Training: true})
		logits := n.ForwardTrain(Batch{Size: 1, Len: 1, X: make([]float32, c.DInput)}, Step{})
		grads := model.NewWeights(c)
		n.Backward(noise(1, len(logits)), grads)
		for _, v := range slices.Concat(logits, grads.Flat()) {
			if v-v != 0 {
				t.Fatalf("norm %q: logits %v, gradients %v", norm, logits, grads.Flat())
			}
		}
	}
}
