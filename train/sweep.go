package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Axis is one direction of a sweep's grid: values that one key of the configuration takes, or several keys together.
type Axis struct {
	Keys   []string
	Values []string
}

// ParseAxis reads "ssm.init=lin,inv", or "ssm.dt_min+ssm.dt_max=0.001,0.003" for keys that move together. Commas in
// brackets part no values.
func ParseAxis(s string) (Axis, error) {
	keys, values, ok := strings.Cut(s, "=")
	a := Axis{Keys: strings.Split(keys, "+")}
	depth, from := 0, 0
	for i, r := range values + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			a.Values = append(a.Values, strings.TrimSpace(values[from:i]))
			from = i + 1
		}
	}
	for _, part := range append(append([]string{}, a.Keys...), a.Values...) {
		if part == "" || !ok {
			return a, configErrorf("sweep: %q: want KEY=VALUE,VALUE,… or KEY+KEY=VALUE,…", s)
		}
	}
	return a, nil
}

// Name is the axis's keys, as a table's heading.
func (a Axis) Name() string { return strings.Join(a.Keys, "+") }

// Sweep is a grid of runs: every combination of the axes' values with every seed from 1 on.
type Sweep struct {
	Base  Config
	Axes  []Axis
	Seeds int
	Dir   string // a folder for each run, and sweep.csv
	Begin func(run, runs int, name string, t *Trainer)
}

// SweepRow is one run's result. Best is nil where the run diverged before its first epoch's end.
type SweepRow struct {
	Values   []string // one an axis
	Seed     uint64
	Diverged bool
	Best     *Metrics
	Test     *Result
}

// Run makes the runs, one after the other, and rewrites sweep.csv after each. Runs that the folder holds already are
// taken as they are, or gone on with. It ends early with ctx, after a checkpoint.
func (s Sweep) Run(ctx context.Context) ([]SweepRow, error) {
	if s.Seeds < 1 {
		return nil, configErrorf("sweep: %d seeds: want at least 1", s.Seeds)
	}
	grid := [][]string{nil}
	for _, a := range s.Axes {
		var longer [][]string
		for _, point := range grid {
			for _, v := range a.Values {
				longer = append(longer, append(append([]string{}, point...), v))
			}
		}
		grid = longer
	}
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var rows []SweepRow
	for i, point := range grid {
		for seed := range s.Seeds {
			row, err := s.run(ctx, point, uint64(seed+1), i*s.Seeds+seed+1, len(grid)*s.Seeds)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
			if err := s.write(rows); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// runName says which run a row is.
func runName(axes []Axis, point []string, seed uint64) (name []string) {
	for i, a := range axes {
		name = append(name, a.Name()+"="+point[i])
	}
	return append(name, fmt.Sprintf("seed=%d", seed))
}

// runFolder returns the folder of a sweep's run.
func runFolder(dir string, name []string) string {
	return filepath.Join(dir, strings.ReplaceAll(strings.Join(name, ","), string(filepath.Separator), "_"))
}

// run makes one run, or takes it up.
func (s Sweep) run(ctx context.Context, point []string, seed uint64, number, of int) (SweepRow, error) {
	row := SweepRow{Values: point, Seed: seed}
	cfg := s.Base
	for i, a := range s.Axes {
		for _, key := range a.Keys {
			if err := cfg.Set(key + "=" + point[i]); err != nil {
				return row, err
			}
		}
	}
	cfg.Seed = seed
	name := runName(s.Axes, point, seed)
	cfg.Out = runFolder(s.Dir, name)
	_, err := os.Stat(filepath.Join(cfg.Out, configFile))
	cfg.Resume = err == nil
	t, err := New(ctx, cfg)
	if err != nil {
		return row, fmt.Errorf("%s: %w", strings.Join(name, " "), err)
	}
	if s.Begin != nil {
		s.Begin(number, of, strings.Join(name, " "), t)
	}
	err = t.Fit(ctx)
	if row.Diverged = errors.Is(err, ErrDiverged); err != nil && !row.Diverged {
		return row, err
	}
	row.Best, row.Test = t.Best(), t.Test()
	return row, nil
}
