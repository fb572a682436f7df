package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

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
		if text := r.Metrics().Validation(); !strings.HasPrefix(text, "RMSE ") || strings.Contains(text, "R²") != c.defined {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// The padding and targets of NaN do not count in the sums of a batch.
func TestSquaredError(t *testing.T) {
	b := newBatch(dataset.Info{Channels: 1, Outputs: 1, Regression: true, PerPosition: true, MaxLen: 3}, &model.Meta{}, 2)
	b.load(sliceSet{
		{X: make([]float32, 3), Len: 3, Target: []float32{1, 2, 3}}, {X: make([]float32, 2), Len: 2, Target: []float32{0, 1}},
	}, []int{0, 1}, 0, par.New(1))
	must.Do(t, b.err)
	logits, d := []float32{1, 1, 1, 0, 0, 7}, make([]float32, 6)
	got := b.loss(d, logits)
	must.Equal(t, got, sums{Examples: 2, Terms: 5, Loss: 6, Squares: 6, Power: 15, Deviation: 7}, "sums")
	must.Equal(t, d[5], 0, "gradient of the padding")
	if r := got.result(b.info); r.RMSE != math.Sqrt(6.0/5) || r.RelativeMSE != 6.0/15 {
		t.Errorf("result %+v", r)
	}
	b.targets[1] = float32(math.NaN())
	must.Equal(t, b.loss(d, logits), sums{Examples: 2, Terms: 4, Loss: 5, Squares: 5, Power: 11, Deviation: 5}, "sums with a target of NaN")
}
