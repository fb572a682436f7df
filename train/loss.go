package train

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Result says how well a network does on a set of examples.
type Result struct {
	N           int     // examples
	Loss        float64 // mean cross-entropy (nats), or mean square error
	Accuracy    float64 // classification: the fraction of examples whose largest logit is the label's
	RMSE        float64 // regression, in the target's unit
	RelativeMSE float64 // regression: mean square error over that of predicting 0; +Inf where every target is 0
}

// sums are what a Result is made of, over any number of batches, in their order.
type sums struct {
	Examples int     `json:"examples"`
	Terms    int     `json:"terms"`   // examples, or target values
	Loss     float64 `json:"loss"`    // sum of cross-entropies, or of squared errors
	Correct  int     `json:"correct"` // classification
	Power    float64 `json:"power"`   // regression: sum of squared targets
}

func (s *sums) add(o sums) {
	s.Examples += o.Examples
	s.Terms += o.Terms
	s.Loss += o.Loss
	s.Correct += o.Correct
	s.Power += o.Power
}

func (s *sums) result(info dataset.Info) Result {
	r := Result{N: s.Examples, Loss: s.Loss / float64(s.Terms)}
	if info.Regression {
		r.RMSE, r.RelativeMSE = math.Sqrt(r.Loss), math.Inf(1)
		if s.Power > 0 {
			r.RelativeMSE = s.Loss / s.Power
		}
	} else {
		r.Accuracy = float64(s.Correct) / float64(s.Terms)
	}
	return r
}

// loss compares a batch's logits with what they should be and writes the gradient of the batch's mean loss to
// dlogits, which has the logits' shape.
func (b *batch) loss(dlogits, logits []float32) sums {
	if b.info.Regression {
		return b.squaredError(dlogits, logits)
	}
	return b.crossEntropy(dlogits, logits)
}

// crossEntropy: logits [examples][Outputs].
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

// squaredError: logits and targets [examples][Outputs], or [examples][Outputs][Len] of which an example's own length counts.
func (b *batch) squaredError(dlogits, logits []float32) sums {
	s := sums{Examples: len(b.members)}
	width := b.rowLen()
	for r := range len(logits) / width {
		n := b.counted(r / b.info.Outputs)
		row := dlogits[r*width : (r+1)*width]
		target := b.targets[r*width : (r+1)*width]
		copy(row, logits[r*width:(r+1)*width])
		clear(row[n:])
		vek.Axpy(row[:n], -1, target[:n])
		s.Loss += float64(vek.SumSquares(row[:n]))
		s.Power += float64(vek.SumSquares(target[:n]))
		s.Terms += n
	}
	vek.Scale(dlogits, 2/float32(s.Terms), dlogits)
	return s
}

// rowLen returns the length of one output of one example: 1, or a value a position.
func (b *batch) rowLen() int {
	if b.info.PerPosition {
		return b.Len
	}
	return 1
}

// counted returns how many values of an example's row count: its true length.
func (b *batch) counted(example int) int {
	if b.info.PerPosition && b.Lengths != nil {
		return b.Lengths[example]
	}
	return b.rowLen()
}
