package model

import (
	"errors"
	"fmt"
	"math"
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
	FalseAlarmsPerHour float64    `json:"false_alarms_per_hour"` // in audio without words
	MissRate           float64    `json:"miss_rate"`             // share of the words
	Interval           [2]float64 `json:"interval"`              // of the miss rate, 95 % confidence
	BackgroundHours    float64    `json:"background_hours"`      // of audio without words
	Words              int        `json:"words"`
}

// Measured reports whether d has error rates that were measured with its network.
func (d *Detection) Measured() bool { return d.Words > 0 || d.BackgroundHours > 0 }

// unmeasured returns the operating point without the measurement.
func (d *Detection) unmeasured() *Detection {
	if d == nil {
		return nil
	}
	return &Detection{
		Threshold: d.Threshold, OffThreshold: d.OffThreshold, Confirm: d.Confirm, Refractory: d.Refractory,
		Smoothing: d.Smoothing, Offsets: d.Offsets,
	}
}

// Bounds of a Detection, which package events shares.
const (
	maxConfirm = 1000
	maxSeconds = 3600
	maxOffset  = 100
)

func (d *Detection) validate(labels int) error {
	if len(d.Offsets) != 0 && len(d.Offsets) != labels {
		return fmt.Errorf("detection: %d offsets, expected one per label, %d", len(d.Offsets), labels)
	}
	for _, v := range d.Offsets {
		if !(math.Abs(v) <= maxOffset) {
			return fmt.Errorf("detection: offsets %v: expected %d … %d", v, -maxOffset, maxOffset)
		}
	}
	for _, v := range []struct {
		name             string
		value, low, high float64
	}{
		{"threshold", d.Threshold, 0, 1}, {"off_threshold", d.OffThreshold, 0, d.Threshold},
		{"confirm", float64(d.Confirm), 1, maxConfirm}, {"refractory", d.Refractory, 0, maxSeconds},
		{"smoothing", d.Smoothing, 0, maxSeconds},
		{"false_alarms_per_hour", d.FalseAlarmsPerHour, 0, math.MaxFloat64}, {"miss_rate", d.MissRate, 0, 1},
		{"interval", d.Interval[0], 0, d.Interval[1]}, {"interval", d.Interval[1], 0, 1},
		{"background_hours", d.BackgroundHours, 0, math.MaxFloat64}, {"words", float64(d.Words), 0, math.MaxInt32},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			return fmt.Errorf("detection: %s %v: expected %v … %v", v.name, v.value, v.low, v.high)
		}
	}
	return nil
}

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
	if m.Detection == nil {
		return nil
	}
	if len(m.Labels) == 0 {
		return errors.New("detection: the model has no labels")
	}
	return m.Detection.validate(len(m.Labels))
}

// PositionRate returns the number of positions per second of the sequences that the network reads:
// samples, or the frames of its filter bank. 0: unknown.
func (m *Meta) PositionRate() float64 {
	if m.Filterbank != nil {
		return m.Filterbank.FrameRate()
	}
	return m.SampleRate
}
