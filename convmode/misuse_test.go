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
		n, err := New(c.m, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: New = %v, %v; expected an error with %q", c.name, n, err, c.want)
		}
	}
}

// Check returns the error that Forward panics with, and nil for a batch that Forward accepts.
func TestCheck(t *testing.T) {
	c := tiny()
	c.Encoder, c.DInput = model.EncoderEmbedding, 5
	n := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 8})
	for first := int32(-2); first < 8; first++ {
		b := Batch{Size: 2, Len: 2, Tokens: []int32{4, 0, 1, first}}
		err := n.Check(b)
		panicked := func() (message any) {
			defer func() { message = recover() }()
			n.Forward(b)
			return nil
		}()
		if valid := first >= 0 && first < 5; valid != (err == nil) {
			t.Errorf("token %d of 5: error %v", first, err)
		}
		if err == nil && panicked != nil || err != nil && panicked != err.Error() {
			t.Errorf("token %d: Check returns %v, Forward panics with %v", first, err, panicked)
		}
	}
}

func TestPanics(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 8, Training: true})
	inference := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 8})
	moved := newModel(t, c)
	fixed := newNet(t, moved, Options{MaxBatch: 2, MaxLen: 8, Fixed: true})
	words := tiny()
	words.Encoder, words.DInput = model.EncoderEmbedding, 5
	tokens := newNet(t, newModel(t, words), Options{MaxBatch: 2, MaxLen: 8})
	x, grads := noise(1, 100), model.NewWeights(c)
	for _, p := range []struct {
		name string
		f    func()
		want string
	}{
		{"no sequences", func() { n.Forward(Batch{Len: 8}) }, "convmode: batch of 0 sequences, expected 1 to 2"},
		{"batch", func() { n.Forward(Batch{Size: 3, Len: 8, X: x[:48]}) }, "convmode: batch of 3 sequences, expected 1 to 2"},
		{"length", func() { n.Forward(Batch{Size: 1, Len: 9, X: x[:18]}) }, "convmode: sequences of length 9, expected 1 to 8"},
		{"empty", func() { n.Forward(Batch{Size: 1}) }, "convmode: sequences of length 0, expected 1 to 8"},
		{"values", func() { n.Forward(Batch{Size: 1, Len: 8, X: x[:15]}) }, "convmode: 15 input values, expected 1 × 2 × 8"},
		{"lengths", func() { n.Forward(Batch{Size: 1, Len: 8, X: x[:16], Lengths: []int{1, 2}}) }, "convmode: 2 lengths, expected one for each of 1 sequences"},
		{"long", func() { n.Forward(Batch{Size: 1, Len: 8, X: x[:16], Lengths: []int{9}}) }, "convmode: length 9 of sequence 0, expected 1 to 8"},
		{"nothing", func() { n.Forward(Batch{Size: 1, Len: 8, X: x[:16], Lengths: []int{0}}) }, "convmode: length 0 of sequence 0, expected 1 to 8"},
		{"tokens", func() { tokens.Forward(Batch{Size: 1, Len: 8, Tokens: make([]int32, 7)}) }, "convmode: 7 tokens, expected 1 × 8"},
		{"token", func() { tokens.Forward(Batch{Size: 2, Len: 2, Tokens: []int32{0, 4, 1, 5}}) }, "convmode: token 1 of sequence 1 is 5, expected 0 to 4"},
		{"negative token", func() { tokens.Forward(Batch{Size: 1, Len: 2, Tokens: []int32{-1, 4}}) }, "convmode: token 0 of sequence 0 is -1, expected 0 to 4"},
		{"no training", func() { inference.ForwardTrain(Batch{Size: 1, Len: 8, X: x[:16]}, Step{}) }, "convmode: ForwardTrain of a Net without Options.Training"},
		{"no training, fixed", func() { fixed.ForwardTrain(Batch{Size: 1, Len: 8, X: x[:16]}, Step{}) }, "convmode: ForwardTrain of a Net without Options.Training"},
		{"backward, fixed", func() {
			fixed.Forward(Batch{Size: 1, Len: 8, X: x[:16]})
			fixed.Backward(x[:3], grads)
		}, "convmode: Backward without a ForwardTrain"},
		{"weights moved", func() {
			fixed.Forward(Batch{Size: 1, Len: 8, X: x[:16]})
			moved.Weights.Layers[1].Freq[3]++
			fixed.Forward(Batch{Size: 1, Len: 8, X: x[:16]})
		}, "convmode: the weights have changed"},
		{"nothing kept", func() { inference.BlockOutput(0) }, "convmode: no output of block 0 is kept"},
		{"no block", func() { n.BlockOutput(2) }, "convmode: no output of block 2 is kept"},
		{"backward first", func() { n.Backward(x[:3], grads) }, "convmode: Backward without a ForwardTrain"},
		{"backward after inference", func() {
			n.ForwardTrain(Batch{Size: 1, Len: 8, X: x[:16]}, Step{})
			n.Forward(Batch{Size: 1, Len: 8, X: x[:16]})
			n.Backward(x[:3], grads)
		}, "convmode: Backward without a ForwardTrain"},
		{"backward twice", func() {
			n.ForwardTrain(Batch{Size: 1, Len: 8, X: x[:16]}, Step{})
			n.Backward(x[:3], grads)
			n.Backward(x[:3], grads)
		}, "convmode: Backward without a ForwardTrain"},
		{"gradients of logits", func() {
			n.ForwardTrain(Batch{Size: 1, Len: 8, X: x[:16]}, Step{})
			n.Backward(x[:4], grads)
		}, "convmode: 4 gradients of logits, expected 3"},
		{"another network's gradients", func() {
			n.ForwardTrain(Batch{Size: 1, Len: 8, X: x[:16]}, Step{})
			n.Backward(x[:3], model.NewWeights(words))
		}, "convmode: gradient"},
	} {
		t.Run(p.name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, p.want) {
					t.Errorf("panic %q, expected %q", got, p.want)
				}
			}()
			p.f()
		})
	}
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
