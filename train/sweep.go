package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Axis is one dimension of a sweep's grid: the values of one configuration key, or of several keys
// that have the same value.
type Axis struct {
	Keys   []string
	Values []string
}

// ParseAxis parses "ssm.init=lin,inv", or "ssm.dt_min+ssm.dt_max=0.001,0.003" for keys that have
// the same value. Commas in brackets do not separate values.
func ParseAxis(s string) (Axis, error) {
	keys, values, ok := strings.Cut(s, "=")
	a := Axis{}
	for key := range strings.SplitSeq(keys, "+") {
		a.Keys = append(a.Keys, strings.TrimSpace(key))
	}
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
			return a, configErrorf("sweep: %q: expected KEY=VALUE,VALUE,… or KEY+KEY=VALUE,…", s)
		}
	}
	return a, nil
}

// Name returns the axis's keys, as in the heading of sweep.csv.
func (a Axis) Name() string { return strings.Join(a.Keys, "+") }

// Sweep is a grid of runs: every combination of the axes' values with the seeds 1 … Seeds.
type Sweep struct {
	Base  Config
	Axes  []Axis
	Seeds int
	Dir   string // gets a folder for each run, and sweep.csv
	// Check validates a run's configuration and may add missing options to its Data; nil:
	// Config.Validate.
	Check func(*Config) error
	// Load loads the data of a run.
	Load     func(context.Context, Config) (*dataset.Dataset, error)
	Reporter Reporter // of every run's progress; nil: none
	// Begin is called before each run; may be nil.
	Begin func(run, runs int, name string, t *Trainer)
}

// SweepRow is the result of one run. Best is nil if the run diverged in its first epoch.
type SweepRow struct {
	Values   []string // one per axis
	Seed     uint64
	Diverged bool
	Best     *Metrics
	Test     *Result
}

// sweepRun is one run of the grid.
type sweepRun struct {
	values []string // one per axis
	seed   uint64
	name   []string
	cfg    Config
	dir    string
}

// Run makes the runs one after the other and rewrites sweep.csv after each. It resumes incomplete
// runs in the folder. For complete runs it keeps the row of the table and does not call Begin. If
// ctx is cancelled, Run writes a checkpoint and returns ErrInterrupted. Run validates all
// configurations before the first run.
func (s Sweep) Run(ctx context.Context) ([]SweepRow, error) {
	runs, err := s.runs()
	if err != nil {
		return nil, err
	}
	locked, err := lockFolder(s.Dir, sweepLock)
	if err != nil {
		return nil, err
	}
	defer locked.Close()
	if err := atomicfile.RemoveTemporary(filepath.Join(s.Dir, sweepFile)); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	old := s.oldRows()
	var rows []SweepRow
	for i, r := range runs {
		row, ok := old[strings.Join(r.name, ",")]
		if !ok || !r.complete(row) {
			if row, err = s.run(ctx, r, i+1, len(runs)); err != nil {
				return rows, err
			}
		}
		rows = append(rows, row)
		table := slices.Clone(rows)
		for _, later := range runs[i+1:] {
			if row, ok := old[strings.Join(later.name, ",")]; ok {
				table = append(table, row)
			}
		}
		if err := s.write(table); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// runs lists the runs. It validates their configurations and rejects equal ones.
func (s Sweep) runs() ([]sweepRun, error) {
	if s.Seeds < 1 {
		return nil, configErrorf("sweep: %d seeds: expected at least 1", s.Seeds)
	}
	if s.Load == nil {
		return nil, configErrorf("sweep: Load is nil: expected a function that loads the data of a run")
	}
	if err := checkAxes(s.Axes); err != nil {
		return nil, err
	}
	grid := [][]string{nil}
	for _, a := range s.Axes {
		var longer [][]string
		for _, point := range grid {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clone(point), v))
			}
		}
		grid = longer
	}
	var runs []sweepRun
	names := map[string]string{} // by configuration
	for _, point := range grid {
		for seed := range s.Seeds {
			r := sweepRun{values: point, seed: uint64(seed + 1), name: runName(s.Axes, point, uint64(seed+1)), cfg: s.Base}
			if err := r.configure(s); err != nil {
				return nil, err
			}
			text, err := r.cfg.encode()
			if err != nil {
				return nil, err
			}
			name := strings.Join(r.name, " ")
			if other, ok := names[string(text)]; ok {
				return nil, configErrorf("sweep: %s and %s are the same run", other, name)
			}
			names[string(text)] = name
			r.dir = runFolder(s.Dir, r.name)
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// checkAxes rejects keys that occur twice, and the key seed.
func checkAxes(axes []Axis) error {
	seen := map[string]bool{}
	for _, a := range axes {
		for _, key := range a.Keys {
			if key == "seed" {
				return configErrorf("sweep: seed cannot be an axis: every combination runs with the seeds 1, 2, …; set their number (--seeds)")
			}
			if seen[key] {
				return configErrorf("sweep: %s occurs twice: give all its values at once, as in %[1]s=VALUE,VALUE", key)
			}
			seen[key] = true
		}
	}
	return nil
}

// configure sets the run's own values.
func (r *sweepRun) configure(s Sweep) error {
	for i, a := range s.Axes {
		for _, key := range a.Keys {
			if err := r.cfg.Set(key + "=" + r.values[i]); err != nil {
				return err
			}
		}
	}
	r.cfg.Seed = r.seed
	check := (*Config).Validate
	if s.Check != nil {
		check = s.Check
	}
	if err := check(&r.cfg); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(r.name, " "), err)
	}
	return nil
}

