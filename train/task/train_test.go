package task

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
)

// The summary of a task names what its result is compared with.
func TestSummary(t *testing.T) {
	for name, want := range map[string]string{
		"delay": "relative squared error 25 % (an output of zeros scores 100 %)",
		"ts":    "RMSE 0.5, R² 0.750 (predicting the training set's mean: RMSE 1)",
		"fsdd":  "accuracy 97.5 %",
		"audio": "frame accuracy 97.5 %",
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
		must.Equal(t, must.Get(Lookup(name))(t).Summary(&m), want, "summary of %s", name)
	}
}
