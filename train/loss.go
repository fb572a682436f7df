package train

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Result is how well a network does on a set of examples.
type Result struct {
	N        int     // examples
	Loss     float64 // mean cross-entropy (nats), or mean squared error of the standardised targets
	Accuracy float64 // classification: the fraction of examples whose largest logit is the label's

	// Regression, in the target's unit. The baseline predicts the training set's mean, or 0 if the
	// targets are not standardised.
	RMSE         float64
	BaselineRMSE float64
	R2           float64 // 1 − error²/deviation²; NaN for equal targets
	RelativeMSE  float64 // mean squared error over the baseline's; not finite if that is 0
}

// sums has the sums from which a Result is computed, over any number of batches, in their order.
// Those of a regression but Loss are in the target's unit.
type sums struct {
	Examples  int     `json:"examples"`
	Terms     int     `json:"terms"`     // examples, or target values
	Loss      float64 `json:"loss"`      // sum of cross-entropies, or of squared errors of the standardised targets
	Correct   int     `json:"correct"`   // classification
	Squares   float64 `json:"squares"`   // regression: sum of squared errors
	Power     float64 `json:"power"`     // regression: sum of squared deviations of the targets from the baseline
	Deviation float64 `json:"deviation"` // regression: sum of these deviations
}

func (s *sums) add(o sums) {
	s.Examples += o.Examples
	s.Terms += o.Terms
	s.Loss += o.Loss
	s.Correct += o.Correct
	s.Squares += o.Squares
	s.Power += o.Power
	s.Deviation += o.Deviation
}

// equalTargets bounds the sum of squared deviations of equal targets from their mean, as a fraction
// of that from the baseline. The difference that computes it in float64 is then rounding.
const equalTargets = 1e-9

func (s *sums) result(info dataset.Info) Result {
	n := float64(s.Terms)
	r := Result{N: s.Examples, Loss: s.Loss / n}
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
	if b.info.Regression {
		return b.squaredError(dlogits, logits)
	}
	return b.crossEntropy(dlogits, logits)
}

// crossEntropy is loss for a classification. Logits: [examples][Outputs].
func (b *batch) crossEntropy(dlogits, logits []float32) sums {
	k := b.info.Outputs
	n := len(b.members)
	s := sums{Examples: n, Terms: n}
	for i, label := range b.labels[:n] {
		row := logits[i*k : (i+1)*k]
		s.Loss += float64(vek.SoftmaxCrossEntropy(dlogits[i*k:(i+1)*k], row, label))
		if model.ArgMax(row) == label {
			s.Correct++
		}
	}
	vek.Scale(dlogits, 1/float32(n), dlogits)
	return s
}

// squaredError is loss for a regression. Logits and targets: [examples][Outputs], or
// [examples][Outputs][Len], of which the positions of the example count.
func (b *batch) squaredError(dlogits, logits []float32) sums {
	s := sums{Examples: len(b.members)}
	width := b.rowLen()
	for r := range len(logits) / width {
		n := b.validLen(r / b.info.Outputs)
		row := dlogits[r*width : (r+1)*width]
		target := b.targets[r*width : (r+1)*width]
		copy(row, logits[r*width:(r+1)*width])
		clear(row[n:])
		vek.Axpy(row[:n], -1, target[:n])
		scale, _ := b.meta.OutputScale(r % b.info.Outputs)
		std, squares := float64(scale), float64(vek.SumSquares(row[:n]))
		s.Loss += squares
		s.Squares += std * std * squares
		for _, v := range target[:n] { // in float64: R² is a difference of the two sums
			d := std * float64(v)
			s.Power += d * d
			s.Deviation += d
		}
		s.Terms += n
	}
	vek.Scale(dlogits, 2/float32(s.Terms), dlogits)
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
