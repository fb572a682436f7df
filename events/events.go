// Package events finds spoken words, or other sounds that a model has learned to label, in endless
// audio.
//
// The input is samples in chunks of any size. The output is events: a label, its first sample and
// exclusive end, and a confidence. How the audio is cut into calls never changes an event. Times
// are sample counts. There are two kinds of models:
//
// A model with a mean pool reads samples. A gate tells sound from background by its level. When the
// gate opens, the model's state is reset and starts 0.1 s before the sound, so that no state is
// older than the sound it describes. While the gate is open, the model's posterior for the last
// second or so is evaluated every hop.
//
// A model that labels every frame reads the frames of a filter bank (model.Meta.Filterbank) and
// runs all the time. Its posteriors are averaged over a short time and evaluated at every frame.
// The levels of the audio tell where a word began.
//
// In both cases enough evaluations in a row that are sure of one label make an event. DefaultsFor
// returns the options that suit a model.
//
// A Recognizer holds a model and options and is shared. A Detector is the state of one stream; its
// Snapshot continues in another process (docs/stream.md describes the format). A Sweep tries many
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

// maxAmplitude is the largest amplitude that counts as audio.
const maxAmplitude = 1e6

// isAudio reports whether a sample is a number within ±maxAmplitude.
func isAudio(v float32) bool { return v >= -maxAmplitude && v <= maxAmplitude }

// Check finds the first sample that is not audio of full scale ±1: NaN, an infinity, or beyond
// ±1e6. It returns the number of samples before it and an error that describes it, or len(x) and
// nil.
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
