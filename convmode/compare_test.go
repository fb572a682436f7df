package convmode

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
)

// Bounds of the relative L2 error against the reference. They are eightfold at level amx, whose
// products of the mixing have an error of 4·10⁻⁶.
const (
	outputError   = 1e-6 // logits, activations, running statistics
	gradientError = 5e-6 // a gradient tensor
	cancelError   = 1e-7 // a gradient tensor, relative to all gradients
)

// TestReference compares outputs, activations, running statistics and all gradients, for every
// option, with the naive network in float64. Under emulation it compares every other network: the
// golden values and the tests of each kernel cover the processor.
func TestReference(t *testing.T) {
	for i, w := range networks {
		t.Run(w.name, func(t *testing.T) {
			if testing.Short() && w.length > 500 || vektest.Emulated && i%2 > 0 {
				t.Skip("slow under emulation")
			}
			c := w.config()
			m := newModel(t, c)
			n := newNet(t, m, Options{MaxBatch: w.size, MaxLen: w.length, Workers: 2, Training: w.stepScale == 0, StepScale: w.stepScale})
			b, step := newBatch(c, 1, w.size, w.length, w.lengths...), Step{Seed: 4, Step: 9}
			truth := newReference(m, n.opt.StepScale)
			in := widenBatch(b)

			within(t, "inference", n.Forward(b), truth.Forward(in).Logits, outputError)
			if w.stepScale != 0 { // networks are trained at 1
				return
			}

			in.Train = true
			in.Inner, in.Outer = dropoutFactors(c, b, step)
			want := truth.Forward(in)
			within(t, "logits", n.ForwardTrain(b, step), want.Logits, outputError)
			for i, block := range want.Blocks {
				within(t, "block output", blockOutput(n, i), block, outputError)
			}
			n.UpdateStatistics()
			for _, tensor := range m.Weights.Tensors() {
				if strings.Contains(tensor.Name, "running") {
					within(t, tensor.Name, tensor.Data, want.Running[0], outputError)
					want.Running = want.Running[1:]
				}
			}

			d := noise(2, logitCount(c, b))
			grads := model.NewWeights(c)
			n.Backward(d, grads)
			compareGradients(t, grads, truth, in, widen(d), gradientError)

			// A second pass adds to the gradients.
			first := grads.Clone()
			n.ForwardTrain(b, step)
			n.Backward(d, grads)
			for i, tolerance := range tolerances(first, gradientError) {
				once, twice := first.Tensors()[i], grads.Tensors()[i]
				for k, v := range once.Data {
					if e := math.Abs(float64(twice.Data[k]) - 2*float64(v)); !(e <= 2*tolerance) {
						t.Fatalf("gradient of %s: error %.2g after a second pass", once.Name, e)
					}
				}
			}
		})
	}
}

// tolerances returns the permitted L2 error of every gradient tensor. A gradient that is exactly 0
// behind a norm has rounding errors in proportion to all gradients.
func tolerances(grads *model.Weights, bound float64) (list []float64) {
	for _, tensor := range grads.Tensors() {
		list = append(list, atLevel(bound)*norm2(widen(tensor.Data))+atLevel(cancelError)*norm2(widen(grads.Flat())))
	}
	return list
}

// compareGradients compares the gradients with differences of the truth, in random directions. A
// tensor moves in inverse proportion to the error that it may have. If the sum exceeds the error of
// one tensor, each tensor is compared alone.
func compareGradients(t *testing.T, grads *model.Weights, truth *reference, b referenceBatch, d []float64, bound float64) {
	t.Helper()
	tensors := grads.Tensors()
	errorOf := func(seed uint64, isMoved func(i int) bool) float64 {
		direction, got := make([][]float64, len(tensors)), 0.0
		for i, tolerance := range tolerances(grads, bound) {
			direction[i] = make([]float64, len(tensors[i].Data))
			if !isMoved(i) || tensors[i].Kind == model.KindBuffer {
				continue
			}
			for k, v := range noise(seed+uint64(i), len(direction[i])) {
				direction[i][k] = float64(v) / tolerance
				got += float64(tensors[i].Data[k]) * direction[i][k]
			}
		}
		return math.Abs(got - truth.Slope(b, d, direction))
	}
	for seed := range uint64(3) {
		if errorOf(seed<<32, func(int) bool { return true }) <= 1 {
			continue
		}
		for i, tensor := range tensors {
			if e := errorOf(seed<<32, func(k int) bool { return k == i }); tensor.Kind != model.KindBuffer && !(e <= 1) {
				t.Errorf("gradient of %s: error %.2g of the permitted one", tensor.Name, e)
			}
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

// within checks a tensor's relative L2 error.
func within(t *testing.T, what string, got []float32, want []float64, bound float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	bound = atLevel(bound)
	if e := relative(got, want); !(e <= bound) {
		t.Errorf("%s: relative error %.2g, expected at most %.2g", what, e, bound)
	}
}

func atLevel(bound float64) float64 {
	if vek.CurrentLevel() == vek.AMX {
		return 8 * bound
	}
	return bound
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func widenBatch(b Batch) referenceBatch {
	return referenceBatch{Batch: b, X: widen(b.X)}
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
