package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

func (c *plotSweepCmd) Run(std *streams) error {
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
	for _, r := range s.Rows {
		if _, metric := resultOf(r); metric != "" {
			p.Y = metric // all runs of a task have the same
		}
	}
	if p.Y == "" {
		return p, badInput(fmt.Errorf("%s: %w", dir, errNoResult))
	}
	p.LogY = p.Y == relativeMSE
	p.Curves = sweepCurves(s, axis, name)
	low, high, seeds := math.Inf(1), math.Inf(-1), false
	for i := range p.Curves {
		c := &p.Curves[i]
		means(c, p.LogY)
		low, high = min(low, c.X[0]), max(high, c.X[len(c.X)-1])
		if len(c.Runs) > len(c.X) {
			seeds = true
		} else {
			c.Runs = nil
		}
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

// relativeMSE is a metric of runs with a logarithmic axis.
const relativeMSE = "relative squared error (validation set)"

// resultOf returns the best validation result of a run and its metric, or NaN if the run diverged
// in its first epoch.
func resultOf(r train.SweepRow) (y float64, metric string) {
	switch m := r.Best; {
	case m == nil:
	case m.ValAccuracy != nil:
		return 100 * *m.ValAccuracy, "validation accuracy [%]"
	case m.RelativeMSE != nil:
		return *m.RelativeMSE, relativeMSE
	case m.ValRMSE != nil:
		return *m.ValRMSE, "validation RMSE"
	}
	return math.NaN(), ""
}

// sweepCurves groups the runs of a table by their values of the axes other than x. A curve without
// other axes has the given name.
func sweepCurves(s *train.SweepTable, x int, name string) (curves []figure.Curve) {
	diverged := map[string]int{}
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
		own := cmp.Or(strings.Join(parts, ", "), name)
		i := slices.IndexFunc(curves, func(c figure.Curve) bool { return c.Name == own })
		if i < 0 {
			i, curves = len(curves), append(curves, figure.Curve{Name: own})
		}
		at, _ := strconv.ParseFloat(r.Values[x], 64) // the axis has numbers
		y, _ := resultOf(r)
		curves[i].Runs = append(curves[i].Runs, figure.Point{X: at, Y: y})
		if r.Diverged {
			diverged[own]++
		}
	}
	for i := range curves {
		if n := diverged[curves[i].Name]; n > 0 {
			curves[i].Name += fmt.Sprintf(" (%d diverged)", n)
		}
	}
	return curves
}

// means sets a curve to the means of its runs over seeds. A mean is NaN if one of the runs has no
// result.
func means(c *figure.Curve, geometric bool) {
	sums := map[float64][2]float64{} // and numbers of runs
	for _, r := range c.Runs {
		if s := sums[r.X]; geometric {
			sums[r.X] = [2]float64{s[0] + math.Log(r.Y), s[1] + 1}
		} else {
			sums[r.X] = [2]float64{s[0] + r.Y, s[1] + 1}
		}
	}
	for _, x := range slices.Sorted(maps.Keys(sums)) {
		y := sums[x][0] / sums[x][1]
		if geometric {
			y = math.Exp(y)
		}
		c.X, c.Y = append(c.X, x), append(c.Y, y)
	}
}
