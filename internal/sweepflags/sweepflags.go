// Package sweepflags has the flags that describe a sweep, for the commands s4d-fast and
// s4d-fast-cluster.
package sweepflags

import (
	"context"
	"fmt"
	"strings"

	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// Flags are the flags, for package kong.
type Flags struct {
	Task   string   `arg:"" help:"Task: ${tasks}."`
	Data   string   `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Config string   `help:"TOML file whose values override the task's preset." type:"path" placeholder:"FILE"`
	Preset string   `help:"Ablation of the paper: ${sweeps}. --set overrides its values." placeholder:"NAME"`
	Set    []string `help:"One value, or several to sweep over: ssm.init=lin,dfout. Keys joined by + get the same value: ssm.dt_min+ssm.dt_max=0.001,0.01. Repeatable." placeholder:"KEY=VALUE,..." sep:"none"`
	Seeds  int      `help:"Number of runs per combination, with seeds 1, 2, …." default:"1"`
	Out    string   `help:"Folder for the runs and sweep.csv. Run the same command again to resume." required:"" type:"path" placeholder:"DIR"`
}

// Variables are the lists of names in the help of Flags.
func Variables() map[string]string {
	return map[string]string{"tasks": strings.Join(task.Names(), ", "), "sweeps": strings.Join(train.SweepPresets(), ", ")}
}

// Sweep returns the task and the sweep, whose Load loads the data of the task. Later sources
// override earlier ones: the preset of the task, --config, the preset of the sweep, --set and
// --data. Errors are a train.ErrConfig.
func (f *Flags) Sweep() (*task.Task, train.Sweep, error) {
	s := train.Sweep{Seeds: f.Seeds, Dir: f.Out}
	tk, err := task.Lookup(f.Task)
	if err != nil {
		return nil, s, err
	}
	s.Base, s.Check = tk.Preset(), tk.Resolve
	s.Load = func(ctx context.Context, cfg train.Config) (*dataset.Dataset, error) {
		return tk.Load(ctx, task.From(cfg))
	}
	text, err := train.ReadConfig(f.Config)
	if err != nil {
		return nil, s, err
	}
	if err := s.Base.Merge(text, f.Config); err != nil {
		return nil, s, err
	}
	if s.Axes, err = f.axes(&s.Base); err != nil {
		return nil, s, err
	}
	if s.Base.Task != f.Task {
		return nil, s, train.ConfigError(fmt.Errorf("task %q: the configuration is for task %q", f.Task, s.Base.Task))
	}
	if f.Data != "" {
		s.Base.SetDir(f.Data)
	}
	if err := tk.Resolve(&s.Base); err != nil {
		return nil, s, err
	}
	return tk, s, task.CheckValidation(s.Base)
}

// axes returns the keys with several values. It sets those with one value in the configuration.
func (f *Flags) axes(cfg *train.Config) (swept []train.Axis, err error) {
	var given []train.Axis
	for _, set := range f.Set {
		a, err := train.ParseAxis(set)
		if err != nil {
			return nil, err
		}
		given = append(given, a)
	}
	all, err := train.SweepPreset(f.Preset, given)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if len(a.Values) > 1 {
			swept = append(swept, a)
			continue
		}
		for _, key := range a.Keys {
			if err := cfg.Set(key + "=" + a.Values[0]); err != nil {
				return nil, err
			}
		}
	}
	return swept, nil
}
