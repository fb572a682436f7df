// Package events detects spoken words, or other sounds that a model has learned to label, in
// continuous audio.
//
// The input is samples in blocks of any size. The output is events: a label, its first sample and
// exclusive end, and a confidence. The sizes of the blocks never change an event. Times are sample
// counts. There are two kinds of models:
//
// A model with a mean pool reads samples. A gate tells sound from background by its level. When the
// gate opens, the model's state is reset and the model starts 0.1 s before the sound, so that older
// audio does not affect it. While the gate is open, the model's posterior for the last
// Options.Window is evaluated every Options.Hop.
//
// A model that labels every frame reads the frames of a filter bank (model.Meta.Filterbank) and
// processes all audio. Its output is averaged over Options.Smoothing and evaluated at every frame.
// The onset of a word is found in the levels of the audio.
//
// In both cases, an event begins when Options.Confirm consecutive evaluations give the same label a
// posterior of at least Options.Threshold. DefaultsFor returns the options for a model.
//
// A Recognizer is a model with options; any number of streams share it. A Detector is the state of
// one stream. A Snapshot of it can be restored in another process. A Sweep tries many
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
