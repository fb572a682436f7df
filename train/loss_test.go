package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// numericGradient checks dlogits against central differences of the batch's mean loss.
func numericGradient(t *testing.T, b *batch, logits []float32) {
	t.Helper()
	dlogits, waste := make([]float32, len(logits)), make([]float32, len(logits))
	b.loss(dlogits, logits)
	mean := func(x []float32) float64 {
		s := b.loss(waste, x)
		return s.Loss / float64(s.Terms)
	}
	const h = 1.0 / 256
	for i := range logits {
		up, down := slices.Clone(logits), slices.Clone(logits)
		up[i] += h
		down[i] -= h
		want := (mean(up) - mean(down)) / (2 * h)
		if math.Abs(float64(dlogits[i])-want) > 2e-4 {
			t.Errorf("gradient %d: %v, expected %v", i, dlogits[i], want)
		}
	}
}

func TestCrossEntropy(t *testing.T) {
	b := &batch{Batch: convmode.Batch{Size: 2}, info: dataset.Info{Outputs: 3}, meta: &model.Meta{}, members: []int{0, 1}, labels: []int{2, 0}}
	logits := []float32{0, 1, 2, 0.5, 3, -1}
	d := make([]float32, len(logits))
	got := b.loss(d, logits)
	want := math.Log(1+math.E+math.Exp(2)) - 2 + math.Log(math.Exp(0.5)+math.Exp(3)+math.Exp(-1)) - 0.5
	if math.Abs(got.Loss-want) > 1e-6 || got.Correct != 1 || got.Examples != 2 || got.Terms != 2 {
		t.Errorf("%+v, expected loss %v and 1 of 2 correct", got, want)
	}
	numericGradient(t, b, logits)
	r := got.result(b.info)
	if r.N != 2 || r.Accuracy != 0.5 || math.Abs(r.Loss-want/2) > 1e-6 {
		t.Errorf("result %+v", r)
	}
}

// Equal targets have no R². Others have at most 1, however small their deviations.
func TestR2(t *testing.T) {
	info := dataset.Info{Outputs: 1, Regression: true}
	for _, c := range []struct {
		name    string
		targets []float32
		defined bool
	}{
		{"equal, 0.3", []float32{0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, false},
		{"equal, 0.7", []float32{0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7}, false},
		{"equal, 0", make([]float32, 7), false},
		{"one", []float32{0.3}, false},
		{"near", []float32{10, 10, 10.001, 10, 10, 10.001, 10}, true},
	} {
		n := len(c.targets)
		b := &batch{Batch: convmode.Batch{Size: n, Len: 1}, info: info, meta: &model.Meta{TargetMean: []float32{5}, TargetStd: []float32{3}}, targets: c.targets}
		logits := slices.Clone(c.targets)
		logits[0] += 0.0001
		s := b.loss(make([]float32, n), logits)
		r := s.result(info)
		if c.defined != (r.R2 <= 1 && r.R2 > 0.9) || c.defined == math.IsNaN(r.R2) {
			t.Errorf("%s: R² %v", c.name, r.R2)
		}
		if text := r.Describe(); !strings.HasPrefix(text, "RMSE ") || strings.Contains(text, "R²") != c.defined {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

func TestSquaredError(t *testing.T) {
	b := newBatch(dataset.Info{Channels: 1, Outputs: 1, Regression: true, PerPosition: true, MaxLen: 3}, &model.Meta{}, 2)
	b.load(sliceSet{
		{X: make([]float32, 3), Len: 3, Target: []float32{1, 2, 3}}, {X: make([]float32, 3), Len: 3, Target: []float32{0, 1, 9}},
	}, []int{0, 1}, 0)
	must.Do(t, b.err)
	logits := []float32{1, 1, 1, 0, 0, 7}
	d := make([]float32, len(logits))
	if got := b.loss(d, logits); got.Loss != 0+1+4+0+1+4 || got.Terms != 6 || got.Power != 1+4+9+1+81 {
		t.Errorf("%+v", got)
	}
	numericGradient(t, b, logits)

	b.load(sliceSet{
		{X: make([]float32, 3), Len: 3, Target: []float32{1, 2, 3}}, {X: make([]float32, 2), Len: 2, Target: []float32{0, 1}},
	}, []int{0, 1}, 0) // the padding of the second example does not count
	must.Do(t, b.err)
	got := b.loss(d, logits)
	if got.Loss != 6 || got.Terms != 5 || got.Power != 15 || d[5] != 0 {
		t.Errorf("with lengths: %+v, gradient %v", got, d)
	}
	numericGradient(t, b, logits)
	if r := got.result(b.info); r.RMSE != math.Sqrt(6.0/5) || r.RelativeMSE != 6.0/15 {
		t.Errorf("result %+v", r)
	}

	b.targets[1] = float32(math.NaN()) // not scored
	if got = b.loss(d, logits); got.Loss != 5 || got.Squares != 5 || got.Terms != 4 || got.Power != 11 || got.Deviation != 5 || d[1] != 0 {
		t.Errorf("with a target of NaN: %+v, gradient %v", got, d)
	}
	numericGradient(t, b, logits)
	logits[0] = float32(math.NaN())
	if got = b.loss(d, logits); got.Loss == got.Loss {
		t.Errorf("an output of NaN: loss %v", got.Loss)
	}

	whole := &batch{ // one output per sequence, two outputs
		Batch:   convmode.Batch{Size: 2, Len: 5, Lengths: []int{5, 2}},
		info:    dataset.Info{Outputs: 2, Regression: true},
		meta:    &model.Meta{},
		targets: []float32{1, 2, 3, 4},
	}
	logits = []float32{1, 0, 3, 3}
	if got := whole.loss(make([]float32, 4), logits); got.Loss != 5 || got.Terms != 4 {
		t.Errorf("one output per sequence: %+v", got)
	}
	numericGradient(t, whole, logits)
}
