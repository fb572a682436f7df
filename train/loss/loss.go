// Package loss computes the losses of package train, and their gradients with respect to a
// network's outputs (docs/maths.md §3.4, §12). Together with convmode and optim, it is all that a
// training loop of your own needs.
package loss

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// Sum is the sum of the losses of a batch, with the number of its terms. The fields of several
// batches may be added.
type Sum struct {
	Loss    float64 // sum over the terms; cross-entropies are in nats
	Terms   int     // number of sequences, of scored positions, or of target values
	Correct int     // classification: number of terms whose largest logit is that of the label
}

// Mean returns the mean loss. It is NaN without terms.
func (s Sum) Mean() float64 { return s.Loss / float64(s.Terms) }

// Accuracy returns the fraction of terms that are correct. It is NaN without terms.
func (s Sum) Accuracy() float64 { return float64(s.Correct) / float64(s.Terms) }

// CrossEntropy returns the sum of −ln softmax(logits)[label] over sequences, and writes the
// gradient of its mean to dlogits. The shape of logits is [len(labels)][classes].
func CrossEntropy(dlogits, logits []float32, labels []int) Sum {
	k := len(logits) / max(len(labels), 1)
	s := Sum{Terms: len(labels)}
	for i, label := range labels {
		row := logits[i*k : (i+1)*k]
		if model.ArgMax(row) == label {
			s.Correct++
		}
		s.Loss += float64(vek.SoftmaxCrossEntropy(dlogits[i*k:(i+1)*k], row, label))
	}
	vek.Scale(dlogits, 1/float32(max(s.Terms, 1)), dlogits)
	return s
}

// PositionCrossEntropy returns the sum of the cross-entropies of all positions of sequences of the
// given length, and writes the gradient of its mean to dlogits. The shape of logits is
// [sequences][classes][length], that of labels [sequences][length]. A position with the label −1 is
// not scored: it does not count as a term, and its gradient is 0. scratch is working memory for the
// logits of one position; if it is too short, memory is allocated.
func PositionCrossEntropy(dlogits, logits []float32, labels []int32, length int, scratch []float32) Sum {
	k := len(logits) / max(len(labels), 1)
	if len(scratch) < k {
		scratch = make([]float32, k)
	}
	z := scratch[:k]
	var s Sum
	for i, label := range labels {
		at := i/length*k*length + i%length // of the position's first logit
		clear(z)
		if label >= 0 {
			for c := range z {
				z[c] = logits[at+c*length]
			}
			if model.ArgMax(z) == int(label) {
				s.Correct++
			}
			s.Loss += float64(vek.SoftmaxCrossEntropy(z, z, int(label)))
			s.Terms++
		}
		for c, v := range z {
			dlogits[at+c*length] = v
		}
	}
	vek.Scale(dlogits, 1/float32(max(s.Terms, 1)), dlogits)
	return s
}

// SquaredError returns the sum of (y − target)², and writes the gradient of its mean to dy. A
// target of NaN is not scored: it does not count as a term, and its gradient is 0. Targets are
// normally standardised (Standardise), so that the loss has no unit.
func SquaredError(dy, y, targets []float32) Sum {
	copy(dy, y)
	vek.Axpy(dy, -1, targets)
	s := Sum{Terms: len(targets)}
	for i, v := range targets {
		if v != v {
			dy[i], s.Terms = 0, s.Terms-1
		}
	}
	s.Loss = float64(vek.Dot(dy, dy))
	vek.Scale(dy, 2/float32(max(s.Terms, 1)), dy)
	return s
}

// Standardise sets dst to (targets − mean)/std. A network that is trained on these values predicts
// y·std + mean with its output y. dst may be targets.
func Standardise(dst, targets []float32, mean, std float32) {
	for i, v := range targets {
		dst[i] = float32((float64(v) - float64(mean)) / float64(std))
	}
}
