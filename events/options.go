package events

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// Options determine what counts as an event. Start from DefaultsFor, because zero is not replaced
// by a default, except for SampleRate.
type Options struct {
	// Threshold is the lowest posterior of an event. Higher: more precision, less recall.
	Threshold float64

	// An event ends when the posterior of its label falls below OffThreshold. At 0, that never
	// happens. Higher: shorter events, and one word may make several.
	OffThreshold float64

	// Confirm is the number of consecutive evaluations that must agree. Higher: more precision,
	// less recall of short words.
	Confirm int

	// Refractory is the time in seconds after an event's onset in which no other event begins,
	// though its label may change. For a model that labels every frame, the time is not measured
	// between onsets, but between the frames at which the labels of two events reach the threshold.
	// For successive words, these are rarely less than 0.3 s apart. Higher: more precision, less
	// recall of words in quick succession.
	Refractory float64

	// A model with a mean pool is evaluated every Hop seconds, for the last Window seconds of
	// audio. For a model that labels every frame, both are 0.
	Hop, Window float64

	// Smoothing is the time in seconds over which the log-odds of a model that labels every frame
	// are averaged (docs/maths.md §10). The model is evaluated at every frame. Higher: more
	// precision, less recall of short words. For a model with a mean pool it is 0.
	Smoothing float64

	// SampleRate is the sampling rate of the audio in Hz; 0: that of the model. At another rate,
	// the steps of the model's SSMs are scaled (docs/maths.md §1.6). A model that labels every
	// frame does not support another rate.
	SampleRate float64
}

// Defaults returns the options for spoken words and a model with a mean pool.
func Defaults() Options {
	return Options{Confirm: 4, Refractory: 0.4, Hop: 0.03, Window: 1}.WithThreshold(0.7)
}

// DefaultsFor returns the options for a model: its operating point (model.Detection) if a
// calibration has stored one, and otherwise the defaults for spoken words.
func DefaultsFor(m *model.Model) Options {
	opt := Defaults()
	if m.Meta.Filterbank != nil {
		opt = Options{Confirm: 3, Refractory: 0.25, Smoothing: 0.2}.WithThreshold(0.5)
	}
	d := m.Meta.Detection
	if d == nil {
		return opt
	}
	opt.Threshold, opt.OffThreshold, opt.Confirm, opt.Refractory = d.Threshold, d.OffThreshold, d.Confirm, d.Refractory
	if opt.Smoothing > 0 && d.Smoothing > 0 {
		opt.Smoothing = d.Smoothing
	}
	if opt.Window > 0 && d.Window > 0 {
		opt.Window = d.Window
	}
	return opt
}

// WithThreshold returns the options with the threshold p, and p/2 as OffThreshold.
func (o Options) WithThreshold(p float64) Options {
	o.Threshold, o.OffThreshold = p, p/2
	return o
}

// Bounds of Options.
const (
	maxConfirm   = 1000
	maxSeconds   = 3600
	maxSmoothing = 10  // seconds
	maxRate      = 1e6 // Hz
)

// Validate returns an error for the first option that is out of bounds. The text begins with the
// name of the option's flag of s4d-fast stream.
func (o Options) Validate() error {
	if o.SampleRate == 0 {
		o.SampleRate = frameRate
	}
	if o.Smoothing != 0 {
		if o.Hop != 0 || o.Window != 0 {
			return fmt.Errorf("smoothing %v: expected 0 with a hop and a window, %v and %v s", o.Smoothing, o.Hop, o.Window)
		}
		o.Hop, o.Window = maxSeconds, maxSeconds // pass the check below
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
		{"smoothing", o.Smoothing, 0, maxSmoothing},
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
