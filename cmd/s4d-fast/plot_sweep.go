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
	X    string   `help:"Swept key on the x axis (default: the last one whose values are numbers)." placeholder:"KEY"`
	Out  plotFile `help:"Output file, PNG or SVG by its name (default: ${default})." default:"sweep.png" type:"path" placeholder:"FILE"`
}

func (c *plotSweepCmd) Help() string {
	return `Each curve is the mean over seeds (the geometric mean on a logarithmic axis); small points are single runs. There is one
curve per combination of the other swept keys. All folders must sweep the same key. Other differences appear in the legend.
The x axis is logarithmic if the values span more than a factor of 8.

Examples:
  s4d-fast plot sweep runs/figure4 --out figure4.svg
  s4d-fast plot sweep runs/figure4-s4d runs/figure4-dfout --x ssm.dt_min`
}

func (c *plotSweepCmd) Run(std *streams, _ *ctxBox) error {
	p, err := sweepPanel(c.Dirs, c.X)
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
func sweepPanel(dirs []string, x string) (figure.Panel, error) {
	var tables []*train.SweepTable
	for _, dir := range dirs {
		t, err := train.ReadSweep(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; expected the folder that sweep --out has written", err)
		}
		if err != nil {
			return figure.Panel{}, trainError(err)
		}
		tables = append(tables, t)
	}
	axes, err := commonAxis(tables, x)
	if err != nil {
		return figure.Panel{}, err
	}
	curves := sweepCurves(tables, axes)
	p := figure.Panel{Title: sweepTitle(tables, curves), X: axisText(tables[0].Axes[axes[0]])}
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		if p.Y == "" {
			p.Y, p.LogY = c.metric, c.metric == relativeMSE
		}
		if c.metric != "" && c.metric != p.Y {
			return p, badInput(fmt.Errorf("%s: %s: the sweeps have different metrics, %s and %s", strings.Join(dirs, ", "), c.name, p.Y, c.metric))
		}
		low, high = min(low, slices.Min(c.xs)), max(high, slices.Max(c.xs))
		p.Curves = append(p.Curves, c.mean())
	}
	if p.Y == "" {
		return p, badInput(fmt.Errorf("%s: %w", strings.Join(dirs, ", "), errNoResult))
	}
	p.LogX = low > 0 && high > 8*low
	return p, nil
}

// commonAxis returns, for each table, the index of the axis with the key x. It checks that its
// values are numbers and that it has the same keys in all tables.
func commonAxis(tables []*train.SweepTable, x string) ([]int, error) {
	axes := make([]int, len(tables))
	for i, t := range tables {
		axes[i] = -1
		for k, a := range t.Axes {
			if numbers(a.Values...) && (x == "" || a.Name() == x || slices.Contains(a.Keys, x)) {
				axes[i] = k
			}
		}
		switch {
		case axes[i] < 0 && x != "":
			return nil, usageError(fmt.Errorf("--x %s: %s does not sweep it with numbers", x, t.Dir))
		case axes[i] < 0:
			return nil, badInput(fmt.Errorf("%s: %w", t.Dir, errNoAxis))
		}
		if first, here := tables[0].Axes[axes[0]].Name(), t.Axes[axes[i]].Name(); here != first {
			return nil, usageError(fmt.Errorf("%s sweeps %s, and %s sweeps %s: select a key of both with --x", tables[0].Dir, first, t.Dir, here))
		}
	}
	return axes, nil
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

// sweepCurves groups the rows of each table by their values of the keys other than x.
func sweepCurves(tables []*train.SweepTable, axes []int) (curves []*sweepCurve) {
	keys := namingKeys(tables, axes)
	for i, t := range tables {
		own := map[string]*sweepCurve{}
		for _, r := range t.Rows {
			name := curveName(t, r, keys)
			c := own[name]
			if c == nil {
				c = &sweepCurve{name: name, dir: t.Dir}
				own[name], curves = c, append(curves, c)
			}
			x, _ := strconv.ParseFloat(r.Values[axes[i]], 64) // commonAxis has checked it
			c.add(x, r)
		}
	}
	if len(curves) == 1 && curves[0].name == "" {
		curves[0].name = filepath.Base(tables[0].Dir)
		if cfg, err := tables[0].Config(tables[0].Rows[0]); err == nil {
			curves[0].name = string(cfg.SSM.Init)
		}
	}
	named := map[string]int{}
	for _, c := range curves {
		named[c.name]++
	}
	for _, c := range curves {
		if len(tables) > 1 && (c.name == "" || named[c.name] > 1) { // the folder distinguishes them
			c.name = strings.TrimSpace(c.name + " " + filepath.Base(c.dir))
		}
	}
	return curves
}

// namingKeys returns the keys that distinguish curves: the first one of each other axis, and those
// whose fixed values differ between the tables.
func namingKeys(tables []*train.SweepTable, axes []int) (keys []string) {
	swept := []string{"seed"}
	for i, t := range tables {
		for k, a := range t.Axes {
			if k != axes[i] && !slices.Contains(keys, a.Keys[0]) {
				keys = append(keys, a.Keys[0])
			}
			swept = append(swept, a.Keys...)
		}
	}
	first, err := tables[0].Config(tables[0].Rows[0])
	for _, t := range tables[1:] {
		cfg, e := t.Config(t.Rows[0])
		if err != nil || e != nil { // the table was moved away from its runs
			continue
		}
		for _, key := range first.Differences(&cfg) {
			if !slices.Contains(swept, key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// curveName returns a row's values of the keys. Values that the sweep does not vary are read from
// the run's folder.
func curveName(t *train.SweepTable, r train.SweepRow, keys []string) string {
	var parts []string
	for _, key := range keys {
		value := ""
		for k, a := range t.Axes {
			if a.Keys[0] == key {
				value = r.Values[k]
			}
		}
		if value == "" {
			if cfg, err := t.Config(r); err == nil {
				value, _ = cfg.Value(key) // the key is one of a configuration
			}
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

// sweepTitle names the tasks, which are in the configuration of each sweep's first run, and
// explains curves and points if there are several seeds.
func sweepTitle(tables []*train.SweepTable, curves []*sweepCurve) string {
	var tasks []string
	for _, t := range tables {
		if cfg, err := t.Config(t.Rows[0]); err == nil && !slices.Contains(tasks, cfg.Task) {
			tasks = append(tasks, cfg.Task)
		}
	}
	title := "Sweep"
	if len(tasks) > 0 {
		title += " of " + strings.Join(tasks, ", ")
	}
	if slices.ContainsFunc(curves, func(c *sweepCurve) bool { return len(c.mean().Runs) > 0 }) {
		means := "means"
		if slices.ContainsFunc(curves, func(c *sweepCurve) bool { return c.metric == relativeMSE }) {
			means = "geometric means"
		}
		title += ": " + means + " over seeds (lines) and single runs (points)"
	}
	return title
}

// axisText returns the title of an axis: the symbols of steps, or its keys.
func axisText(a train.Axis) string {
	return strings.NewReplacer("ssm.dt_min+ssm.dt_max", "Δ", "ssm.xi_min+ssm.xi_max", "ξ", "ssm.dt_min", "Δ min", "ssm.dt_max", "Δ max",
		"ssm.xi_min", "ξ min", "ssm.xi_max", "ξ max", "+", ", ").Replace(a.Name())
}
