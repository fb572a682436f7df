package model

import (
	"errors"
	"fmt"
)

// Detection is an operating point of package events for the model, and what was measured there.
type Detection struct {
	Threshold    float64 `json:"threshold"`     // posterior that makes an event
	OffThreshold float64 `json:"off_threshold"` // posterior of its label below which an event has ended
	Confirm      int     `json:"confirm"`       // evaluations in a row that must agree
	Refractory   float64 `json:"refractory"`    // seconds

	Smoothing float64 `json:"smoothing,omitempty"` // seconds over which log-odds are averaged

	// Offsets are added to the log-odds of the labels against none, one per label, so that one
	// Threshold suits them all. Nil: nothing is added.
	Offsets []float64 `json:"offsets,omitempty"`

	// The measurement is zero if the network has changed since (Model.Prune).
	FalseAlarmsPerHour float64    `json:"false_alarms_per_hour"` // in the worst background: audio without words
	MissRate           float64    `json:"miss_rate"`             // share of the words
	Interval           [2]float64 `json:"interval"`              // of the miss rate, 95 % confidence
	BackgroundHours    float64    `json:"background_hours"`      // of that background
	Words              int        `json:"words"`
}

// Measured reports whether d has error rates that were measured with its network.
func (d *Detection) Measured() bool { return d.Words > 0 || d.BackgroundHours > 0 }

// validateAudio checks what only a network that reads audio has.
func (m *Meta) validateAudio(c Config) error {
	if f := m.Filterbank; f != nil {
		switch err := f.Validate(); {
		case err != nil:
			return err
		case c.Encoder != EncoderLinear || c.DInput != f.Bands:
			return fmt.Errorf("filterbank: %d bands for a network that reads %s input with d_input %d", f.Bands, c.Encoder, c.DInput)
		case m.SampleRate != f.SampleRate:
			return fmt.Errorf("filterbank: sample rate %v, expected that of the model, %v", f.SampleRate, m.SampleRate)
		case m.Series != nil:
			return errors.New("filterbank: the network reads rows of named columns, expected audio")
		}
	}
	switch d := m.Detection; { // package events checks its values
	case d != nil && len(m.Labels) == 0:
		return errors.New("detection: the model has no labels")
	case d != nil && len(d.Offsets) != 0 && len(d.Offsets) != len(m.Labels):
		return fmt.Errorf("detection: %d offsets, expected one per label, %d", len(d.Offsets), len(m.Labels))
	}
	return nil
}

// PositionRate returns the number of positions per second of the sequences that the network reads:
// samples, or the frames of its filter bank. 0: unknown.
func (m *Meta) PositionRate() float64 {
	if m.Filterbank != nil {
		return m.Filterbank.FrameRate()
	}
	return m.SampleRate
}
