package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// evalData are the flags of the data on which eval measures a model.
type evalData struct {
	Task    string   `help:"Task (default: the model's): ${tasks}." placeholder:"TASK"`
	Data    string   `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Channel *int     `help:"The only channel to read of each recording of task audio, from 0 (default: as in training)." placeholder:"N"`
	Set     []string `help:"Override one value of the data settings in the model file, for example data.length=4000, or set seed or threads; repeatable." placeholder:"KEY=VALUE" sep:"none"`
}

const (
	evalBatch    = 16 // examples
	maxStepScale = 64 // the largest ratio between the model's sampling rate and that of the data
)

// config resolves the data settings. Later sources override earlier ones: the task's preset, the
// model file, --set, --data.
func (c *evalData) config(m *model.Model) (*task.Task, train.Config, error) {
	name := cmp.Or(c.Task, m.Meta.Task)
	if name == "" {
		return nil, train.Config{}, usageError(errors.New("the model file states no task; set --task"))
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return nil, train.Config{}, err
	}
	cfg, err := tk.ForModel(m)
	if err != nil {
		return nil, cfg, err
	}
	if err := override(&cfg, tk, nil, "", c.Set, c.Data); err != nil {
		return nil, cfg, err
	}
	if c.Channel != nil {
		if _, ok := cfg.Data["channel"]; !ok {
			return nil, cfg, usageError(fmt.Errorf("--channel: task %q does not have this option", name))
		}
		if err := cfg.SetOption("channel", int64(*c.Channel)); err != nil {
			return nil, cfg, err
		}
	}
	return tk, cfg, tk.Resolve(&cfg)
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
	case !tk.HasRate() && to != 0 && to != rate:
		return 0, usageError(fmt.Errorf("--rate %g: data of task %q are read at the model's rate only, %g Hz; omit --rate", to, tk.Name(), rate))
	case rate == 0 || !tk.HasRate():
		return 1, nil
	case to == 0 && rate == tk.SampleRate():
		return 1, nil
	}
	to = cmp.Or(to, rate)
	if least, most := rate/maxStepScale, rate*maxStepScale; !(to >= least && to <= most) {
		return 0, usageError(fmt.Errorf("--rate %g: expected %g to %g Hz, the model's rate divided or multiplied by at most %d", to, least, most, maxStepScale))
	}
	return rate / to, tk.AtRate(cfg, to)
}
