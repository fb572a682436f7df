package vek

import "math"

// SoftmaxCrossEntropy returns −log softmax(logits)[label] and sets dlogits to its gradient, softmax
// − onehot (docs/maths.md §3.4). It computes in float64 without assembly, since there is one short
// row per sequence. dlogits may be logits.
func SoftmaxCrossEntropy(dlogits, logits []float32, label int) (loss float32) {
	sameLen("SoftmaxCrossEntropy", len(dlogits), logits)
	require("SoftmaxCrossEntropy", label >= 0 && label < len(logits))
	top, sum := expSum(logits) // with p = softmax(x), the loss is log Σ exp(x − max x) − (x[label] − max x)
	at := float64(logits[label]) - top
	for i, v := range logits {
		p := math.Exp(float64(v)-top) / sum
		if i == label {
			p--
		}
		dlogits[i] = float32(p)
	}
	return float32(math.Log(sum) - at)
}

// Softmax sets dst to exp(x − max x)/Σ exp(x − max x), computed in float64. dst may be x.
func Softmax(dst, x []float32) {
	sameLen("Softmax", len(dst), x)
	top, sum := expSum(x)
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)-top) / sum)
	}
}

// expSum returns max x and Σ exp(x − max x).
func expSum(x []float32) (top, sum float64) {
	top = math.Inf(-1)
	for _, v := range x {
		top = max(top, float64(v))
	}
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top, sum
}
