// Package task has the named tasks. A task is a published or generated data set, or files of your
// own, with the configuration of the network that is trained on it.
//
// A task has a preset configuration, options (the [data] table of a configuration), a loader, and a
// way to describe results:
//
//	tk, err := task.Lookup("scifar")
//	cfg := tk.Preset()
//	data, err := tk.Load(ctx, task.Source{Dir: "cifar", Seed: cfg.Seed})
//	t, err := train.New(ctx, cfg, data, train.Options{Dir: "runs/scifar"})
//
// A program that reads the options from a configuration calls Task.Resolve, and passes the Source
// that From returns to Task.Load. Data that no task reads need none: package train/dataset makes
// data sets directly.
package task

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Default is the task that is trained by default. It generates its data.
const Default = "delay"

// Source selects the data of a task.
type Source struct {
	Dir  string // folder or file of recorded data
	Seed uint64 // of generated data and of augmentation
	// Split is the split to load: train, val or test. "" and "all" load every split. Without the
	// training set, the data have no Mean and Std.
	Split string
	// Model is the model to evaluate on the data. The data of the tasks audio and series then have
	// its labels, in its order. Classes may be missing, but other classes are errors. Its means
	// replace missing values, as in training. Nil: the data are for training.
	Model *model.Model
	// Options are the task's options, by their keys in the [data] table of a configuration. The
	// default of an option is its value in the preset.
	Options  model.Settings
	Workers  int                   // goroutines that read recordings; 0: one per processor
	Progress func(done, total int) // called with the number of recordings read; may be nil
}

// From returns the source of the data that a configuration selects.
func From(cfg train.Config) Source {
	options := maps.Clone(cfg.Data)
	delete(options, train.DirKey)
	return Source{Dir: cfg.Dir(), Seed: cfg.Seed, Options: options, Workers: cfg.Workers}
}

// Task is a named task.
type Task struct {
	name, help, source string
	sampleRate         float64
	imageWidth         int
	defaults           model.Settings
	local              []string // keys of folders
	complete           func(model.Settings) (model.Settings, error)
	load               func(context.Context, Source) (*dataset.Dataset, error)
	atRate             func(model.Settings, float64) (model.Settings, error)
	summary            func(train.Result) string
	checkFrom          func(model.Settings, *model.Model) error
	report             func(context.Context, io.Writer, *model.Model, *dataset.Dataset, int) error
	confusion          func(context.Context, *model.Model, *dataset.Dataset, int) (*Confusion, error)
}

// definition is what the file of a task registers. O is a struct of its options, whose tags are
// their keys and, for options with a flag on the command line, those of kong. A field with the tag
// local is a folder, which models do not record.
type definition[O any] struct {
	name, help string
	// source is for error messages: where the data are published, and which folder to pass. "": the
	// task generates its data.
	source     string
	sampleRate float64 // Hz of the recordings; 0: none
	imageWidth int     // number of columns if the sequences are images, row by row; otherwise 0
	options    O       // defaults
	// check returns an error for the first invalid option, with its key (data.KEY). It may be nil.
	check func(o O) error
	load  func(ctx context.Context, s Source, o O) (*dataset.Dataset, error)

	// Optional:

	// atRate sets the options so that the examples have another sampling rate.
	atRate func(o *O, hz float64) error
	// summary is Task.Summary.
	summary func(r train.Result) string
	// checkFrom returns an error if the options do not fit a model from which a run starts.
	checkFrom func(o O, m *model.Model) error
	// report is Task.Report.
	report func(ctx context.Context, w io.Writer, m *model.Model, d *dataset.Dataset, workers int) error
	// confusion is Task.Confusion.
	confusion func(ctx context.Context, m *model.Model, d *dataset.Dataset, workers int) (*Confusion, error)
}

var registry = map[string]*Task{}

