package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
)

// What a network computes from series.
const (
	SeriesClassification = "classification" // one class per series
	SeriesRegression     = "regression"     // numbers per series
	SeriesForecast       = "forecast"       // at every row, columns some rows later
	SeriesAnomaly        = "anomaly"        // the same; the errors of the forecasts are scored
)

// What replaces a missing value.
const (
	MissingError       = ""            // nothing: it is an error
	MissingInterpolate = "interpolate" // the line between its neighbours in time
	MissingPrevious    = "previous"    // the value before it
)

// SeriesModes returns the values of Series.Mode.
func SeriesModes() []string {
	return []string{SeriesClassification, SeriesRegression, SeriesForecast, SeriesAnomaly}
}

// Series describes a network that reads rows of named columns.
type Series struct {
	Mode    string   `json:"mode"`
	Columns []string `json:"columns"` // of the input, in the order of the channels
	// Targets are the names of a regression's outputs, or the columns that a forecast predicts.
	Targets []string `json:"targets,omitempty"`
	Horizon int      `json:"horizon,omitempty"` // forecast: the output at row t predicts row t + Horizon
	Season  int      `json:"season,omitempty"`  // rows per season; 0: none
	Missing string   `json:"missing,omitempty"` // what replaced missing values in training
	ID      string   `json:"id,omitempty"`      // column that identifies a row's series; "": none
	Time    string   `json:"time,omitempty"`    // column of times; "": none
	// Offsets are subtracted from the values of each column, in float64, before the network reads
	// them as float32, and added to forecasts. Nil: none.
	Offsets []float64 `json:"offsets,omitempty"`
	// Residual is the root mean square error of the forecast of each target on the validation set,
	// in the target's unit. Nil: not measured.
	Residual []float32 `json:"residual,omitempty"`
	// Window is the time constant in rows of the running deviation in which anomaly scores are
	// expressed.
	Window int `json:"window,omitempty"`
}

// Forecasts reports whether the network predicts columns of later rows.
func (s *Series) Forecasts() bool { return s.Mode == SeriesForecast || s.Mode == SeriesAnomaly }

// TargetColumn returns the index in Columns of the column that output o of a forecast predicts.
func (s *Series) TargetColumn(o int) int { return slices.Index(s.Columns, s.Targets[o]) }

// Offset returns the offset of a column.
func (s *Series) Offset(column int) float64 {
	if s == nil || column < 0 || column >= len(s.Offsets) {
		return 0
	}
	return s.Offsets[column]
}

// MaxHorizon bounds horizon, season and window.
const MaxHorizon = 1 << 24

// validate returns an error for the first value that does not match the network.
func (s *Series) validate(c Config) error {
	if !slices.Contains(SeriesModes(), s.Mode) {
		return fmt.Errorf("series: mode %.40q, expected one of %q", s.Mode, SeriesModes())
	}
	if missing := []string{MissingError, MissingInterpolate, MissingPrevious}; !slices.Contains(missing, s.Missing) {
		return fmt.Errorf("series: missing %.40q, expected one of %q", s.Missing, missing)
	}
	if len(s.Columns) != c.DInput {
		return fmt.Errorf("series: %d columns for %d input channels", len(s.Columns), c.DInput)
	}
	if s.Mode != SeriesClassification && len(s.Targets) != c.DOutput {
		return fmt.Errorf("series: %d targets for %d outputs", len(s.Targets), c.DOutput)
	}
	for name, list := range map[string][]string{"columns": s.Columns, "targets": s.Targets} {
		if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) != len(list) || slices.Contains(list, "") {
			return fmt.Errorf("series: %s %s: expected different names", name, suggest.List(list))
		}
	}
	if len(s.Offsets) > 0 && len(s.Offsets) != len(s.Columns) {
		return fmt.Errorf("series: %d offsets for %d columns", len(s.Offsets), len(s.Columns))
	}
	for _, v := range []int{s.Horizon, s.Season, s.Window} {
		if v < 0 || v > MaxHorizon {
			return fmt.Errorf("series: horizon %d, season %d, window %d: expected 0 … %d", s.Horizon, s.Season, s.Window, MaxHorizon)
		}
	}
	if s.Forecasts() {
		return s.validateForecast(c)
	}
	return nil
}

func (s *Series) validateForecast(c Config) error {
	switch {
	case s.Horizon < 1:
		return fmt.Errorf("series: horizon %d: expected at least 1 row", s.Horizon)
	case c.Pool != PoolNone:
		return fmt.Errorf("series: pool %q: a forecast requires %q", c.Pool, PoolNone)
	case c.SSM.Bidirectional:
		return errors.New("series: the network is bidirectional: expected a causal one for a forecast")
	case len(s.Residual) > 0 && len(s.Residual) != len(s.Targets):
		return fmt.Errorf("series: %d residuals for %d targets", len(s.Residual), len(s.Targets))
	}
	for o, name := range s.Targets {
		if s.TargetColumn(o) < 0 {
			return fmt.Errorf("series: target %.40q is not one of the columns %s", name, suggest.List(s.Columns))
		}
	}
	return nil
}
