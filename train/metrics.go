package train

import (
	"fmt"
	"math"
)

// Metrics are the results of one epoch: a line of metrics.jsonl, with its keys in this order.
// Losses are those of Result. Classification has accuracies, which are fractions. Regression has
// root mean square errors in the target's unit. A regression of a signal (delay) also has a
// relative error; other regressions and forecasts have R² and a baseline.
type Metrics struct {
	Epoch              int      `json:"epoch"` // complete epochs
	Step               int      `json:"step"`  // complete steps
	LR                 float64  `json:"lr"`    // optim.lr times the schedule's factor in the last step
	TrainLoss          float64  `json:"train_loss"`
	TrainAccuracy      *float64 `json:"train_accuracy,omitempty"`
	TrainRMSE          *float64 `json:"train_rmse,omitempty"`
	ValLoss            float64  `json:"val_loss"`
	ValAccuracy        *float64 `json:"val_accuracy,omitempty"`
	ValRMSE            *float64 `json:"val_rmse,omitempty"`
	RelativeMSE        *float64 `json:"relative_mse,omitempty"` // of the validation set: MSE over that of predicting 0
	ValR2              *float64 `json:"val_r2,omitempty"`
	BaselineRMSE       *float64 `json:"baseline_rmse,omitempty"` // of predicting the training set's mean on the validation set
	Seconds            float64  `json:"seconds"`                 // of training, without validation
	SequencesPerSecond float64  `json:"sequences_per_second"`    // of training
}

// newMetrics returns the metrics of an epoch from its training and its validation result.
func newMetrics(train, val Result) Metrics {
	m := Metrics{TrainLoss: train.Loss, ValLoss: val.Loss}
	switch {
	case !val.regression:
		m.TrainAccuracy, m.ValAccuracy = &train.Accuracy, &val.Accuracy
	case val.relative:
		m.TrainRMSE, m.ValRMSE, m.RelativeMSE = &train.RMSE, &val.RMSE, finite(val.RelativeMSE)
	default:
		m.TrainRMSE, m.ValRMSE, m.ValR2, m.BaselineRMSE = &train.RMSE, &val.RMSE, finite(val.R2), &val.BaselineRMSE
	}
	return m
}

// finite returns a pointer to x, or nil if x is NaN or infinite, which JSON cannot hold.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Validation returns the result on the validation set in a few words, such as "accuracy 97.5 %".
func (m *Metrics) Validation() string {
	switch {
	case m.ValAccuracy != nil:
		return fmt.Sprintf("accuracy %.4g %%", 100**m.ValAccuracy)
	case m.RelativeMSE != nil:
		return "relative squared error " + percent(*m.RelativeMSE)
	case m.ValR2 != nil:
		return fmt.Sprintf("RMSE %.4g, R² %.3f", *m.ValRMSE, *m.ValR2)
	case m.ValRMSE != nil: // of equal targets
		return fmt.Sprintf("RMSE %.4g", *m.ValRMSE)
	}
	return fmt.Sprintf("loss %.4g", m.ValLoss)
}

// Metrics returns the metrics of an evaluation, as if it were that of the validation set.
func (r Result) Metrics() *Metrics { return new(newMetrics(r, r)) }

// percent formats a fraction as a percentage with three digits, and from 100 % on without decimals.
func percent(fraction float64) string {
	if fraction >= 1 {
		return fmt.Sprintf("%.0f %%", 100*fraction)
	}
	return fmt.Sprintf("%.3g %%", 100*fraction)
}

// betterThan reports whether m has a higher accuracy than o, or the same accuracy and a lower loss.
// With a class per position, only the loss counts: the accuracy hardly changes, because most
// positions are easy, and for the others it depends on an arbitrary threshold.
func (m *Metrics) betterThan(o *Metrics, perPosition bool) bool {
	if o == nil {
		return true
	}
	if !perPosition && m.ValAccuracy != nil && o.ValAccuracy != nil && *m.ValAccuracy != *o.ValAccuracy {
		return *m.ValAccuracy > *o.ValAccuracy
	}
	return m.ValLoss < o.ValLoss
}

// testRecord is the last line of metrics.jsonl where the data have a test split.
type testRecord struct {
	Split    string   `json:"split"`
	Epoch    int      `json:"epoch"` // whose weights were tested
	N        int      `json:"n"`
	Loss     float64  `json:"test_loss"`
	Accuracy *float64 `json:"test_accuracy,omitempty"`
	RMSE     *float64 `json:"test_rmse,omitempty"`
	R2       *float64 `json:"test_r2,omitempty"`
}
