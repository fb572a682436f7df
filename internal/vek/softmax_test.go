package vek_test

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

func TestSoftmaxCrossEntropy(t *testing.T) {
	tests := []struct {
		name   string
		logits []float32
	}{
		{"one class", []float32{3}},
		{"equal", []float32{0, 0, 0, 0}},
		{"spread", []float32{-4, 2.5, 0.125, 7, -1}},
		{"huge", []float32{1e4, 1e4 - 1, -1e4}},
		{"certain", []float32{0, 300, -300}},
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, test := range tests {
			for label := range test.logits {
				want, gradient := crossEntropy(test.logits, label)
				got := make([]float32, len(test.logits))
				loss := vek.SoftmaxCrossEntropy(got, test.logits, label)
				want.check(t, loss, "%s: loss of label %d", test.name, label)
				for i := range got {
					gradient[i].check(t, got[i], "%s: gradient %d of label %d", test.name, i, label)
				}

				alias := append([]float32(nil), test.logits...)
				must.Equal(t, vek.SoftmaxCrossEntropy(alias, alias, label), loss, "%s: loss in place", test.name)
				sameBits(t, test.name+" in place", alias, got)
			}
		}
	})
}

// crossEntropy returns the loss and its gradient, with each probability from the differences of
// logits.
func crossEntropy(logits []float32, label int) (loss near, gradient []near) {
	top := float64(slices.Max(logits))
	sum := 0.0
	for i := range logits {
		sum += math.Exp(float64(logits[i]) - top)
		inverse := 0.0 // 1/p_i = Σ_j exp(x_j − x_i)
		for _, v := range logits {
			inverse += math.Exp(float64(v) - float64(logits[i]))
		}
		var g near
		if g.add(1 / inverse); i == label {
			g.add(-1)
		}
		gradient = append(gradient, g)
	}
	loss.add(math.Log(sum), top-float64(logits[label]))
	return loss, gradient
}

// The gradient of a nearly certain label is −(1 − p), not 0: p − 1 is computed before rounding to
// float32.
func TestSoftmaxCrossEntropyNearCertainty(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		got := make([]float32, 2)
		loss := vek.SoftmaxCrossEntropy(got, []float32{20, 0}, 0)
		p := 1 / (1 + math.Exp(20)) // of the other class
		for i, want := range []float64{-p, p} {
			if math.Abs(float64(got[i])-want) > 1e-6*p {
				t.Errorf("gradient %d is %v, expected %v", i, got[i], want)
			}
		}
		if want := math.Log1p(math.Exp(-20)); math.Abs(float64(loss)-want) > 1e-6*want {
			t.Errorf("loss %v, expected %v", loss, want)
		}
	})
}
