package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Meta is the metadata of a model: what is needed to run it without any other file.
type Meta struct {
	Task       string    `json:"task,omitempty"`
	Labels     []string  `json:"labels,omitempty"`
	SampleRate float64   `json:"sample_rate,omitempty"` // Hz; 0 if the input has none
	InputMean  []float32 `json:"input_mean,omitempty"`  // the network reads (x − mean)/std
	InputStd   []float32 `json:"input_std,omitempty"`

	// Data has the settings of the task's data that the model was trained on, by their keys in a
	// configuration, such as data.max_len, and its seed. What is 0 is left out. Nil: not recorded.
	Data Settings `json:"data,omitempty"`

	// Regression: per output, the value in the target's unit is y·TargetStd + TargetMean for the
	// decoder's output y. Nil: y.
	TargetMean []float32 `json:"target_mean,omitempty"`
	TargetStd  []float32 `json:"target_std,omitempty"`

	Series *Series `json:"series,omitempty"` // of a network that reads rows of named columns

	// Filterbank turns audio of SampleRate into what the network reads, a band per channel and a
	// frame per position. InputMean and InputStd are those of its frames. Nil: the network reads
	// samples.
	Filterbank *filterbank.Config `json:"filterbank,omitempty"`

	// Recordings are those on which a word detector was trained. Nil: not recorded.
	Recordings Fingerprints `json:"recordings,omitempty"`

	Detection *Detection `json:"detection,omitempty"` // operating point for events; nil: not measured
}

// Affine returns scale and shift of a channel's input normalisation: the network reads x·scale +
// shift.
func (m *Meta) Affine(channel int) (scale, shift float32) {
	if channel >= len(m.InputMean) || channel >= len(m.InputStd) {
		return 1, 0
	}
	std := float64(m.InputStd[channel])
	return float32(1 / std), float32(-float64(m.InputMean[channel]) / std)
}

// Posterior returns the softmax of a row of logits, the class probabilities, in dst. dst may be
// nil; a dst that is too short is replaced.
func Posterior(dst, logits []float32) []float32 {
	dst = slices.Grow(dst[:0], len(logits))[:len(logits)]
	vek.Softmax(dst, logits)
	return dst
}

// ArgMax returns the index of the largest value, and of equal ones the first.
func ArgMax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// OutputScale returns scale and shift of an output: the value in the target's unit is y·scale +
// shift for the decoder's y.
func (m *Meta) OutputScale(output int) (scale, shift float32) {
	if output >= len(m.TargetMean) || output >= len(m.TargetStd) {
		return 1, 0
	}
	return m.TargetStd[output], m.TargetMean[output]
}

// OutputDecoder returns a decoder, weights [DOutput][H] and bias [DOutput], whose outputs are in
// the target's unit.
func (m *Model) OutputDecoder() (weight, bias []float32) {
	weight, bias = slices.Clone(m.Weights.DecoderWeight), slices.Clone(m.Weights.DecoderBias)
	for o := range bias {
		scale, shift := m.Meta.OutputScale(o)
		for i := range m.Config.DModel {
			weight[o*m.Config.DModel+i] *= scale
		}
		bias[o] = float32(float64(bias[o])*float64(scale) + float64(shift))
	}
	return weight, bias
}

// Validate returns an error for the first value that does not match a network.
func (m *Meta) Validate(c Config) error { return inModel(m.validate(c)) }

// validate is Validate without the prefix "model: ".
func (m *Meta) validate(c Config) error {
	sorted := slices.Sorted(slices.Values(m.Labels))
	for i, label := range sorted {
		if i > 0 && label == sorted[i-1] {
			return fmt.Errorf("meta: label %.80q occurs twice: expected distinct names", label)
		}
	}
	switch {
	case len(m.Labels) > 0 && len(m.Labels) != c.DOutput:
		return fmt.Errorf("meta: %d labels for %d outputs", len(m.Labels), c.DOutput)
	case len(m.InputMean) != len(m.InputStd) || len(m.InputMean) > 0 && len(m.InputMean) != c.DInput:
		return fmt.Errorf("meta: %d means and %d standard deviations for %d input channels", len(m.InputMean), len(m.InputStd), c.DInput)
	case !(m.SampleRate >= 0 && m.SampleRate <= math.MaxFloat64):
		return fmt.Errorf("meta: sample rate %v", m.SampleRate)
	}
	if n := len(m.TargetMean); n != len(m.TargetStd) || n > 0 && n != c.DOutput || n > 0 && len(m.Labels) > 0 {
		return fmt.Errorf("meta: %d means and %d standard deviations of targets, %d outputs, %d labels", n, len(m.TargetStd), c.DOutput, len(m.Labels))
	}
	for i, std := range m.TargetStd {
		if !(std > 0) {
			return fmt.Errorf("meta: target %d has standard deviation %v", i, std)
		}
	}
	if m.Series != nil {
		if err := m.Series.validate(c); err != nil {
			return fmt.Errorf("meta: %w", err)
		}
	}
	if err := m.validateAudio(c); err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	for i, std := range m.InputStd {
		if scale, shift := m.Affine(i); !(std > 0) || !(scale > 0) || scale-scale != 0 || shift-shift != 0 { // not finite
			return fmt.Errorf("meta: input channel %d has mean %v and standard deviation %v", i, m.InputMean[i], std)
		}
	}
	text, err := json.Marshal(m)
	if err == nil && bytes.Contains(text, []byte(`\ufffd`)) { // in place of other bytes, so that different labels become equal
		err = errors.New("a text is not in UTF-8")
	}
	if err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	return nil
}
