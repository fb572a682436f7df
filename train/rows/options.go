package rows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
)

// Layouts of arrays.
const (
	LayoutChannelsFirst = "channels-first"
	LayoutChannelsLast  = "channels-last"
)

// Options select what a network learns from series. The zero value of a field is its default.
type Options struct {
	// Mode is one of model.SeriesModes. "" is a forecast if Horizon is set, and otherwise a
	// classification.
	Mode string
	// Targets are the column with the class, the columns with the numbers of a regression, or the
	// input columns to forecast (default: all).
	Targets []string
	// Labels are the classes of a classification in their order, such as those of the model to
	// evaluate. A class of the series that is not one of them is an error. Nil: the classes of the
	// series, at least two, in the order of their names; whole numbers come first, by value.
	Labels []string
	// ArrayLayout is LayoutChannelsFirst (the default), or LayoutChannelsLast for arrays x of the
	// shape [n][length][channels]. Without it, an array columns with as many names as the last axis
	// is long, and not the one before, selects LayoutChannelsLast.
	ArrayLayout string
	// Missing selects the replacement of missing values. By default they are errors. For forecasts
	// it must be model.MissingPrevious, because an interpolation uses later values. Before the
	// first value of a channel, its mean over the training set is the replacement.
	Missing string
	// Means are the means of channels, by name, that replace those of the training set. To evaluate
	// a model on other data, set them to those of its training set, model.Meta.InputMean.
	Means map[string]float32
	// Offsets are the offsets of columns, by name, in place of those that the data require. To
	// evaluate a model, set them to those of model.Series. Other columns are then left out.
	Offsets map[string]float64
	// MissingValues are cells and numbers that are missing values, such as -9999, beside the usual
	// ones.
	MissingValues []string
	// Validation and Test are the fractions of the data in these sets, unless the data have splits.
	// For classification and regression they are fractions of the series in each class, selected by
	// a hash of the IDs, and a class of several series has at least one for validation. For
	// forecasts they are fractions of the rows of each series: the last rows are the test set, and
	// the rows before them the validation set. If Validation is 0, it is 0.1. Training requires a
	// validation set, so it cannot be empty. Test may be 0.
	Validation, Test float64

	Horizon int // forecast: rows from the last known row to the predicted one; default 1
	Season  int // rows per season, for the naive forecast from one season ago; 0: none
	// An example of a forecast is a window: Window rows with targets. The network also reads the
	// Context rows before it, as far as there are any. In every epoch, the windows of the training
	// set begin at other rows, a function of Seed and epoch. The default of Window is a quarter of
	// the longest series, at least 16 and at most 512. The default of Context is a season, at least
	// 64.
	Window, Context int
	Seed            uint64

	withoutNumber map[string]error // of columns, the first cell that is no number
	selectable    bool             // the inputs are all columns that no option names, so some may be left out
}

// Check returns an error for the first option that is invalid whatever the data are.
func (o Options) Check() error { return o.check() }

// check sets the mode and returns an error for the first invalid option.
func (o *Options) check() error {
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
	}
	if !slices.Contains([]string{"", LayoutChannelsFirst, LayoutChannelsLast}, o.ArrayLayout) {
		return fmt.Errorf("layout %q: expected %q or %q for arrays", o.ArrayLayout, LayoutChannelsFirst, LayoutChannelsLast)
	}
	for _, s := range []struct {
		key   string
		value int
	}{{"horizon", o.Horizon}, {"season", o.Season}, {"window", o.Window}, {"context", o.Context}} {
		if s.value != 0 && !o.forecasts() {
			return fmt.Errorf("%s %d: an option of the modes %s and %s; the mode is %s", s.key, s.value, model.SeriesForecast, model.SeriesAnomaly, o.Mode)
		}
		if s.value < 0 || s.value > model.MaxHorizon {
			return fmt.Errorf("%s %d: expected 0 … %d", s.key, s.value, model.MaxHorizon)
		}
	}
	return nil
}

// resolve sets the defaults of a forecast. columns are those of the series, longest is the number
// of rows of the longest series.
func (o *Options) resolve(columns []string, longest int) error {
	if !o.forecasts() {
		return nil
	}
	for _, name := range o.Targets {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("target %q: expected one of the input columns %s", name, suggest.List(columns))
		}
	}
	if len(o.Targets) == 0 {
		o.Targets = columns
	}
	o.Horizon = cmp.Or(o.Horizon, 1)
	o.Window = cmp.Or(o.Window, min(max(longest/4, 16), 512))
	o.Context = cmp.Or(o.Context, max(o.Season, 64))
	return nil
}

func (o *Options) forecasts() bool {
	return o.Mode == model.SeriesForecast || o.Mode == model.SeriesAnomaly
}
