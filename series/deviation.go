package series

import (
	"errors"
	"math"

	"github.com/s4d-fast/s4d-fast/model"
)

var errMissing = errors.New("the value is missing, expected a number as in training")

const (
	defaultWindow = 256 // rows, if the model states none

	// The running deviation counts an error as at most this many deviations, so that an anomaly
	// does not hide the next one.
	largestCounted = 3

	// The deviation is at least this fraction of the target's standard deviation, because smaller
	// errors are rounding.
	smallestDeviation = 1e-6
)

// Deviation is the running deviation of a forecast's errors, the unit of anomaly scores. Its first
// value is model.Series.Residual or, without that, the target's standard deviation in training. Its
// time constant is model.Series.Window (docs/maths.md §13):
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

// Score returns |e|/σ for the error e of a forecast (the value minus the forecast), and updates σ.
// If e is NaN, so is the score, and σ is unchanged.
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
