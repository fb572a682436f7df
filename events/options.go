package events

import "fmt"

// Options decide what counts as an event. Start from Defaults: except for SampleRate, zero is a
// value like any other.
type Options struct {
	// Threshold is the posterior that makes an event. Higher: more precision, less recall.
	Threshold float64

	// OffThreshold is the posterior of its label below which an event has ended; at 0 its label
	// never ends it. Higher: shorter events, and more of them in a row.
	OffThreshold float64

	// Confirm is the number of evaluations in a row that must agree. Higher: more precision, less
	// recall of short words.
	Confirm int

	// Refractory is the time in seconds after an event's onset in which no other event begins,
	// though its label may change. Higher: more precision, less recall of words in quick
	// succession.
	Refractory float64

	Hop    float64 // seconds between evaluations
	Window float64 // seconds of audio that an evaluation covers

	// SampleRate is that of the audio in Hz; 0 is the model's. At another rate the steps of the
	// model's SSMs are scaled (docs/maths.md §1.6).
	SampleRate float64
}

// Defaults returns the options for spoken words.
func Defaults() Options {
	return Options{Confirm: 4, Refractory: 0.4, Hop: 0.03, Window: 1}.WithThreshold(0.7)
}

// WithThreshold returns the options with another threshold, and half of it as OffThreshold.
func (o Options) WithThreshold(p float64) Options {
	o.Threshold, o.OffThreshold = p, p/2
	return o
}

// Bounds of Options.
const (
	maxConfirm = 1000
	maxSeconds = 3600
	maxRate    = 1e6 // Hz
)

// Validate returns an error about the first option that is out of bounds. Its text begins with the
// name of the command's flag for the option.
func (o Options) Validate() error {
	if o.SampleRate == 0 {
		o.SampleRate = frameRate
	}
	for _, v := range []struct {
		name             string
		value, low, high float64
	}{
		{"threshold", o.Threshold, 0, 1},
		{"off-threshold", o.OffThreshold, 0, 1},
		{"confirm", float64(o.Confirm), 1, maxConfirm},
		{"refractory", o.Refractory, 0, maxSeconds},
		{"hop", o.Hop, 1. / frameRate, maxSeconds},
		{"window", o.Window, 1. / frameRate, maxSeconds},
		{"rate", o.SampleRate, frameRate, maxRate},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			return fmt.Errorf("%s %v: expected %v … %v", v.name, v.value, v.low, v.high)
		}
	}
	if o.OffThreshold > o.Threshold {
		return fmt.Errorf("off-threshold %v: expected at most the threshold, %v", o.OffThreshold, o.Threshold)
	}
	return nil
}
