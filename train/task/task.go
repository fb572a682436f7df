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
	"io/fs"
	"maps"
	"slices"
	"strings"

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
	name string
	// source is for error messages: where the data are published, and which folder to pass. "": the
	// task generates its data.
	source     string
	sampleRate float64 // Hz of the recordings, if atRate can change it; otherwise 0
	imageWidth int     // number of columns if the sequences are images, row by row; otherwise 0
	detector   bool    // it trains word detectors, which process streams
	// options returns the default options, as a pointer to a struct whose tags are their keys and,
	// for options with a flag on the command line, those of kong. A field with the tag local is a
	// folder, which models do not record.
	options func() options
}

// options are the options of a task.
type options interface {
	// check returns an error for the first invalid option, with its key (data.KEY).
	check() error
	load(ctx context.Context, s Source) (*dataset.Dataset, error)
}

// rateOptions are options that atRate can set so that the examples have another sampling rate.
type rateOptions interface {
	atRate(recorded, hz float64) error
}

// fromOptions are options that may not fit a model from which a run starts.
type fromOptions interface{ checkFrom(m *model.Model) error }

// loader is the data of a task without options.
type loader struct {
	run func(ctx context.Context, s Source) (*dataset.Dataset, error)
}

// noOptions returns the options of a task that has none.
func noOptions(run func(ctx context.Context, s Source) (*dataset.Dataset, error)) func() options {
	return func() options { return &loader{run} }
}

func (*loader) check() error { return nil }

func (l *loader) load(ctx context.Context, s Source) (*dataset.Dataset, error) { return l.run(ctx, s) }

var registry = map[string]*Task{}

// register adds a task. The file of each task calls it in init.
func register(t Task) { registry[t.name] = &t }

// decode returns options with the given values, checked. Errors are train.ErrConfig.
func (t *Task) decode(given model.Settings) (options, error) {
	o := t.options()
	err := decodeOptions(given, o)
	if err == nil {
		err = o.check()
	}
	return o, t.configError(err)
}

// configError makes an error one of the configuration that names the task.
func (t *Task) configError(err error) error {
	if err == nil || errors.Is(err, train.ErrConfig) {
		return err
	}
	return train.ConfigError(fmt.Errorf("task %q: %w", t.name, err))
}

// Names returns the names of all tasks, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Lookup returns the task with a name. An unknown name is a train.ErrConfig.
func Lookup(name string) (*Task, error) {
	t, ok := registry[name]
	if !ok {
		return nil, train.ConfigError(fmt.Errorf("task %q: expected one of %s%s", name, strings.Join(Names(), ", "), suggest.Hint(name, Names())))
	}
	return t, nil
}

// Name returns the task's name.
func (t *Task) Name() string { return t.name }

// ReadsData reports whether the task reads data from a folder or a file; other tasks generate
// theirs.
func (t *Task) ReadsData() bool { return t.source != "" }

// SampleRate returns the sampling rate of the recordings in Hz, or 0 if AtRate cannot change it.
func (t *Task) SampleRate() float64 { return t.sampleRate }

// ImageWidth returns the number of columns if the sequences are images, row by row, and otherwise
// 0.
func (t *Task) ImageWidth() int { return t.imageWidth }

// SetFrom prepares a configuration for a run that starts from a model (train.Config.SetFrom). A
// word detector then learns new words in fewer epochs, at a lower learning rate.
func (t *Task) SetFrom(c *train.Config, m *model.Model) {
	c.SetFrom(m)
	if t.detector {
		c.Optim.LR, c.Train.Epochs = 0.002, 25
	}
}

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
	c.Task, c.Data = t.name, encodeOptions(t.options())
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
	o, err := t.decode(From(*cfg).Options)
	if err != nil {
		return err
	}
	if d, ok := o.(interface{ setDefaults() }); ok {
		d.setDefaults()
	}
	data := encodeOptions(o)
	if t.ReadsData() {
		data[train.DirKey] = dir
	}
	if t.detector {
		if err := recurrent.Check(model.Config{SSM: cfg.SSM}); err != nil {
			return t.configError(err)
		}
	}
	cfg.Data = data
	return cfg.Validate()
}

