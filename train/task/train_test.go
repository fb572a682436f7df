package task

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
)

// stepLosses collects the loss of every step of the first epoch.
type stepLosses struct {
	losses []float64
	sum    float64
}

func (*stepLosses) Begin(train.Progress)      {}
func (*stepLosses) Epoch(train.Metrics, bool) {}
func (*stepLosses) End()                      {}

func (s *stepLosses) Step(p train.Progress) {
	sum := p.Loss * float64(p.Step) // Loss is the mean over the epoch's steps
	s.losses, s.sum = append(s.losses, sum-s.sum), sum
}

// In a few steps on real recordings the loss decreases from that of equal probabilities.
func TestRealAudio(t *testing.T) {
	for name, folder := range map[string]string{"fsdd": "fsdd", "speech-commands": "arabic-sc"} {
		dir := realData(t, folder)
		if testing.Short() {
			t.Skip("trains a network")
		}
		tk := must.Get(Lookup(name))(t)
		c := tk.Preset()
		c.SetDir(dir)
		for _, s := range []string{
			"data.max_len=1600", "data.decimate=2", "model.d_model=8", "model.n_layers=1", "ssm.d_state=8",
			"optim.schedule=constant", "optim.lr=0.01", "train.max_steps=24", "train.batch=8", "train.eval_batch=32", "threads=2",
		} {
			must.Do(t, c.Set(s))
		}
		data := must.Get(tk.Load(t.Context(), From(c)))(t)
		var seen stepLosses
		tr := must.Get(train.New(t.Context(), c, data, train.Options{Reporter: &seen}))(t)
		must.Do(t, tr.Fit(t.Context()))
		classes := math.Log(float64(data.Outputs))
		first, last := mean(seen.losses[:8]), mean(seen.losses[16:])
		if math.Abs(first-classes) > 0.5 || last > first {
			t.Errorf("%s: loss %.3f, then %.3f; chance is %.3f", name, first, last, classes)
		}
		m := tr.Best()
		if !slices.Equal(m.Meta.Labels, data.Labels) {
			t.Errorf("%s: the best model has labels %q, expected %q", name, m.Meta.Labels, data.Labels)
		}
		if std := m.Meta.InputStd[0]; std <= 0 {
			t.Errorf("%s: the best model has an input of standard deviation %v, expected a positive one", name, std)
		}
	}
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

// The summary of a task names what its result is compared with.
func TestSummary(t *testing.T) {
	for name, want := range map[string]string{
		"delay": "relative squared error 25 % (an output of zeros scores 100 %)",
		"ts":    "RMSE 0.5, R² 0.750 (predicting the training set's mean: RMSE 1)",
		"fsdd":  "accuracy 97.5 %",
	} {
		rmse, r2, relative, baseline, accuracy := 0.5, 0.75, 0.25, 1.0, 0.975
		m := train.Metrics{ValRMSE: &rmse}
		switch name {
		case "delay":
			m.RelativeMSE = &relative
		case "ts":
			m.ValR2, m.BaselineRMSE = &r2, &baseline
		default:
			m = train.Metrics{ValAccuracy: &accuracy}
		}
		must.Equal(t, must.Get(Lookup(name))(t).Summary(m.Result()), want, "summary of %s", name)
	}
}