// runName returns the values and the seed that identify a run.
func runName(axes []Axis, point []string, seed uint64) (name []string) {
	for i, a := range axes {
		name = append(name, a.Name()+"="+point[i])
	}
	return append(name, fmt.Sprintf("seed=%d", seed))
}

// runFolder returns the folder of a sweep's run. Path separators in values are escaped as in URLs.
func runFolder(dir string, name []string) string {
	return filepath.Join(dir, strings.NewReplacer("%", "%25", "/", "%2F", `\`, "%5C").Replace(strings.Join(name, ",")))
}

// oldRows returns the rows of an existing table with the same axes, by the name of the run.
func (s Sweep) oldRows() map[string]SweepRow {
	t, err := ReadSweep(s.Dir)
	if err != nil || !slices.EqualFunc(t.Axes, s.Axes, func(a, b Axis) bool { return a.Name() == b.Name() }) {
		return nil
	}
	rows := map[string]SweepRow{}
	for _, row := range t.Rows {
		rows[strings.Join(runName(t.Axes, row.Values, row.Seed), ",")] = row
	}
	return rows
}

// complete reports whether the run's folder holds this run, complete and with the result in its
// row.
func (r *sweepRun) complete(row SweepRow) bool {
	recorded, err := LoadRun(r.dir)
	if err != nil {
		return false
	}
	c := r.cfg // in recorded the data have set these
	c.Model.Encoder = cmp.Or(c.Model.Encoder, recorded.Model.Encoder)
	c.Model.DInput = cmp.Or(c.Model.DInput, recorded.Model.DInput)
	c.Model.DOutput = cmp.Or(c.Model.DOutput, recorded.Model.DOutput)
	if different, err := c.Differences(&recorded); err != nil || len(different) > 0 {
		return false
	}
	_, st, err := readState(filepath.Join(r.dir, checkpointFile))
	if err != nil || st.Best == nil || row.Best == nil || st.Best.Step != row.Best.Step {
		return false
	}
	return (&Trainer{cfg: c, state: st}).finished()
}

// run makes or resumes one run.
func (s Sweep) run(ctx context.Context, r sweepRun, number, of int) (SweepRow, error) {
	row, name := SweepRow{Values: r.values, Seed: r.seed}, strings.Join(r.name, " ")
	data, err := s.Load(ctx, r.cfg)
	if err != nil {
		return row, fmt.Errorf("%s: %w", name, err)
	}
	_, missing := os.Stat(filepath.Join(r.dir, configFile))
	t, err := New(ctx, r.cfg, data, Options{Dir: r.dir, Resume: missing == nil, Reporter: s.Reporter})
	if err != nil {
		return row, fmt.Errorf("%s: %w", name, err)
	}
	defer t.Close()
	if s.Begin != nil {
		s.Begin(number, of, name, t)
	}
	err = t.Fit(ctx)
	if row.Diverged = errors.Is(err, ErrDiverged); err != nil && !row.Diverged {
		return row, err
	}
	row.Best, row.Test = t.BestEpoch(), t.Test()
	return row, nil
}