// register adds a task. The file of each task calls it in init.
func register[O any](d definition[O]) {
	decode := func(given model.Settings) (O, error) {
		o := d.options
		err := decodeOptions(given, &o)
		if err == nil && d.check != nil {
			err = d.check(o)
		}
		if err != nil {
			return o, configError{fmt.Errorf("task %q: %w", d.name, err)}
		}
		return o, nil
	}
	t := &Task{
		name: d.name, help: d.help, source: d.source, sampleRate: d.sampleRate, imageWidth: d.imageWidth,
		summary: d.summary, report: d.report, confusion: d.confusion,
		defaults: encodeOptions(&d.options), local: localOptions(&d.options),
		complete: func(given model.Settings) (model.Settings, error) {
			o, err := decode(given)
			return encodeOptions(&o), err
		},
		load: func(ctx context.Context, s Source) (*dataset.Dataset, error) {
			o, err := decode(s.Options)
			if err != nil {
				return nil, err
			}
			return d.load(ctx, s, o)
		},
	}
	if d.checkFrom != nil {
		t.checkFrom = func(given model.Settings, m *model.Model) error {
			o, err := decode(given)
			if err == nil {
				err = d.checkFrom(o, m)
			}
			return err
		}
	}
	if d.atRate != nil {
		t.atRate = func(given model.Settings, hz float64) (model.Settings, error) {
			o, err := decode(given)
			if err == nil {
				err = d.atRate(&o, hz)
			}
			return encodeOptions(&o), err
		}
	}
	registry[d.name] = t
}

// Names returns the names of all tasks, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Lookup returns the task with a name. An unknown name is a train.ErrConfig.
func Lookup(name string) (*Task, error) {
	t, ok := registry[name]
	if !ok {
		return nil, configError{fmt.Errorf("task %q: expected one of %s%s", name, strings.Join(Names(), ", "), suggest.Hint(name, Names()))}
	}
	return t, nil
}

// Name returns the task's name.
func (t *Task) Name() string { return t.name }

// Help describes the task in a line.
func (t *Task) Help() string { return t.help }

// ReadsData reports whether the task reads data from a folder or a file; other tasks generate
// theirs.
func (t *Task) ReadsData() bool { return t.source != "" }

// SampleRate returns the sampling rate of the recordings in Hz, or 0 if there is no fixed one.
func (t *Task) SampleRate() float64 { return t.sampleRate }

// ImageWidth returns the number of columns if the sequences are images, row by row, and otherwise
// 0.
func (t *Task) ImageWidth() int { return t.imageWidth }

//go:embed presets/*.toml
var presets embed.FS

// Preset returns the task's configuration: the default one with the values of presets/NAME.toml.
// Its Data has every option of the task. If the task reads data, Data also has their folder, which
// is "".
func (t *Task) Preset() train.Config {
	c := t.bare()
	name := "presets/" + t.name + ".toml"
	text, err := presets.ReadFile(name)
	if err != nil {
		return c // the task has none
	}
	if err := c.Merge(text, name); err != nil {
		panic(err) // a test loads every preset
	}
	return c
}

// bare returns the default configuration with the task's options.
func (t *Task) bare() train.Config {
	c := train.Default()
	c.Task, c.Data = t.name, maps.Clone(t.defaults)
	if t.ReadsData() {
		c.Data[train.DirKey] = ""
	}
	return c
}

// Resolve validates the options in cfg.Data, sets missing ones to their defaults, and validates the
// rest of the configuration. Errors are train.ErrConfig.
func (t *Task) Resolve(cfg *train.Config) error {
	dir := cfg.Dir()
	if err := t.checkDir(dir); err != nil {
		return err
	}
	data, err := t.complete(From(*cfg).Options)
	if err != nil {
		return err
	}
	if t.ReadsData() {
		data[train.DirKey] = dir
	}
	if t.confusion != nil { // a detector processes streams
		if err := recurrent.Check(model.Config{SSM: cfg.SSM}); err != nil {
			return configError{fmt.Errorf("task %q: %w", t.name, err)}
		}
	}
	cfg.Data = data
	return cfg.Validate()
}

func (t *Task) checkDir(dir string) error {
	switch {
	case t.ReadsData() && dir == "":
		return configError{fmt.Errorf("task %q requires --data, the folder of its data set; %s", t.name, t.source)}
	case !t.ReadsData() && dir != "":
		return configError{fmt.Errorf("task %q generates its own data: --data %s, expected none", t.name, dir)}
	}
	return nil
}

