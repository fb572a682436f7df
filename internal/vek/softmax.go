package vek

import "math"

// SoftmaxCrossEntropy returns −log softmax(logits)[label] and sets dlogits to its gradient, softmax − onehot.
// Rows are short (a value a class), so it computes in float64. dlogits may be logits.
func SoftmaxCrossEntropy(dlogits, logits []float32, label int) (loss float32) {
	sameLen("SoftmaxCrossEntropy", len(dlogits), logits)
	if label < 0 || label >= len(logits) {
		panic("vek: SoftmaxCrossEntropy: label out of range")
	}
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, float64(v))
	}
	sum, at := 0.0, float64(logits[label])
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	for i, v := range logits {
		dlogits[i] = float32(math.Exp(float64(v)-top) / sum)
	}
	dlogits[label]--
	return float32(math.Log(sum) - (at - top))
}
