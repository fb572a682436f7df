package train

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// temperatures returns a run on series whose target is 1000 and five times their mean.
func temperatures(t *testing.T, sets ...string) run {
	t.Helper()
	var all []dataset.Example
	for i := range 40 {
		level := math.Sin(float64(i))
		e := dataset.Example{Target: []float32{float32(1000 + 5*level)}}
		for k := range 12 + i%3 {
			e.X = append(e.X, float32(level+0.1*math.Cos(float64(i*k))))
		}
		all = append(all, e)
	}
	parts := dataset.RandomSplit(42, 36, 4)
	var split [2][]dataset.Example
	for p, members := range parts {
		for _, i := range members {
			split[p] = append(split[p], all[i])
		}
	}
	c := run{Config: preset(t, "ts"), Out: filepath.Join(t.TempDir(), "run")}
	c.data = must.Get(dataset.FromSlices(dataset.Info{Channels: 1, Regression: true}, split[0], split[1], all))(t)
	for _, s := range append([]string{
		"seed=3", "threads=1", "model.d_model=8", "model.n_layers=1", "ssm.d_state=4", "ssm.bidirectional=false",
		"train.epochs=20", "train.batch=9", "optim.lr=0.02",
	}, sets...) {
		must.Do(t, c.Set(s))
	}
	return c
}

// A regression is trained on standardised targets; what it reports and predicts is in the target's
// unit.
func TestRegressionInTheTargetsUnit(t *testing.T) {
	tr := fit(t, temperatures(t))
	m := tr.Best()
	if mean, std := m.Meta.TargetMean, m.Meta.TargetStd; len(mean) != 1 || math.Abs(float64(mean[0])-1000) > 1 || !(std[0] > 3 && std[0] < 4) {
		t.Fatalf("targets of mean %v, standard deviation %v, expected about 1000 and 3.5", mean, std)
	}
	var predictions []Prediction
	r := must.Get(Evaluate(t.Context(), m, tr.data.Test, EvalOptions{Info: tr.data.Info, Each: func(p Prediction) error {
		predictions = append(predictions, p)
		return nil
	}}))(t)
	var squares, baseline, deviations, sum float64
	for _, p := range predictions {
		squares += math.Pow(float64(p.Logits[0]-p.Target[0]), 2)
		baseline += math.Pow(float64(p.Target[0]-m.Meta.TargetMean[0]), 2)
		sum += float64(p.Target[0])
	}
	n := float64(len(predictions))
	for _, p := range predictions {
		deviations += math.Pow(float64(p.Target[0])-sum/n, 2)
	}
	for _, v := range []struct {
		name          string
		got, expected float64
	}{
		{"RMSE", r.RMSE, math.Sqrt(squares / n)},
		{"baseline", r.BaselineRMSE, math.Sqrt(baseline / n)},
		{"R²", r.R2, 1 - squares/deviations},
		{"relative MSE", r.RelativeMSE, squares / baseline},
	} {
		if math.Abs(v.got-v.expected) > 1e-4*(1+v.expected) {
			t.Errorf("%s %v, the predictions have %v", v.name, v.got, v.expected)
		}
	}
	if r.R2 < 0.5 || r.RMSE > 0.7*r.BaselineRMSE {
		t.Errorf("R² %v, RMSE %v of %v: little was learned", r.R2, r.RMSE, r.BaselineRMSE)
	}
	best := tr.BestEpoch()
	if best.RelativeMSE != nil || best.ValR2 == nil || best.BaselineRMSE == nil {
		t.Errorf("best epoch %+v, expected an R² and a baseline and no relative MSE", best)
	}
	if want := fmt.Sprintf("RMSE %.4g, R² ", *best.ValRMSE); !strings.HasPrefix(best.Validation(), want) {
		t.Errorf("best epoch: %q, expected it to begin with %q", best.Validation(), want)
	}
}
