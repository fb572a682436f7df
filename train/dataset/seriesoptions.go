package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/model"
)

// SeriesOptions say what is learnt from series. The zero value of a field is its default.
type SeriesOptions struct {
	// Mode is one of model.SeriesModes; "": a forecast if Horizon is set, otherwise a
	// classification.
	Mode string
	// Targets are the columns with the class (one column) or the numbers of each series, or those
	// that a forecast predicts (default: every input column).
	Targets []string
	// Missing is what replaces a missing value: by default nothing, it is an error. A forecast
	// takes model.MissingPrevious only, because an interpolation knows later values. Where no value
	// is known, the mean of the channel over the training set replaces it.
	Missing string
	// Validation and Test are fractions of the data, if the data itself has no such split. For
	// classification and regression they count series: each class gives its fraction, selected by a
	// hash of the IDs. For forecasts they count rows of each series: the last rows are the test
	// set, and those before them the validation set. Validation is 0.1 by default, Test is 0.
	Validation, Test float64

	Horizon int // forecast: rows from the last known row to the predicted one; default 1
	Season  int // rows per season, for the naive forecast of a season ago; 0: none
	// Window is the number of rows that an example of a forecast has targets for, and Context the
	// number of rows before them, where there are such. In every epoch the training examples are
	// other windows, a function of Seed and epoch. Defaults of Window: a quarter of the longest
	// series, at least 16 and at most 512; of Context: a season, at least 64.
	Window, Context int
	Seed            uint64
	// DeviationWindow is the time constant in rows of the running deviation of anomaly scores;
	// default 256.
	DeviationWindow int
}

// Check returns an error for the first invalid option, as far as it does not depend on the data.
func (o SeriesOptions) Check() error { return o.check() }

// check sets the mode and returns an error for the first invalid option.
func (o *SeriesOptions) check() error {
	if o.Mode == "" {
		o.Mode = model.SeriesClassification
		if o.Horizon != 0 {
			o.Mode = model.SeriesForecast
		}
	}
	switch {
	case !slices.Contains(model.SeriesModes(), o.Mode):
		return fmt.Errorf("mode %q: expected one of %q", o.Mode, model.SeriesModes())
	case !slices.Contains([]string{model.MissingError, model.MissingInterpolate, model.MissingPrevious}, o.Missing):
		return fmt.Errorf("missing %q: expected %q or %q", o.Missing, model.MissingInterpolate, model.MissingPrevious)
	case !(o.Validation >= 0 && o.Test >= 0 && o.Validation+o.Test < 1):
		return fmt.Errorf("validation %g, test %g: expected fractions with a sum below 1", o.Validation, o.Test)
	case o.Mode == model.SeriesClassification && len(o.Targets) > 1:
		return fmt.Errorf("targets %q: a series has one class, expected one column", o.Targets)
	case o.Mode == model.SeriesRegression && len(o.Targets) == 0:
		return errors.New("regression: no targets, expected the names of the columns with the numbers of a series")
	case o.forecasts() && o.Missing == model.MissingInterpolate:
		return fmt.Errorf("missing %q: an interpolation uses later values, which a forecast does not know: expected %q", o.Missing, model.MissingPrevious)
	case o.DeviationWindow != 0 && o.Mode != model.SeriesAnomaly:
		return fmt.Errorf("deviation window %d: an option of mode %s; the mode is %s", o.DeviationWindow, model.SeriesAnomaly, o.Mode)
	}
	for _, s := range []struct {
		key   string
		value int
	}{{"horizon", o.Horizon}, {"season", o.Season}, {"window", o.Window}, {"context", o.Context}, {"deviation window", o.DeviationWindow}} {
		if s.value != 0 && !o.forecasts() {
			return fmt.Errorf("%s %d: an option of the modes %s and %s; the mode is %s", s.key, s.value, model.SeriesForecast, model.SeriesAnomaly, o.Mode)
		}
		if s.value < 0 || s.value > model.MaxHorizon {
			return fmt.Errorf("%s %d: expected 0 … %d", s.key, s.value, model.MaxHorizon)
		}
	}
	return nil
}

// resolve sets the defaults of a forecast of series of these columns, the longest of so many rows.
func (o *SeriesOptions) resolve(columns []string, longest int) error {
	if !o.forecasts() {
		return nil
	}
	if len(o.Targets) == 0 {
		o.Targets = columns
	}
	for _, name := range o.Targets {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("target %q: expected one of the input columns %.300q", name, columns)
		}
	}
	o.Horizon = cmp.Or(o.Horizon, 1)
	o.Window = cmp.Or(o.Window, min(max(longest/4, 16), 512))
	o.Context = cmp.Or(o.Context, max(o.Season, 64))
	if o.Mode == model.SeriesAnomaly {
		o.DeviationWindow = cmp.Or(o.DeviationWindow, 256)
	}
	return nil
}

func (o *SeriesOptions) forecasts() bool {
	return o.Mode == model.SeriesForecast || o.Mode == model.SeriesAnomaly
}
