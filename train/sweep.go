package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/vek"
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
	// Part divides the runs among several calls of Run, also on several machines. Collect joins
	// their results.
	Part Part
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
	// Level is the kernel level of the run. A run that was resumed at another level has both, as in
	// "avx2+avx512".
	Level string
}

// SweepRun is one run of the grid.
type SweepRun struct {
	Values []string // one per axis
	Seed   uint64
	Config Config
	Run    // its folder
	key    []string
}

// Name returns the run's values and seed, such as "ssm.init=lin seed=1".
func (r *SweepRun) Name() string { return strings.Join(r.key, " ") }

// Run makes the runs one after the other and rewrites sweep.csv after each. It resumes incomplete
// runs in the folder. For complete runs it takes the row from there and does not call Begin. If
// ctx is cancelled, Run writes a checkpoint and returns ErrInterrupted. Run validates all
// configurations before the first run. A run in the folder that had other data is an error. The
// rows are those of the complete runs of the part, up to the first error.
func (s Sweep) Run(ctx context.Context) ([]SweepRow, error) {
	f, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []SweepRow
	for i := range f.Runs {
		if !s.Part.has(i) {
			continue
		}
		if f.Complete(i) {
			err = f.CheckData(ctx, i)
		} else {
			var row SweepRow
			if row, err = s.run(ctx, &f.Runs[i], i+1, len(f.Runs)); err == nil {
				err = f.Record(i, row)
			}
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, *f.rows[i])
	}
	return rows, nil
}

// runs lists the runs. It validates their configurations and rejects equal ones.
func (s Sweep) runs() ([]SweepRun, error) {
	if s.Seeds < 1 {
		return nil, configErrorf("sweep: %d seeds: expected at least 1", s.Seeds)
	}
	if err := checkAxes(s.Axes); err != nil {
		return nil, err
	}
	var runs []SweepRun
	names := map[string]string{} // by configuration
	for _, point := range Grid(s.Axes) {
		for seed := range s.Seeds {
			r := SweepRun{Values: point, Seed: uint64(seed + 1), Config: s.Base, key: runName(s.Axes, point, uint64(seed+1))}
			if err := r.configure(s); err != nil {
				return nil, err
			}
			text, err := r.Config.Encode()
			if err != nil {
				return nil, err
			}
			name := r.Name()
			if other, ok := names[string(text)]; ok {
				return nil, configErrorf("sweep: %s and %s are the same run", other, name)
			}
			names[string(text)] = name
			r.Run = newRun(runFolder(s.Dir, r.key), nil)
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// Grid returns every combination of the axes' values. Those of the last axis follow one another.
func Grid(axes []Axis) [][]string {
	grid := [][]string{nil}
	for _, a := range axes {
		var longer [][]string
		for _, point := range grid {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clone(point), v))
			}
		}
		grid = longer
	}
	return grid
}

// Apply sets a point of the grid in a configuration.
func (c *Config) Apply(axes []Axis, point []string) error {
	for i, a := range axes {
		for _, key := range a.Keys {
			if err := c.Set(key + "=" + point[i]); err != nil {
				return err
			}
		}
	}
	return nil
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
func (r *SweepRun) configure(s Sweep) error {
	if err := r.Config.Apply(s.Axes, r.Values); err != nil {
		return err
	}
	r.Config.Seed = r.Seed
	check := (*Config).Validate
	if s.Check != nil {
		check = s.Check
	}
	if err := check(&r.Config); err != nil {
		return fmt.Errorf("%s: %w", r.Name(), err)
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

// run makes or resumes one run.
func (s Sweep) run(ctx context.Context, r *SweepRun, number, of int) (SweepRow, error) {
	row, name := SweepRow{Values: r.Values, Seed: r.Seed}, r.Name()
	data, err := s.Load(ctx, r.Config)
	if err != nil {
		return row, fmt.Errorf("%s: %w", name, err)
	}
	begun, err := r.exists(configFile)
	if err != nil {
		return row, fmt.Errorf("%s: %w", name, err)
	}
	if begun { // the result of a smaller budget
		if err := r.files.Remove(r.path(resultFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return row, fmt.Errorf("%s: %w", name, err)
		}
	}
	t, err := New(ctx, r.Config, data, Options{Dir: r.Dir, Resume: begun, Reporter: s.Reporter})
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
	row.Best, row.Test, row.Level = t.BestEpoch(), t.Test(), string(vek.CurrentLevel())
	return row, nil
}
