package convmode

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
)

// TestLevelsAgree compares the logits of two real networks between the levels.
func TestLevelsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, g := range golden.Checkpoints(t) {
		m := must.Get(model.ImportPyTorch(g.Path(t), model.ImportOptions{}))(t)
		b := Batch{Size: golden.CheckpointBatch, Len: golden.CheckpointLen, X: golden.CheckpointInput()}
		n := newNet(t, m, Options{MaxBatch: b.Size, MaxLen: b.Len, Workers: 2})
		var first []float32
		vektest.EachLevel(t, func(t *testing.T, level vek.Level) {
			logits := n.Forward(b)
			if first == nil {
				first = slices.Clone(logits)
			}
			for i, v := range logits {
				if d := math.Abs(float64(v) - float64(first[i])); !(d <= 1e-4) {
					t.Errorf("%s: logit %d is %v, which differs by %v from the first level", g.Name, i, v, d)
				}
			}
		})
	}
}
