package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/series"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A plot of forecasts shows so many rows, two weeks of hours, of the first targets.
const forecastRows, forecastTargets = 336, 4

// forecastPanels shows the end of the test set or, without one, of the validation set, and what the
// network forecast of it. In the mode anomaly it also shows the scores of the whole set, and of the
// rows those around the largest score. Rows without a value are left out.
func forecastPanels(ctx context.Context, m *model.Model, data *dataset.Dataset, workers int) ([]figure.Panel, error) {
	name, set := "test", data.Test
	if set == nil {
		name, set = "validation", data.Val
	}
	targets := data.Series.Targets
	panels, scores := make([]figure.Panel, len(targets)), make([]figure.Panel, len(targets))
	deviations := make([]series.Deviation, len(targets))
	for o, target := range targets {
		deviations[o] = series.NewDeviation(&m.Meta, o)
		scores[o] = figure.Panel{X: "row of the " + name + " set", Y: "score of " + target, Curves: []figure.Curve{{Name: "score", Hue: figure.Red}}}
		panels[o] = figure.Panel{X: "row of the " + name + " set", Y: target, Curves: []figure.Curve{
			{Name: target, Hue: figure.Orange}, {Name: fmt.Sprintf("forecast, %s ahead", plural(data.Series.Horizon, "row")), Hue: figure.Blue},
		}}
	}
	draw := func(p train.Prediction) error {
		for i, value := range p.Target {
			o := i * len(targets) / len(p.Target)
			curves := panels[o].Curves
			if value != value {
				continue
			}
			score := deviations[o].Score(float64(value) - float64(p.Logits[i]))
			for k, y := range []float64{float64(value), float64(p.Logits[i]), score} {
				c := &scores[o].Curves[0]
				if k < 2 {
					c = &curves[k]
				}
				c.X, c.Y = append(c.X, float64(len(c.X)+1)), append(c.Y, y)
			}
		}
		return nil
	}
	if _, err := train.Evaluate(ctx, m, set, train.EvalOptions{Info: data.Info, Workers: workers, Each: draw}); err != nil {
		return nil, err
	}
	var shown []figure.Panel
	for o, p := range panels[:min(len(panels), forecastTargets)] {
		s := scores[o].Curves[0].Y
		to := len(s)
		if data.Series.Mode == model.SeriesAnomaly && len(s) > 0 {
			to = min(len(s), max(forecastRows, slices.Index(s, slices.Max(s))+forecastRows/2))
		}
		for k, c := range p.Curves {
			from := max(0, to-forecastRows)
			p.Curves[k].X, p.Curves[k].Y = c.X[from:to], c.Y[from:to]
		}
		if shown = append(shown, p); data.Series.Mode == model.SeriesAnomaly {
			shown = append(shown, scores[o])
		}
	}
	return shown, nil
}
