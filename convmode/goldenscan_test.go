package convmode

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// ofLargest fails if an element differs from that expected by more than bound times the largest
// absolute value of the tensor.
func ofLargest[T float32 | float64](t *testing.T, what string, got []T, want []float64, bound float64) {
	t.Helper()
	must.Equal(t, len(got), len(want), "elements of %s", what)
	largest, worst := 0.0, 0.0
	for i, v := range want {
		largest, worst = max(largest, math.Abs(v)), max(worst, math.Abs(float64(got[i])-v))
	}
	if !(worst <= bound*largest) {
		t.Errorf("%s: error %.2g of the largest value, expected at most %.2g", what, worst/largest, bound)
	}
}

// bareModel is a model whose encoder and decoder are the identity.
func bareModel(t *testing.T, c model.Config) *model.Model {
	t.Helper()
	m := must.Get(model.New(c, 1))(t)
	clear(m.Weights.EncoderWeight)
	clear(m.Weights.EncoderBias)
	clear(m.Weights.DecoderWeight)
	clear(m.Weights.DecoderBias)
	for i := range c.DModel {
		m.Weights.EncoderWeight[i*c.DModel+i], m.Weights.DecoderWeight[i*c.DModel+i] = 1, 1
	}
	return m
}

// A long sequence is as accurate as a short one, because the rounding of the poles is corrected.
// Without the correction the error of an LRU with slow poles is 1.4e-4 (docs/maths.md §19.2;
// TestScanDrift of recurrent).
func TestLongScans(t *testing.T) {
	if vektest.Emulated && testing.Short() {
		t.Skip("slow under emulation")
	}
	const length = 16384
	narrowRing := lru(64)
	narrowRing.RMin, narrowRing.RMax, narrowRing.MaxPhase = 0.999, 0.9999, 0.314
	both := s5(64)
	both.Bidirectional, both.DtMin = true, 1e-4
	for name, layer := range map[string]ssm.Config{"s5": s5(128), "s5, bidirectional": both, "lru": narrowRing} {
		c := bare(3, layer)
		m := bareModel(t, c)
		b := newBatch(c, 3, 1, length)
		n := newNet(t, m, Options{MaxBatch: 1, MaxLen: length, Workers: 2, Training: true})
		truth, in := newReference(m, 1), widenBatch(b)
		y := slices.Clone(n.ForwardTrain(b, Step{}))
		within(t, name+": y", y, truth.Forward(in).Logits, 5e-6)
		d, grads := noise(4, len(y)), model.NewWeights(c)
		n.Backward(d, grads)
		compareGradients(t, grads, truth, in, widen(d), 1e-5)
	}
}
