package train

import (
	"math"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/loss"
)

// Result is the result of evaluating a network on a set of examples.
type Result struct {
	N        int     // examples
	Loss     float64 // mean cross-entropy (nats), or mean squared error of the standardised targets
	Accuracy float64 // classification: the fraction of examples, or of scored positions, whose largest logit is the label's

	// Regression, in the target's unit. The baseline predicts the training set's mean, or 0 if the
	// targets are not standardised.
	RMSE         float64
	BaselineRMSE float64
	R2           float64 // 1 − error²/deviation²; NaN for equal targets
	RelativeMSE  float64 // mean squared error over the baseline's; not finite if that is 0
	// OutputRMSE is the RMSE of each output. Evaluate sets it.
	OutputRMSE []float64

	// relative: RelativeMSE is the measure, because the baseline is an output of 0.
	regression, relative bool
}

// sums has the sums from which a Result is computed, over any number of batches, in their order.
// Those of a regression but Loss are in the target's unit.
type sums struct {
	Examples  int     `json:"examples"`
	Terms     int     `json:"terms"`     // examples, scored positions, or target values
	Loss      float64 `json:"loss"`      // sum of cross-entropies, or of squared errors of the standardised targets
	Correct   int     `json:"correct"`   // classification
	Squares   float64 `json:"squares"`   // regression: sum of squared errors
	Power     float64 `json:"power"`     // regression: sum of squared deviations of the targets from the baseline
	Deviation float64 `json:"deviation"` // regression: sum of these deviations
}

func (s *sums) add(o sums) {
	sum, more := s.values(), o.values()
	for i, v := range more {
		sum[i] += v
	}
	*s = sumsOf(sum[:])
}

// sumFields is the number of values of sums.values.
const sumFields = 7

// values returns the sums as float64 numbers, which are exact.
func (s *sums) values() [sumFields]float64 {
	return [...]float64{float64(s.Examples), float64(s.Terms), s.Loss, float64(s.Correct), s.Squares, s.Power, s.Deviation}
}

// sumsOf is the inverse of sums.values.
func sumsOf(v []float64) sums {
	return sums{Examples: int(v[0]), Terms: int(v[1]), Loss: v[2], Correct: int(v[3]), Squares: v[4], Power: v[5], Deviation: v[6]}
}

// equalTargets bounds the sum of squared deviations of equal targets from their mean, as a fraction
// of that from the baseline. The difference that computes it in float64 is then rounding.
const equalTargets = 1e-9

func (s *sums) result(info dataset.Info) Result {
	n := float64(s.Terms)
	r := Result{N: s.Examples, Loss: s.Loss / n, regression: info.Regression, relative: info.PerPosition && info.Series == nil}
	if !info.Regression {
		r.Accuracy = float64(s.Correct) / n
		return r
	}
	r.RMSE, r.BaselineRMSE = math.Sqrt(s.Squares/n), math.Sqrt(s.Power/n)
	r.R2 = math.NaN()
	if around := s.Power - s.Deviation*s.Deviation/n; around > equalTargets*s.Power {
		r.R2 = 1 - s.Squares/around
	}
	r.RelativeMSE = s.Squares / s.Power
	return r
}

// loss computes the loss of a batch's logits and writes the gradient of its mean to dlogits, which
// has the shape of logits.
func (b *batch) loss(dlogits, logits []float32) sums {
	switch {
	case b.info.Regression:
		return b.squaredError(dlogits, logits)
	case b.info.PerPosition:
		return b.counted(loss.PositionCrossEntropy(dlogits, logits, b.classes, b.Len, b.column))
	}
	return b.counted(loss.CrossEntropy(dlogits, logits, b.labels[:len(b.members)]))
}

// counted returns the sums of a classification.
func (b *batch) counted(s loss.Sum) sums {
	return sums{Examples: len(b.members), Terms: s.Terms, Loss: s.Loss, Correct: s.Correct}
}

// squaredError is loss for a regression. Logits and targets: [examples][Outputs], or
// [examples][Outputs][Len], of which the positions count whose target is not NaN.
func (b *batch) squaredError(dlogits, logits []float32) sums {
	of := loss.SquaredError(dlogits, logits, b.targets)
	s := sums{Examples: len(b.members), Terms: of.Terms, Loss: of.Loss}
	clear(b.outputs)
	width := b.rowLen()
	for i, target := range b.targets {
		if target != target {
			continue
		}
		o := i / width % b.info.Outputs
		std, _ := b.meta.OutputScale(o)
		e, d := float64(std)*(float64(logits[i])-float64(target)), float64(std)*float64(target)
		s.Squares += e * e
		if b.outputs != nil {
			b.outputs[o].Terms++
			b.outputs[o].Squares += e * e
		}
		s.Power += d * d
		s.Deviation += d
	}
	return s
}

// rowLen returns the number of values per output of an example: 1, or one per position.
func (b *batch) rowLen() int {
	if b.info.PerPosition {
		return b.Len
	}
	return 1
}

// validLen returns the number of values per output of an example without padding.
func (b *batch) validLen(example int) int {
	if b.info.PerPosition && b.Lengths != nil {
		return b.Lengths[example]
	}
	return b.rowLen()
}
