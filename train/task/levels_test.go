package task

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/train"
)

// A network predicts the same class for a recorded digit at every level, unless its two largest
// logits are within 1e-3.
func TestLevelsAgreeOnDigits(t *testing.T) {
	c := preset(t, "fsdd")
	for _, s := range []string{
		"model.d_model=16", "model.n_layers=2", "ssm.d_state=16", "train.batch=8", "train.max_steps=900",
		"optim.schedule=constant", "optim.lr=0.01", "data.decimate=2", "threads=2",
	} {
		must.Do(t, c.Set(s))
	}
	dir := realData(t, "fsdd")
	if testing.Short() {
		t.Skip("trains a network")
	}
	data := must.Get(must.Get(Lookup("fsdd"))(t).Load(t.Context(), Source{Dir: dir, Options: From(c).Options}))(t)
	tr := must.Get(train.New(t.Context(), c, data, train.Options{}))(t)
	must.Do(t, tr.Fit(t.Context()))
	m := tr.Best()
	var first []train.Prediction
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		var predictions []train.Prediction
		r := must.Get(train.Evaluate(t.Context(), m, data.Val, train.EvalOptions{Info: data.Info, Batch: 30, Each: func(p train.Prediction) error {
			p.Logits = slices.Clone(p.Logits)
			predictions = append(predictions, p)
			return nil
		}}))(t)
		if first == nil {
			first = predictions
			if r.Accuracy < 0.3 { // of ten classes
				t.Errorf("the network learned too little to compare levels: accuracy %.3f of %d clips", r.Accuracy, r.N)
			}
		}
		for i, p := range predictions {
			if p.Class != first[i].Class && margin(first[i].Logits) > 1e-3 {
				t.Errorf("%s: %d, at the first level %d; logits %v and %v", p.Path, p.Class, first[i].Class, p.Logits, first[i].Logits)
			}
		}
	})
}

// margin is the distance between the two largest logits.
func margin(logits []float32) float32 {
	s := slices.Sorted(slices.Values(logits))
	return s[len(s)-1] - s[len(s)-2]
}
