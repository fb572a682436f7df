package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

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

// Posterior returns the class probabilities of a row of logits, their softmax, in dst, which is
// grown where it is too short and may be nil.
func Posterior(dst, logits []float32) []float32 {
	dst = slices.Grow(dst[:0], len(logits))[:len(logits)]
	vek.Softmax(dst, logits)
	return dst
}

// ArgMax returns the index of the largest value, the first of equals.
func ArgMax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// validate reports the first value that does not fit the network.
func (m *Meta) validate(c Config) error {
	switch {
	case len(m.Labels) > 0 && len(m.Labels) != c.DOutput:
		return fmt.Errorf("meta: %d labels for %d outputs", len(m.Labels), c.DOutput)
	case len(m.InputMean) != len(m.InputStd) || len(m.InputMean) > 0 && len(m.InputMean) != c.DInput:
		return fmt.Errorf("meta: %d means and %d standard deviations for %d input channels", len(m.InputMean), len(m.InputStd), c.DInput)
	case !(m.SampleRate >= 0) || math.IsInf(m.SampleRate, 1):
		return fmt.Errorf("meta: sample rate %v", m.SampleRate)
	}
	for i, std := range m.InputStd {
		scale, shift := m.Affine(i)
		if !(std > 0) || !(scale > 0) || math.IsInf(float64(scale), 0) || math.IsInf(float64(shift), 0) || math.IsNaN(float64(shift)) {
			return fmt.Errorf("meta: input channel %d has mean %v and standard deviation %v", i, m.InputMean[i], std)
		}
	}
	return nil
}
