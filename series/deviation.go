package series

import (
	"errors"
	"math"

	"github.com/s4d-fast/s4d-fast/model"
)

var errMissing = errors.New("the value is missing, and none was in training")

const (
	defaultWindow = 256 // rows, if the model states none

	// An error counts for the running deviation as at most so many deviations, so that an anomaly
	// does not hide the next.
	largestCounted = 3

	// The deviation is at least this fraction of the target's: below are rounding errors.
	smallestDeviation = 1e-6
)

// Deviation is the running deviation of a forecast's errors, the unit of anomaly scores. It begins
// with model.Series.Residual, or else with the target's deviation in training, and forgets with the
// time constant model.Series.Window (docs/maths.md §13):
//
//	score = |e|/σ,  σ² ← σ² + (min(e², 9 σ²) − σ²)/Window
type Deviation struct {
	square float64 // σ²
	least  float64 // of σ²
	window float64 // rows
}

// NewDeviation returns the Deviation of a target at the start of a series.
func NewDeviation(m *model.Meta, target int) Deviation {
	scale, _ := m.OutputScale(target)
	start, least := float64(scale), smallestDeviation*float64(scale)
	d := Deviation{least: least * least, window: defaultWindow}
	if s := m.Series; s != nil {
		if s.Window > 0 {
			d.window = float64(s.Window)
		}
		if target < len(s.Residual) {
			start = float64(s.Residual[target])
		}
	}
	d.square = max(start*start, d.least)
	return d
}

// Score returns |e|/σ for the error of a forecast, the value that came minus the forecast, and
// updates σ. It is NaN if e is.
func (d *Deviation) Score(e float64) float64 {
	if math.IsNaN(e) {
		return e
	}
	square := e * e
	score := math.Abs(e) / math.Sqrt(d.square)
	d.square += (min(square, largestCounted*largestCounted*d.square) - d.square) / d.window
	d.square = max(d.square, d.least)
	return score
}
