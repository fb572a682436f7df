package main

import (
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
	Dirs []string `arg:"" help:"Folders of sweeps." type:"path"`
	Out  plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"sweep.png" type:"path" placeholder:"FILE"`
}

func (c *plotSweepCmd) Help() string {
	return `Each curve is the mean over seeds (the geometric mean on a logarithmic axis); small points are single runs. There is one
curve per combination of the other swept keys. All folders must sweep the same key. Other differences appear in the legend.
The x axis is the last swept key whose values are numbers. It is logarithmic if they span more than a factor of 8.

Examples:
  s4d-fast plot sweep runs/figure4 --out figure4.svg
  s4d-fast plot sweep runs/figure4-s4d runs/figure4-dfout`
}

func (c *plotSweepCmd) Run(std *streams, _ *ctxBox) error {
	p, err := sweepPanel(c.Dirs)
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

// sweepPanel draws the validation results of the best epochs of sweeps over one key.
func sweepPanel(dirs []string) (figure.Panel, error) {
	sweeps, err := readSweeps(dirs)
	if err != nil {
		return figure.Panel{}, err
	}
	p := figure.Panel{Title: "Sweep", X: axisText(sweeps[0].Axes[sweeps[0].axis])}
	if sweeps[0].first != nil {
		p.Title += " of " + sweeps[0].first.Task
	}
	low, high, seeds := math.Inf(1), math.Inf(-1), false
	for _, c := range sweepCurves(sweeps) {
		if p.Y == "" {
			p.Y, p.LogY = c.metric, c.metric == relativeMSE
		}
		if c.metric != "" && c.metric != p.Y {
			return p, badInput(fmt.Errorf("%s: %s: the sweeps have different metrics, %s and %s", strings.Join(dirs, ", "), c.name, p.Y, c.metric))
		}
		low, high = min(low, slices.Min(c.xs)), max(high, slices.Max(c.xs))
		curve := c.mean()
		p.Curves, seeds = append(p.Curves, curve), seeds || len(curve.Runs) > 0
	}
	switch {
	case p.Y == "":
		return p, badInput(fmt.Errorf("%s: %w", strings.Join(dirs, ", "), errNoResult))
	case seeds && p.LogY:
		p.Title += ": geometric means over seeds (lines) and single runs (points)"
	case seeds:
		p.Title += ": means over seeds (lines) and single runs (points)"
	}
	p.LogX = low > 0 && high > 8*low
	return p, nil
}

// sweepTable is a table with the index of the axis that is drawn.
type sweepTable struct {
	*train.SweepTable
	axis  int
	first *train.Config // of the first run; nil if the table was moved away from its runs
}

// readSweeps reads tables, and selects the last axis whose values are numbers. It checks that this
// axis has the same keys in all tables.
func readSweeps(dirs []string) (list []sweepTable, err error) {
	for _, dir := range dirs {
		s := sweepTable{axis: -1}
		if s.SweepTable, err = train.ReadSweep(dir); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; expected the folder that sweep --out has written", err)
			}
			return nil, trainError(err)
		}
		for k, a := range s.Axes {
			if numbers(a.Values...) {
				s.axis = k
			}
		}
		if s.axis < 0 {
			return nil, badInput(fmt.Errorf("%s: %w", dir, errNoAxis))
		}
		if cfg, err := s.Config(s.Rows[0]); err == nil {
			s.first = &cfg
		}
		list = append(list, s)
		if first, here := list[0].Axes[list[0].axis].Name(), s.Axes[s.axis].Name(); here != first {
			return nil, usageError(fmt.Errorf("%s sweeps %s, and %s sweeps %s: expected the same key", dirs[0], first, dir, here))
		}
	}
	return list, nil
}

func numbers(values ...string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil })
}

// sweepCurve has the runs with one combination of values.
type sweepCurve struct {
	name, dir string
	metric    string // of ys; "" while no run has a result
	xs, ys    []float64
	diverged  int
}

// Metrics of a run.
const (
	accuracy    = "validation accuracy [%]"
	relativeMSE = "relative squared error (validation set)"
	rmse        = "validation RMSE"
)

// sweepCurves groups the rows of each table by their values of the other keys.
func sweepCurves(sweeps []sweepTable) (curves []*sweepCurve) {
	keys, named := namingKeys(sweeps), map[string]int{}
	for _, s := range sweeps {
		own := map[string]*sweepCurve{}
		for _, r := range s.Rows {
			name := s.curveName(r, keys)
			c := own[name]
			if c == nil {
				c = &sweepCurve{name: name, dir: s.Dir}
				own[name], curves = c, append(curves, c)
				named[name]++
			}
			x, _ := strconv.ParseFloat(r.Values[s.axis], 64) // readSweeps has checked it
			c.add(x, r)
		}
	}
	for _, c := range curves {
		switch {
		case len(curves) == 1 && c.name == "" && sweeps[0].first != nil:
			c.name = string(sweeps[0].first.SSM.Init)
		case c.name == "" || len(sweeps) > 1 && named[c.name] > 1: // the folder distinguishes them
			c.name = strings.TrimSpace(c.name + " " + filepath.Base(c.dir))
		}
	}
	return curves
}

// namingKeys returns the keys that distinguish curves: the first one of each other axis, and those
// whose fixed values differ between the tables.
func namingKeys(sweeps []sweepTable) (keys []string) {
	swept := []string{"seed"}
	for _, s := range sweeps {
		for k, a := range s.Axes {
			if k != s.axis && !slices.Contains(keys, a.Keys[0]) {
				keys = append(keys, a.Keys[0])
			}
			swept = append(swept, a.Keys...)
		}
	}
	for _, s := range sweeps {
		if s.first == nil || sweeps[0].first == nil {
			continue
		}
		for _, key := range sweeps[0].first.Differences(s.first) {
			if !slices.Contains(swept, key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// curveName returns a row's values of the keys.
func (s *sweepTable) curveName(r train.SweepRow, keys []string) string {
	var parts []string
	for _, key := range keys {
		value := ""
		if k := slices.IndexFunc(s.Axes, func(a train.Axis) bool { return a.Keys[0] == key }); k >= 0 {
			value = r.Values[k]
		} else if s.first != nil {
			value, _ = s.first.Value(key) // the key is one of a configuration
		}
		if numbers(value) {
			value = key[strings.LastIndex(key, ".")+1:] + "=" + value
		}
		if value != "" {
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, ", ")
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

// axisText returns the title of an axis: the symbols of steps, or its keys.
func axisText(a train.Axis) string {
	return strings.NewReplacer("ssm.dt_min+ssm.dt_max", "Δ", "ssm.xi_min+ssm.xi_max", "ξ", "ssm.dt_min", "Δ min", "ssm.dt_max", "Δ max",
		"ssm.xi_min", "ξ min", "ssm.xi_max", "ξ max", "+", ", ").Replace(a.Name())
}
