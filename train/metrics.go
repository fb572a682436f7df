package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Metrics is one epoch: a line of metrics.jsonl, its keys in this order. Accuracies are fractions and belong to
// classification, root mean square errors (in the target's unit) to regression.
type Metrics struct {
	Epoch              int      `json:"epoch"` // complete epochs, from 1
	Step               int      `json:"step"`  // complete steps
	LR                 float64  `json:"lr"`    // of the epoch's last step, for the main group
	TrainLoss          float64  `json:"train_loss"`
	TrainAccuracy      *float64 `json:"train_accuracy,omitempty"`
	TrainRMSE          *float64 `json:"train_rmse,omitempty"`
	ValLoss            float64  `json:"val_loss"`
	ValAccuracy        *float64 `json:"val_accuracy,omitempty"`
	ValRMSE            *float64 `json:"val_rmse,omitempty"`
	RelativeMSE        *float64 `json:"relative_mse,omitempty"` // validation MSE over the zero predictor's
	Seconds            float64  `json:"seconds"`                // of training, without validation
	SequencesPerSecond float64  `json:"sequences_per_second"`   // of training
}

// newMetrics describes an epoch by its sums over the training steps and its validation.
func newMetrics(info dataset.Info, train, val Result) Metrics {
	m := Metrics{TrainLoss: train.Loss, ValLoss: val.Loss}
	if info.Regression {
		m.TrainRMSE, m.ValRMSE = &train.RMSE, &val.RMSE
		if !math.IsInf(val.RelativeMSE, 0) {
			m.RelativeMSE = &val.RelativeMSE
		}
	} else {
		m.TrainAccuracy, m.ValAccuracy = &train.Accuracy, &val.Accuracy
	}
	return m
}

// betterThan reports whether the epoch is the better of two: by accuracy, then by loss.
func (m *Metrics) betterThan(o *Metrics) bool {
	if o == nil {
		return true
	}
	if m.ValAccuracy != nil && o.ValAccuracy != nil && *m.ValAccuracy != *o.ValAccuracy {
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
}

// appendLine adds one JSON object to a file, in one write, and returns the file's new length.
func appendLine(path string, v any) (int64, error) {
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(v); err != nil {
		return 0, fmt.Errorf("train: metrics: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	_, err = f.Write(line.Bytes())
	var size int64
	if info, e := f.Stat(); e == nil {
		size = info.Size()
	} else if err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	return size, nil
}

// cutLines cuts metrics.jsonl back to the length that a checkpoint recorded.
func cutLines(path string, size int64) error {
	info, err := os.Stat(path)
	if os.IsNotExist(err) && size == 0 {
		return nil
	}
	if os.IsNotExist(err) {
		return dataError{fmt.Errorf("train: %s is missing; the checkpoint was written after %d bytes of it", path, size)}
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if info.Size() < size {
		return dataError{fmt.Errorf("train: %s: %d bytes, the checkpoint was written after %d", path, info.Size(), size)}
	}
	if err := os.Truncate(path, size); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
