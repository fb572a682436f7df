package model

import "math"

// Meta is what a model file says beside the network: enough to serve it with no other file.
type Meta struct {
	Task       string    `json:"task,omitempty"`
	Labels     []string  `json:"labels,omitempty"`
	SampleRate float64   `json:"sample_rate,omitempty"` // Hz; 0 where the input has none
	InputMean  []float32 `json:"input_mean,omitempty"`  // per channel: the network sees (x − mean)/std
	InputStd   []float32 `json:"input_std,omitempty"`
}

// Affine returns scale and shift of a channel's input normalisation: the network sees x·scale + shift.
func (m *Meta) Affine(channel int) (scale, shift float32) {
	if channel >= len(m.InputMean) || channel >= len(m.InputStd) {
		return 1, 0
	}
	std := float64(m.InputStd[channel])
	return float32(1 / std), float32(-float64(m.InputMean[channel]) / std)
}

// Posterior returns the class probabilities of a row of logits (softmax, in float64).
func Posterior(logits []float32) []float32 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	p := make([]float32, len(logits))
	for i, v := range logits {
		p[i] = float32(math.Exp(float64(v)-top) / sum)
	}
	return p
}
