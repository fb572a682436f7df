package main

import (
	"context"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A plot of forecasts shows the last rows, two weeks of hours, of the first targets.
const forecastRows, forecastTargets = 336, 4

// forecastPanels shows the end of the test set or, without one, of the validation set, and what the
// network forecast of it. Rows without a value are left out.
func forecastPanels(ctx context.Context, m *model.Model, data *dataset.Dataset, workers int) ([]figure.Panel, error) {
	name, set := "test", data.Test
	if set == nil {
		name, set = "validation", data.Val
	}
	targets := data.Series.Targets
	panels := make([]figure.Panel, len(targets))
	for o, target := range targets {
		panels[o] = figure.Panel{X: "row of the " + name + " set", Y: target, Curves: []figure.Curve{
			{Name: target, Hue: figure.Orange}, {Name: fmt.Sprintf("forecast, %d rows ahead", data.Series.Horizon), Hue: figure.Blue},
		}}
	}
	draw := func(p train.Prediction) error {
		for i, value := range p.Target {
			curves := panels[i*len(targets)/len(p.Target)].Curves
			if value != value {
				continue
			}
			for k, y := range []float32{value, p.Logits[i]} {
				c := &curves[k]
				c.X, c.Y = append(c.X, float64(len(c.X)+1)), append(c.Y, float64(y))
			}
		}
		return nil
	}
	if _, err := train.Evaluate(ctx, m, set, train.EvalOptions{Info: data.Info, Workers: workers, Each: draw}); err != nil {
		return nil, err
	}
	for _, p := range panels {
		for k, c := range p.Curves {
			from := max(0, len(c.X)-forecastRows)
			p.Curves[k].X, p.Curves[k].Y = c.X[from:], c.Y[from:]
		}
	}
	return panels[:min(len(panels), forecastTargets)], nil
}
