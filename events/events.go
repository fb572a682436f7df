// Package events detects spoken words, or other sounds that a model has learned to label, in
// continuous audio.
//
// The input of a Stream is samples at any rate, in blocks of any size. The output is events: a
// label, its first sample and exclusive end, and a confidence. The sizes of the blocks never change
// an event. Audio takes this way:
//
//   - A Stream resamples it to the rate of the model, and translates positions back.
//   - A signal cuts it into frames, and computes the level and the network's outputs of each frame:
//     with a filter bank the outputs of the frame, without one those for the last second.
//   - A smoother averages the outputs over Options.Smoothing.
//   - A decision begins an event when Options.Confirm consecutive frames give the same label a
//     posterior of at least Options.Threshold. A contour of the levels tells where its sound began.
//
// DefaultsFor returns the options for a model. A Recognizer is a model with options; any number of
// streams share it. A Snapshot of a Stream can be restored in another process. A Sweep tries many
// options at once.
package events

import (
	"errors"
	"fmt"
)

// None is the label that never makes an event.
const None = "none"

// Event is a recognised sound. Onset is its first sample and End its exclusive end, counted from
// the stream's beginning; Onset < End. Confidence is the largest posterior of the label between
// them.
type Event struct {
	Onset, End int64
	Label      string
	Confidence float64
}

// maxAmplitude is the largest amplitude that counts as audio, inaudible the smallest one that is
// not silence.
const maxAmplitude, inaudible = 1e6, 1e-18

// isAudio reports whether a sample is a number within ±maxAmplitude.
func isAudio(v float32) bool { return v >= -maxAmplitude && v <= maxAmplitude }

// Check finds the first sample that cannot be audio of full scale ±1: NaN, an infinity, or a value
// beyond ±1e6. It returns the number of samples before it and an error that describes it, or len(x)
// and nil.
func Check(x []float32) (good int, err error) {
	for i, v := range x {
		if v != v {
			return i, errors.New("events: a sample is NaN")
		}
		if !isAudio(v) {
			return i, fmt.Errorf("events: a sample is %v: the audio is too loud, full scale is 1", v)
		}
	}
	return len(x), nil
}
