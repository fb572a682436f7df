package train

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ForecastErrors are the errors of a network's forecasts of one column, and those of naive
// forecasts of the same rows, in the column's unit.
type ForecastErrors struct {
	Target    string     `json:"target"`
	Horizon   int        `json:"horizon"`          // rows
	Season    int        `json:"season,omitempty"` // rows; 0: the data have no season
	N         int        `json:"n"`                // number of rows that are compared
	Network   RowErrors  `json:"network"`
	Last      RowErrors  `json:"last_value"`           // of the forecast that repeats the last known value
	SeasonAgo *RowErrors `json:"season_ago,omitempty"` // of the forecast that repeats the value one season ago
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
		return nil, DataError(fmt.Errorf("train: data %q: expected forecasts of rows", opt.Info.Name))
	}
	info := opt.Info.Series
	targets := len(info.Targets)
	rows := make([]comparison, targets)
	var last, season []float32
	opt.Each = func(p Prediction) error {
		n := len(p.Target)
		last, season = slices.Grow(last[:0], n)[:n], slices.Grow(season[:0], n)[:n]
		if err := naive.Naive(last, season, p.Index); err != nil {
			return DataError(err)
		}
		for i, value := range p.Target {
			o, was, ago := i*targets/n, last[i], season[i]
			if value != value || was != was || info.Season > 0 && ago != ago {
				continue
			}
			rows[o].n++
			rows[o].network.add(p.Logits[i], value)
			rows[o].last.add(was, value)
			rows[o].season.add(ago, value)
		}
		return nil
	}
	if _, err := Evaluate(ctx, m, set, opt); err != nil {
		return nil, err
	}
	list := make([]ForecastErrors, targets)
	for o, name := range info.Targets {
		c := &rows[o]
		list[o] = ForecastErrors{Target: name, Horizon: info.Horizon, Season: info.Season, N: c.n}
		if c.n == 0 {
			continue
		}
		list[o].Network, list[o].Last = c.network.mean(c.n), c.last.mean(c.n)
		if info.Season > 0 {
			list[o].SeasonAgo = new(c.season.mean(c.n))
		}
	}
	return list, nil
}

// WriteForecastErrors writes a table for each target.
func WriteForecastErrors(w io.Writer, list []ForecastErrors) error {
	for _, e := range list {
		t := tabwriter.NewWriter(w, 0, 1, 2, ' ', 0)
		row := func(name string, e RowErrors) { fmt.Fprintf(t, "%s\t%9.4g\t%9.4g\n", name, e.RMSE, e.MAE) }
		fmt.Fprintf(t, "%s, %s ahead, %s\t%9s\t%9s\n", e.Target, count(e.Horizon, "row"), count(e.N, "value"), "RMSE", "MAE")
		row("network", e.Network)
		row("last value", e.Last)
		if e.SeasonAgo != nil {
			row(fmt.Sprintf("value one season (%s) ago", count(e.Season, "row")), *e.SeasonAgo)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
