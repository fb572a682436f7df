// Package configflags has the flags that select the configuration of a run or of a sweep, for the
// commands s4d-fast, s4d-fast-cluster and s4d-fast-mpi.
package configflags

import (
	"context"
	"strings"

	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// SweepFlags are the flags that describe a sweep, for package kong.
type SweepFlags struct {
	Task   string   `arg:"" help:"Task: ${tasks}."`
	Data   string   `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Config string   `help:"TOML file whose values override the task's preset." type:"path" placeholder:"FILE"`
	Preset string   `help:"Ablation of the paper: ${sweeps}. --set overrides its values." placeholder:"NAME"`
	Set    []string `help:"One value, or several to sweep over: ssm.init=lin,dfout. Keys joined by + get the same value: ssm.dt_min+ssm.dt_max=0.001,0.01. Repeatable." placeholder:"KEY=VALUE,..." sep:"none"`
	Seeds  int      `help:"Number of runs per combination, with seeds 1, 2, …." default:"1"`
	Out    string   `help:"Folder for the runs and sweep.csv. Run the same command again to resume." required:"" type:"path" placeholder:"DIR"`
}

// Variables are the names in the help of the flags.
func Variables() map[string]string {
	return map[string]string{
		"tasks": strings.Join(task.Names(), ", "), "default_task": task.Default, "methods": strings.Join(task.Methods(), ", "),
		"sweeps": strings.Join(train.SweepPresets(), ", "),
	}
}

// Sweep returns the task and the sweep, whose Load loads the data of the task. Later sources
// override earlier ones: the preset of the task, --config, the preset of the sweep, --set and
// --data. Errors are a train.ErrConfig.
func (f *SweepFlags) Sweep() (*task.Task, train.Sweep, error) {
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
	var set []string
	if s.Axes, set, err = f.axes(); err != nil {
		return nil, s, err
	}
	if err := Override(&s.Base, tk, text, f.Config, set, f.Data); err != nil {
		return nil, s, err
	}
	if err := tk.Resolve(&s.Base); err != nil {
		return nil, s, err
	}
	return tk, s, task.CheckValidation(s.Base)
}

// axes returns the keys with several values, and KEY=VALUE for those with one.
func (f *SweepFlags) axes() (swept []train.Axis, set []string, err error) {
	var given []train.Axis
	for _, set := range f.Set {
		a, err := train.ParseAxis(set)
		if err != nil {
			return nil, nil, err
		}
		given = append(given, a)
	}
	all, err := train.SweepPreset(f.Preset, given)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range all {
		if len(a.Values) > 1 {
			swept = append(swept, a)
			continue
		}
		for _, key := range a.Keys {
			set = append(set, key+"="+a.Values[0])
		}
	}
	return swept, set, nil
}