func (t *Task) checkDir(dir string) error {
	switch {
	case t.ReadsData() && dir == "":
		return train.ConfigError(fmt.Errorf("task %q requires --data, the folder of its data set; %s", t.name, t.source))
	case !t.ReadsData() && dir != "":
		return train.ConfigError(fmt.Errorf("task %q generates its own data: --data %s, expected none", t.name, dir))
	}
	return nil
}

// MapPaths replaces each path of data in a configuration by that which f returns: the folder or
// file of the data and the options that are folders. It does not change the options in place.
func (t *Task) MapPaths(cfg *train.Config, f func(path string) (string, error)) error {
	var err error
	mapped := func(path any) any {
		text, ok := path.(string)
		if !ok || text == "" || err != nil {
			return path
		}
		text, err = f(text)
		return text
	}
	data := maps.Clone(cfg.Data)
	for _, key := range append(localOptions(t.options()), train.DirKey) {
		switch v := data[key].(type) {
		case string:
			data[key] = mapped(v)
		case []any:
			v = slices.Clone(v)
			for i := range v {
				v[i] = mapped(v[i])
			}
			data[key] = v
		}
	}
	if err == nil {
		cfg.Data = data
	}
	return err
}

// AtRate sets the options of a configuration so that the examples have the sampling rate hz. The
// task must support that (SampleRate). Another rate than it supports is a train.ErrConfig.
func (t *Task) AtRate(cfg *train.Config, hz float64) error {
	dir := cfg.Dir()
	o, err := t.decode(From(*cfg).Options)
	if err == nil {
		err = o.(rateOptions).atRate(t.sampleRate, hz)
	}
	if err != nil {
		return t.configError(err)
	}
	cfg.Data = encodeOptions(o)
	cfg.Data[train.DirKey] = dir
	return nil
}

// CheckFrom returns a train.ErrConfig if the options of a run cannot fit the model from which it
// starts (train.Options.From), whatever the data are. train.New checks the data.
func (t *Task) CheckFrom(cfg train.Config, m *model.Model) error {
	o, err := t.decode(From(cfg).Options)
	if from, ok := o.(fromOptions); err == nil && ok {
		err = from.checkFrom(m)
	}
	return t.configError(err)
}

// Load returns the data. Errors in the options are train.ErrConfig, and errors in the data
// train.ErrData; both name the task. If ctx is cancelled, the error is a train.ErrInterrupted.
func (t *Task) Load(ctx context.Context, s Source) (*dataset.Dataset, error) {
	if err := t.checkDir(s.Dir); err != nil {
		return nil, err
	}
	given := From(t.Preset()).Options
	maps.Copy(given, s.Options)
	s.Options = given
	o, err := t.decode(given)
	if err != nil {
		return nil, err
	}
	isFolder, err := datafile.IsFolder(s.Dir)
	if isFolder {
		_, err = datafile.List(s.Dir)
	}
	var d *dataset.Dataset
	if err == nil {
		d, err = o.load(ctx, s)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("task %q: %w before the data was loaded", t.name, train.ErrInterrupted)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, datafile.ErrNoData) {
		return nil, train.DataError(fmt.Errorf("task %q: %w; %s", t.name, err, t.source))
	}
	if err != nil {
		return nil, train.DataError(fmt.Errorf("task %q: %w", t.name, err))
	}
	d.Options = t.portable(s.Options)
	d.Name, d.Dir = cmp.Or(d.Name, t.name), cmp.Or(d.Dir, s.Dir)
	return d, nil
}

// Summary describes a result in a few words, such as "accuracy 97.5 %". For a regression it adds
// the error of a naive prediction.
func (t *Task) Summary(m *train.Metrics) string {
	text := m.Validation()
	switch {
	case t.name == Default:
		return text + " (an output of zeros scores 100 %)"
	case t.detector:
		return "frame " + text
	case m.BaselineRMSE != nil && *m.BaselineRMSE > 0:
		return fmt.Sprintf("%s (predicting the training set's mean: RMSE %.4g)", text, *m.BaselineRMSE)
	}
	return text
}