// MapPaths replaces each path of data in a configuration by that which f returns: the folder or
// file of the data and the options that are folders. It does not change the options in place.
func (t *Task) MapPaths(cfg *train.Config, f func(path string) (string, error)) error {
	data := maps.Clone(cfg.Data)
	for _, key := range append([]string{train.DirKey}, t.local...) {
		switch v := data[key].(type) {
		case string:
			if v == "" {
				continue
			}
			mapped, err := f(v)
			if err != nil {
				return err
			}
			data[key] = mapped
		case []any:
			list := slices.Clone(v)
			for i, e := range list {
				path, ok := e.(string)
				if !ok || path == "" {
					continue
				}
				mapped, err := f(path)
				if err != nil {
					return err
				}
				list[i] = mapped
			}
			data[key] = list
		}
	}
	cfg.Data = data
	return nil
}

// AtRate sets the options of a configuration so that the examples have the sampling rate hz. If the
// task does not support this rate, the error is a train.ErrConfig.
func (t *Task) AtRate(cfg *train.Config, hz float64) error {
	if t.atRate == nil {
		return configError{fmt.Errorf("task %q: sampling rate %g Hz: the rate of the data is fixed or unknown", t.name, hz)}
	}
	dir := cfg.Dir()
	data, err := t.atRate(From(*cfg).Options, hz)
	if err != nil {
		return configError{fmt.Errorf("task %q: %w", t.name, err)}
	}
	data[train.DirKey] = dir
	cfg.Data = data
	return nil
}

// HasRate reports whether the task supports AtRate.
func (t *Task) HasRate() bool { return t.atRate != nil }

// CheckFrom returns a train.ErrConfig if the options of a run cannot fit the model from which it
// starts (train.Options.From), whatever the data are. train.New checks the data.
func (t *Task) CheckFrom(cfg train.Config, m *model.Model) error {
	if t.checkFrom == nil {
		return nil
	}
	if err := t.checkFrom(From(cfg).Options, m); err != nil {
		return configError{fmt.Errorf("task %q: %w", t.name, err)}
	}
	return nil
}

// Load returns the data. Errors in the options are train.ErrConfig, and errors in the data
// train.ErrData; both name the task. If ctx is cancelled, the error is a train.ErrInterrupted.
func (t *Task) Load(ctx context.Context, s Source) (*dataset.Dataset, error) {
	if !slices.Contains([]string{"", "train", "val", "test", "all"}, s.Split) {
		return nil, configError{fmt.Errorf("task %q: unknown split %q: expected train, val, test or all", t.name, s.Split)}
	}
	if err := t.checkDir(s.Dir); err != nil {
		return nil, err
	}
	options := From(t.Preset()).Options
	maps.Copy(options, s.Options)
	s.Options = options
	d, err := t.load(ctx, s)
	if err == nil {
		err = checkLabels(d.Labels, s.Dir)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("task %q: %w before the data was loaded", t.name, train.ErrInterrupted)
	}
	if _, ok := err.(configError); ok {
		return nil, err
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, datafile.ErrNoData) {
		return nil, dataError{fmt.Errorf("task %q: %w; %s", t.name, err, t.source)}
	}
	if err != nil {
		return nil, dataError{fmt.Errorf("task %q: %w", t.name, err)}
	}
	d.Options = t.portable(s.Options)
	d.Name, d.Dir = cmp.Or(d.Name, t.name), cmp.Or(d.Dir, s.Dir)
	return d, nil
}

// checkLabels returns an error for the first class whose name a model cannot store.
func checkLabels(labels []string, dir string) error {
	for _, label := range labels {
		if !utf8.ValidString(label) {
			return fmt.Errorf("%s: class %.80q: the name is not UTF-8 text", dir, label)
		}
	}
	return nil
}

// Summary describes a result in a few words, such as "accuracy 97.5 %". For a regression it adds
// the error of a naive prediction.
func (t *Task) Summary(r train.Result) string {
	if t.summary != nil {
		return t.summary(r)
	}
	if r.BaselineRMSE > 0 {
		return fmt.Sprintf("%s (predicting the training set's mean: RMSE %.4g)", r.Describe(), r.BaselineRMSE)
	}
	return r.Describe()
}

// Report writes a further report about a trained model, such as a comparison of its forecasts with
// naive ones. Most tasks have none and write nothing. workers is the number of goroutines; 0: one
// per processor.
func (t *Task) Report(ctx context.Context, w io.Writer, m *model.Model, d *dataset.Dataset, workers int) error {
	if t.report == nil {
		return nil
	}
	return t.report(ctx, w, m, d, workers)
}
