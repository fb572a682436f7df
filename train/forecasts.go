package train

import (
	"context"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ForecastErrors are the errors of a network's forecasts of one column, and those of naive
// forecasts of the same rows, in the column's unit.
type ForecastErrors struct {
	Target          string
	Horizon, Season int // rows; Season is 0 if there is no forecast from one season ago
	N               int // number of rows that are compared
	Network         RowErrors
	Last            RowErrors // of the forecast that repeats the last known value
	SeasonAgo       RowErrors // of the forecast that repeats the value one season ago; 0 if Season is 0
}

// RowErrors are the errors of forecasts of some rows.
type RowErrors struct {
	RMSE float64 `json:"rmse"` // root mean square error
	MAE  float64 `json:"mae"`  // mean absolute error
}

// errorSums accumulates the squared and the absolute errors of a forecast.
type errorSums struct{ squares, sizes float64 }

func (s *errorSums) add(forecast, value float32) {
	e := float64(forecast) - float64(value)
	s.squares += e * e
	s.sizes += math.Abs(e)
}

func (s *errorSums) mean(n int) RowErrors {
	return RowErrors{math.Sqrt(s.squares / float64(n)), s.sizes / float64(n)}
}

// comparison has the errors of three forecasts of the same rows.
type comparison struct {
	n                     int
	network, last, season errorSums
}

// CompareForecasts runs a network that forecasts over a set, and returns its errors and those of
// naive forecasts for each target. One naive forecast repeats the last known value; with a season,
// another repeats the value one season ago. Only rows for which all forecasts and the target are
// known count. opt.Info describes the data.
func CompareForecasts(ctx context.Context, m *model.Model, set dataset.Set, opt EvalOptions) ([]ForecastErrors, error) {
	naive, ok := set.(dataset.ForecastSet)
	if !ok || !opt.Info.Forecasts() {
		return nil, dataError{fmt.Errorf("train: data %q: expected forecasts of rows", opt.Info.Name)}
	}
	targets := len(opt.Info.Series.Targets)
	rows, seasonal := make([]comparison, targets), make([]comparison, targets)
	var last, season []float32
	opt.Each = func(p Prediction) error {
		n := len(p.Target)
		last, season = resized(last, n), resized(season, n)
		if err := naive.Naive(last, season, p.Index); err != nil {
			return dataError{err}
		}
		for i, value := range p.Target {
			o, was, ago := i*targets/n, last[i], season[i]
			if value != value || was != was {
				continue
			}
			rows[o].add(p.Logits[i], was, ago, value)
			if ago == ago {
				seasonal[o].add(p.Logits[i], was, ago, value)
			}
		}
		return nil
	}
	if _, err := Evaluate(ctx, m, set, opt); err != nil {
		return nil, err
	}
	list := make([]ForecastErrors, targets)
	for o, name := range opt.Info.Series.Targets {
		c := &seasonal[o]
		list[o] = ForecastErrors{Target: name, Horizon: opt.Info.Series.Horizon, Season: opt.Info.Series.Season}
		if c.n == 0 {
			c, list[o].Season = &rows[o], 0
		}
		if list[o].N = c.n; c.n == 0 {
			continue
		}
		list[o].Network, list[o].Last = c.network.mean(c.n), c.last.mean(c.n)
		if list[o].Season > 0 {
			list[o].SeasonAgo = c.season.mean(c.n)
		}
	}
	return list, nil
}

func (c *comparison) add(forecast, last, season, value float32) {
	c.n++
	c.network.add(forecast, value)
	c.last.add(last, value)
	c.season.add(season, value)
}

// resized returns a slice of length n, in the memory of x if that is large enough.
func resized(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}

// WriteForecastErrors writes a table for each target.
func WriteForecastErrors(w io.Writer, list []ForecastErrors) error {
	for _, e := range list {
		rows := []struct {
			name string
			RowErrors
		}{{"network", e.Network}, {"last value", e.Last}}
		if e.Season > 0 {
			rows = append(rows, struct {
				name string
				RowErrors
			}{fmt.Sprintf("value one season (%s) ago", count(e.Season, "row")), e.SeasonAgo})
		}
		title := fmt.Sprintf("%s, %s ahead, %s", e.Target, count(e.Horizon, "row"), count(e.N, "value"))
		width := utf8.RuneCountInString(title)
		for _, r := range rows {
			width = max(width, len(r.name))
		}
		if _, err := fmt.Fprintf(w, "%-*s  %9s  %9s\n", width, title, "RMSE", "MAE"); err != nil {
			return err
		}
		for _, r := range rows {
			if _, err := fmt.Fprintf(w, "%-*s  %9.4g  %9.4g\n", width, r.name, r.RMSE, r.MAE); err != nil {
				return err
			}
		}
	}
	return nil
}
