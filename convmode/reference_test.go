package convmode

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/reference"
	"github.com/s4d-fast/s4d-fast/internal/reference/frommodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// Bounds of the relative L2 error against the reference.
const (
	outputError   = 1e-6 // logits, activations, running statistics
	gradientError = 5e-6 // a gradient tensor
	cancelError   = 1e-7 // a gradient tensor, relative to all gradients
)

// TestReference compares outputs, activations, running statistics and all gradients, for every
// option, with the naive network in float64.
func TestReference(t *testing.T) {
	for _, w := range networks {
		t.Run(w.name, func(t *testing.T) {
			if testing.Short() && w.length > 500 {
				t.Skip("slow under emulation")
			}
			c := w.config()
			m := newModel(t, c)
			n := newNet(t, m, Options{MaxBatch: w.size, MaxLen: w.length, Workers: 2, Training: true, StepScale: w.stepScale})
			b, step := newBatch(c, 1, w.size, w.length, w.lengths...), Step{Seed: 4, Step: 9}
			truth := frommodel.Network(m, n.opt.StepScale)
			in := widenBatch(c, b)

			within(t, "inference", n.Forward(b), truth.Forward(in).Logits, outputError)

			in.Train = true
			in.Inner, in.Outer = dropoutFactors(c, b, step)
			tape := truth.Forward(in)
			within(t, "logits", n.ForwardTrain(b, step), tape.Logits, outputError)
			for i := range tape.Blocks {
				within(t, "block output", n.BlockOutput(i), tape.Blocks[i].Out, outputError)
			}
			n.UpdateStatistics()
			compareRunning(t, m, tape)

			d := noise(2, logitCount(c, b))
			grads := model.NewWeights(c)
			n.Backward(d, grads)
			want := frommodel.Arrays(m, truth.Backward(tape, widen(d)))
			compareGradients(t, grads, want, 1)

			// A second pass adds to the gradients.
			n.ForwardTrain(b, step)
			n.Backward(d, grads)
			compareGradients(t, grads, want, 2)
		})
	}
}

// compareGradients compares every gradient tensor with the truth, times a factor. A gradient that
// is exactly 0 behind a norm has rounding errors in proportion to all gradients.
func compareGradients(t *testing.T, grads *model.Weights, want map[string][]float64, times float64) {
	t.Helper()
	all := 0.0
	for _, tensor := range grads.Tensors() {
		all = math.Hypot(all, times*norm2(want[tensor.Name]))
	}
	for _, tensor := range grads.Tensors() {
		if tensor.Kind == model.KindBuffer {
			continue
		}
		truth := want[tensor.Name]
		diff := make([]float64, len(truth))
		for i, v := range truth {
			diff[i] = float64(tensor.Data[i]) - times*v
		}
		size := times * norm2(truth)
		if e := norm2(diff); !(e <= gradientError*size+cancelError*all) {
			t.Errorf("gradient of %s after %v backward passes: error %.2g, norm %.2g, norm of all gradients %.2g", tensor.Name, times, e, size, all)
		}
	}
}

func norm2(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

// compareRunning checks the running statistics that a training pass updated.
func compareRunning(t *testing.T, m *model.Model, tape *reference.Tape) {
	t.Helper()
	if m.Config.Norm != model.NormBatch {
		return
	}
	for i := range tape.Blocks {
		within(t, "running mean", m.Weights.Layers[i].RunningMean, tape.Blocks[i].NormTape.Mean, outputError)
		within(t, "running variance", m.Weights.Layers[i].RunningVar, tape.Blocks[i].NormTape.Var, outputError)
	}
	if m.Config.FinalNorm {
		within(t, "final running mean", m.Weights.RunningMean, tape.Final.Mean, outputError)
		within(t, "final running variance", m.Weights.RunningVar, tape.Final.Var, outputError)
	}
}

// within checks a tensor's relative L2 error.
func within(t *testing.T, what string, got []float32, want []float64, bound float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	if e := relative(got, want); !(e <= bound) {
		t.Errorf("%s: relative error %.2g, expected at most %.2g", what, e, bound)
	}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func widenBatch(c model.Config, b Batch) reference.Batch {
	r := reference.Batch{Size: b.Size, Len: b.Len, X: widen(b.X), Lengths: b.Lengths}
	for _, id := range b.Tokens {
		r.Tokens = append(r.Tokens, int(id))
	}
	return r
}

// dropoutFactors returns the factors of dropout for each row, [layer][Size·H], or nil without
// dropout.
func dropoutFactors(c model.Config, b Batch, s Step) (inner, outer [][]float64) {
	if c.Dropout == 0 {
		return nil, nil
	}
	for i := range c.NLayers {
		var factors [dropoutPlaces][]float64
		for place := range factors {
			stream := dropoutStream(s, i, place)
			for e := range b.Size * c.DModel {
				factors[place] = append(factors[place], float64(dropoutScale(stream, e, c.Dropout)))
			}
		}
		inner, outer = append(inner, factors[innerDropout]), append(outer, factors[outerDropout])
	}
	return inner, outer
}
