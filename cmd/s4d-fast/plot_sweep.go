package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
)

type plotSweepCmd struct {
	Dir string   `arg:"" help:"Folder of a sweep." type:"path"`
	Out plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"sweep.png" type:"path" placeholder:"FILE"`
}

func (c *plotSweepCmd) Help() string {
	return `Each curve is the mean over seeds (the geometric mean on a logarithmic axis); small points are single runs. There is one
curve per combination of the other swept keys. The x axis is the last swept key whose values are numbers. It is logarithmic
if they span more than a factor of 8.

Example:
  s4d-fast plot sweep runs/figure4 --out figure4.svg`
}

func (c *plotSweepCmd) Run(std *streams, _ context.Context) error {
	p, err := sweepPanel(c.Dir)
	if err != nil {
		return err
	}
	return c.Out.curves(std, p)
}

// Reasons why a sweep cannot be drawn.
var (
	errNoAxis   = errors.New("no swept key is a number, so there is no x axis")
	errNoResult = errors.New("every run diverged in its first epoch")
)

// sweepPanel draws the validation results of a sweep's best epochs.
func sweepPanel(dir string) (figure.Panel, error) {
	s, err := train.ReadSweep(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; expected the folder that sweep --out has written", err)
	}
	if err != nil {
		return figure.Panel{}, err
	}
	axis := -1 // of the x axis
	for k, a := range s.Axes {
		if numbers(a.Values...) {
			axis = k
		}
	}
	if axis < 0 {
		return figure.Panel{}, badInput(fmt.Errorf("%s: %w", dir, errNoAxis))
	}
	p := figure.Panel{Title: "Sweep", X: paperWords(s.Axes[axis].Name())}
	name := filepath.Base(dir)                       // of a curve without other keys
	if cfg, err := s.Config(s.Rows[0]); err == nil { // the table may have been moved away from its runs
		p.Title, name = "Sweep of "+cfg.Task, paperWords(string(cfg.SSM.Init))
	}
	low, high, seeds := math.Inf(1), math.Inf(-1), false
	for _, c := range sweepCurves(s, axis) {
		if p.Y = c.metric; p.Y == "" {
			return p, badInput(fmt.Errorf("%s: %w", dir, errNoResult))
		}
		if c.name == "" {
			c.name = name
		}
		p.LogY = c.metric == relativeMSE
		low, high = min(low, slices.Min(c.xs)), max(high, slices.Max(c.xs))
		curve := c.mean()
		p.Curves, seeds = append(p.Curves, curve), seeds || len(curve.Runs) > 0
	}
	switch {
	case seeds && p.LogY:
		p.Title += ": geometric means over seeds (lines) and single runs (points)"
	case seeds:
		p.Title += ": means over seeds (lines) and single runs (points)"
	}
	p.LogX = low > 0 && high > 8*low
	return p, nil
}

func numbers(values ...string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil })
}

// sweepCurve has the runs with one combination of values.
type sweepCurve struct {
	name     string
	metric   string // of ys; "" while no run has a result
	xs, ys   []float64
	diverged int
}

// Metrics of a run.
const (
	accuracy    = "validation accuracy [%]"
	relativeMSE = "relative squared error (validation set)"
	rmse        = "validation RMSE"
)

// sweepCurves groups the rows of a table by their values of the axes other than x.
func sweepCurves(s *train.SweepTable, x int) (curves []*sweepCurve) {
	own, metric := map[string]*sweepCurve{}, ""
	for _, r := range s.Rows {
		var parts []string
		for k, a := range s.Axes {
			value := r.Values[k]
			if numbers(value) {
				value = paperWords(a.Name()) + " = " + value
			}
			if k != x {
				parts = append(parts, paperWords(value))
			}
		}
		name := strings.Join(parts, ", ")
		c := own[name]
		if c == nil {
			c = &sweepCurve{name: name}
			own[name], curves = c, append(curves, c)
		}
		at, _ := strconv.ParseFloat(r.Values[x], 64) // the axis has numbers
		c.add(at, r)
		metric = max(metric, c.metric)
	}
	for _, c := range curves {
		c.metric = metric // all runs of a task have the same, except those that diverged at once
	}
	return curves
}

// add adds a run.
func (c *sweepCurve) add(x float64, r train.SweepRow) {
	if r.Diverged {
		c.diverged++
	}
	y := math.NaN() // diverged in the first epoch
	switch m := r.Best; {
	case m == nil:
	case m.ValAccuracy != nil:
		y, c.metric = 100**m.ValAccuracy, accuracy
	case m.RelativeMSE != nil:
		y, c.metric = *m.RelativeMSE, relativeMSE
	case m.ValRMSE != nil:
		y, c.metric = *m.ValRMSE, rmse
	}
	c.xs, c.ys = append(c.xs, x), append(c.ys, y)
}

// mean returns the mean over seeds, and the single runs if there are several seeds. The mean is NaN
// if one of the runs has no result. On the logarithmic axis of relativeMSE it is the geometric
// mean.
func (c *sweepCurve) mean() figure.Curve {
	curve := figure.Curve{Name: c.name}
	if c.diverged > 0 {
		curve.Name = fmt.Sprintf("%s (%d diverged)", c.name, c.diverged)
	}
	for _, x := range slices.Compact(slices.Sorted(slices.Values(c.xs))) {
		sum, n := 0.0, 0.0
		for i, y := range c.ys {
			if c.metric == relativeMSE {
				y = math.Log(y)
			}
			if c.xs[i] == x {
				sum, n = sum+y, n+1
			}
		}
		if sum /= n; c.metric == relativeMSE {
			sum = math.Exp(sum)
		}
		curve.X, curve.Y = append(curve.X, x), append(curve.Y, sum)
	}
	if len(c.xs) > len(curve.X) {
		for i, y := range c.ys {
			curve.Runs = append(curve.Runs, figure.Point{X: c.xs[i], Y: y})
		}
	}
	return curve
}
