package task

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

func init() {
	register(Task{
		name:    "series",
		source:  "pass a CSV, TSV, JSON Lines, NPY or NPZ file, or a folder of such files (docs/data.md)",
		options: func() options { return &seriesOptions{ValidationOption: ValidationOption{Validation: 0.1}} },
	})
}

// seriesOptions are the [data] table of the task.
type seriesOptions struct {
	SeriesOptions
	ValidationOption
}

// SeriesOptions are the options that only the task series has.
type SeriesOptions struct {
	Mode    string   `toml:"mode" placeholder:"MODE" help:"classification, regression, forecast or anomaly (default: forecast with --horizon, otherwise classification)."`
	Target  []string `toml:"target" placeholder:"COLUMN" help:"Column with the class, columns with the numbers of a regression, or columns to forecast (default: all)."`
	Columns []string `toml:"columns" placeholder:"COLUMN" help:"Input columns (default: all others)."`
	ID      string   `toml:"id" placeholder:"COLUMN" help:"Column that identifies the series of a row (default: the file is one series)."`
	Time    string   `toml:"time" placeholder:"COLUMN" help:"Column by which rows are sorted (default: the order of the file)."`
	Split   string   `toml:"split_column" kong:"-"` // column with train, val or test
	Layout  string   `toml:"layout" placeholder:"LAYOUT" help:"Table: long (a line is a row), wide (a line is a series) or files (a file is a series); arrays: channels-first or channels-last (default: by the data)."`
	Dialect []string `toml:"dialect" kong:"-"` // how tables are written: NAME=VALUE
	Missing string   `toml:"missing" placeholder:"HOW" help:"Replacement of missing values: previous or interpolate (default: they are errors)."`

	Test float64 `toml:"test" placeholder:"FRACTION" help:"Fraction of the data that is the test set (default: 0)."`

	Horizon int `toml:"horizon" placeholder:"ROWS" help:"Number of rows ahead to forecast (default: 1)."`
	Season  int `toml:"season" placeholder:"ROWS" help:"Rows per season, for the naive forecast that repeats the value one season ago."`
}

// setDefaults sets the mode and the horizon that were not given.
func (o *seriesOptions) setDefaults() {
	if o.Mode == "" && o.Horizon == 0 {
		o.Mode = model.SeriesClassification
	}
	o.Mode = cmp.Or(o.Mode, model.SeriesForecast)
	if o.Mode == model.SeriesForecast || o.Mode == model.SeriesAnomaly {
		o.Horizon = cmp.Or(o.Horizon, 1)
	}
}

// table returns the options of rows.Table.
func (o seriesOptions) table(seed uint64) (rows.TableOptions, error) {
	opt := rows.TableOptions{
		Layout: o.Layout, ID: o.ID, Time: o.Time, Split: o.Split, Columns: o.Columns,
		Options: rows.Options{
			Mode: o.Mode, Targets: o.Target, Missing: o.Missing, Validation: o.Validation, Test: o.Test,
			Horizon: o.Horizon, Season: o.Season, Seed: seed,
		},
	}
	for _, entry := range o.Dialect {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "separator":
			opt.Separator = value
		case "decimal":
			opt.Decimal = value
		case "comment":
			opt.Comment = value
		case "time-format":
			opt.TimeFormat = value
		case "missing-values":
			opt.MissingValues = append(opt.MissingValues, value)
		default:
			return opt, fmt.Errorf("dialect %q: expected separator, decimal, comment, time-format or missing-values, = and a value", entry)
		}
	}
	return opt, nil
}

func (o seriesOptions) check() error {
	if o.Mode == model.SeriesRegression && len(o.Target) == 0 {
		o.Target = []string{"y"} // arrays have default names for targets
	}
	opt, err := o.table(0)
	if err = cmp.Or(err, opt.Check()); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

// load loads a table or arrays.
func (o seriesOptions) load(ctx context.Context, s Source) (d *dataset.Dataset, err error) {
	opt, err := o.table(s.Seed)
	if err != nil {
		return nil, err
	}
	if m := s.Model; m != nil {
		opt.Labels = m.Meta.Labels
		if m.Meta.Series != nil && len(m.Meta.InputMean) == len(m.Meta.Series.Columns) {
			opt.Means, opt.Offsets = map[string]float32{}, map[string]float64{}
			for c, name := range m.Meta.Series.Columns {
				opt.Means[name], opt.Offsets[name] = m.Meta.InputMean[c], m.Meta.Series.Offset(c)
			}
		}
	}
	arrays, err := hasArrays(s.Dir)
	switch {
	case err != nil:
		return nil, err
	case !arrays:
		d, err = rows.Table(ctx, s.Dir, opt)
	case opt.ID+opt.Time+opt.Split != "" || len(opt.Columns) > 0:
		return nil, fmt.Errorf("%s: --id, --time, --columns and data.split_column are options of tables, not of arrays", s.Dir)
	default:
		opt.ArrayLayout = opt.Layout
		d, err = rows.Arrays(ctx, s.Dir, opt.Options)
	}
	if err == nil {
		d.EpochSteps = 38 // at least 1,520 steps in the epochs of the preset
		s.restrict(d)
	}
	return d, err
}

// hasArrays reports whether a path is a file or a folder of NumPy arrays.
func hasArrays(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	isArray := func(name string) bool {
		return slices.Contains([]string{".npy", ".npz"}, strings.ToLower(filepath.Ext(name)))
	}
	if !info.IsDir() {
		return isArray(path), nil
	}
	entries, err := os.ReadDir(path)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isArray(e.Name()) }), err
}

// Report writes a further report about a trained model: the errors of its forecasts and of naive
// ones. For other data it writes nothing. workers is the number of goroutines; 0: one per
// processor.
func (t *Task) Report(ctx context.Context, w io.Writer, m *model.Model, d *dataset.Dataset, workers int) error {
	if !d.Forecasts() {
		return nil
	}
	for part, set := range splits(d) {
		if part == trainSplit || *set == nil {
			continue
		}
		list, err := train.CompareForecasts(ctx, m, *set, train.EvalOptions{Info: d.Info, Workers: workers})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\nForecasts of the %s set:\n", map[split]string{valSplit: "validation", testSplit: "test"}[part])
		if err := train.WriteForecastErrors(w, list); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	return nil
}
