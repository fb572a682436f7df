package events

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// Options determine what counts as an event. Start from DefaultsFor, because zero is not replaced
// by a default.
type Options struct {
	// Threshold is the lowest posterior of an event. Higher: more precision, less recall.
	Threshold float64 `json:"threshold"`

	// An event ends when the posterior of its label falls below OffThreshold. At 0, that never
	// happens. Higher: shorter events, and one word may make several.
	OffThreshold float64 `json:"off_threshold"`

	// Confirm is the number of consecutive frames that must agree. Higher: more precision, less
	// recall of short words.
	Confirm int `json:"confirm"`

	// Refractory is the shortest time in seconds between the frames at which the labels of two
	// events reach the threshold. For successive words, these are rarely less than 0.3 s apart.
	// Within this time, the label of an event may change. Higher: more precision, less recall of
	// words in quick succession.
	Refractory float64 `json:"refractory"`

	// Smoothing is the time in seconds over which the log-odds of the labels are averaged
	// (docs/maths.md §10). Higher: more precision, less recall of short words.
	Smoothing float64 `json:"smoothing"`
}

// Defaults returns the options for spoken words.
func Defaults() Options {
	return Options{Confirm: 3, Refractory: 0.25, Smoothing: 0.2}.WithThreshold(0.5)
}

// DefaultsFor returns the options for a model: its operating point (model.Detection) if a
// calibration has stored one, and otherwise the defaults for spoken words.
func DefaultsFor(m *model.Model) Options {
	opt, d := Defaults(), m.Meta.Detection
	if d == nil {
		return opt
	}
	opt.Threshold, opt.OffThreshold, opt.Confirm, opt.Refractory = d.Threshold, d.OffThreshold, d.Confirm, d.Refractory
	if d.Smoothing > 0 {
		opt.Smoothing = d.Smoothing
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
	maxSmoothing = 10 // seconds
)

// Validate returns an error for the first option that is out of bounds. The text begins with the
// name of the option.
func (o Options) Validate() error {
	for _, v := range []struct {
		name             string
		value, low, high float64
	}{
		{"threshold", o.Threshold, 0, 1},
		{"off-threshold", o.OffThreshold, 0, 1},
		{"confirm", float64(o.Confirm), 1, maxConfirm},
		{"refractory", o.Refractory, 0, maxSeconds},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			return fmt.Errorf("%s %v: expected %v … %v", v.name, v.value, v.low, v.high)
		}
	}
	if !(o.Smoothing > 0 && o.Smoothing <= maxSmoothing) {
		return fmt.Errorf("smoothing %v: expected more than 0 and at most %d seconds", o.Smoothing, maxSmoothing)
	}
	if o.OffThreshold > o.Threshold {
		return fmt.Errorf("off-threshold %v: expected at most the threshold, %v", o.OffThreshold, o.Threshold)
	}
	return nil
}
