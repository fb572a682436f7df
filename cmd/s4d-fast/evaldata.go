package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

const (
	evalBatch    = 16 // examples
	maxStepScale = 64 // the largest ratio between the model's sampling rate and that of the data
)

// evalConfig resolves the settings of the data on which a model is measured. Later sources override
// earlier ones: the preset of the task, the model file, the values of --set, the folder of --data.
func evalConfig(m *model.Model, name string, set []string, dir string) (*task.Task, train.Config, error) {
	if name = cmp.Or(name, m.Meta.Task); name == "" {
		return nil, train.Config{}, usageError(errors.New("the model file states no task; set --task"))
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return nil, train.Config{}, err
	}
	cfg, err := tk.ForModel(m)
	if err == nil {
		err = configflags.Override(&cfg, tk, nil, "", set, dir)
	}
	if err == nil {
		err = tk.Resolve(&cfg)
	}
	return tk, cfg, err
}

// loadFor loads the data on which a model is evaluated. rate is their sampling rate in Hz; 0: that
// of the model. stepScale is the ratio of the model's rate to it.
func loadFor(ctx context.Context, std *streams, m *model.Model, tk *task.Task, cfg train.Config, split string, rate float64) (data *dataset.Dataset, stepScale float64, err error) {
	if stepScale, err = atRate(&cfg, tk, m, rate); err != nil {
		return nil, 0, err
	}
	s := source(&streams{}, cfg, split)
	s.Model = m
	if data, err = tk.Load(ctx, s); err == nil {
		err = std.note(data.Notes...)
	}
	return data, stepScale, err
}

// atRate sets the options of the data so that they have a sampling rate in Hz; 0: that of the
// model. It returns the ratio of the model's rate to that rate.
func atRate(cfg *train.Config, tk *task.Task, m *model.Model, to float64) (stepScale float64, err error) {
	rate := m.Meta.SampleRate
	switch {
	case rate == 0 && to != 0:
		return 0, badInput(fmt.Errorf("--rate %g: the model file states no sampling rate", to))
	case tk.SampleRate() == 0 && to != 0 && to != rate:
		return 0, usageError(fmt.Errorf("--rate %g: data of task %q are read at the model's rate only, %g Hz; omit --rate", to, tk.Name(), rate))
	case rate == 0 || tk.SampleRate() == 0 || to == 0 && rate == tk.SampleRate():
		return 1, nil
	}
	to = cmp.Or(to, rate)
	if least, most := rate/maxStepScale, rate*maxStepScale; !(to >= least && to <= most) {
		return 0, usageError(fmt.Errorf("--rate %g: expected %g to %g Hz, the model's rate divided or multiplied by at most %d", to, least, most, maxStepScale))
	}
	return rate / to, tk.AtRate(cfg, to)
}
