package configflags

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// TrainFlags are the flags that select the configuration of a run, for package kong.
type TrainFlags struct {
	Task    string   `arg:"" optional:"" help:"Task: ${tasks} (default: the task in --config or of the resumed run, otherwise ${default_task})."`
	Data    string   `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Config  string   `help:"TOML file whose values override the task's preset." type:"path" placeholder:"FILE"`
	Preset  string   `help:"Use the published settings of another layer instead of the paper's: ${methods}." placeholder:"NAME"`
	Set     []string `help:"Override one value, for example ssm.init=lin; repeatable, overrides --config." placeholder:"KEY=VALUE" sep:"none"`
	Out     string   `help:"Run folder (default: runs/TASK, or runs/TASK-2, …)." type:"path" placeholder:"DIR"`
	Resume  bool     `help:"Resume the interrupted run in --out."`
	Seed    *uint64  `help:"Seed for initial weights, shuffling, dropout and generated data." placeholder:"N"`
	Threads int      `help:"Number of worker threads (default: one per processor)." placeholder:"N"`
}

// Resolve returns the task and the configuration. Later sources override earlier ones: defaults,
// preset (or the run to resume), begin, the network of the model from which the run starts, if
// there is one, --config, --set, --data, --seed and --threads, options. Errors are train.ErrConfig.
func (f *TrainFlags) Resolve(from *model.Model, begin func(*train.Config), options func(*train.Config) error) (*task.Task, train.Config, error) {
	text, err := train.ReadConfig(f.Config)
	if err != nil {
		return nil, train.Config{}, err
	}
	tk, cfg, err := f.start(text)
	if err != nil {
		return nil, cfg, err
	}
	if f.Task != "" && cfg.Task != f.Task {
		return nil, cfg, train.ConfigError(fmt.Errorf("task %q: the configuration is for task %q", f.Task, cfg.Task))
	}
	if !f.Resume {
		begin(&cfg)
		if from != nil {
			tk.SetFrom(&cfg, from)
		}
	}
	if err := Override(&cfg, tk, text, f.Config, f.Set, f.Data); err != nil {
		return nil, cfg, err
	}
	if f.Seed != nil {
		cfg.Seed = *f.Seed
	}
	cfg.Workers = cmp.Or(f.Threads, cfg.Workers)
	if err := options(&cfg); err != nil {
		return nil, cfg, err
	}
	if err := tk.Resolve(&cfg); err != nil {
		return nil, cfg, err
	}
	if from != nil {
		if err := tk.CheckFrom(cfg, from); err != nil {
			return nil, cfg, err
		}
	}
	if f.Resume {
		return tk, cfg, nil
	}
	return tk, cfg, task.CheckValidation(cfg)
}

// start returns the configuration that --config and --set override: that of the run to resume, or
// the preset of the task or, with --preset, that of another layer. --config may name the task.
func (f *TrainFlags) start(text []byte) (*task.Task, train.Config, error) {
	if f.Resume {
		switch {
		case f.Out == "":
			return nil, train.Config{}, train.ConfigError(errors.New("--resume requires --out, the folder of the run"))
		case f.Preset != "":
			return nil, train.Config{}, train.ConfigError(fmt.Errorf("--preset %s: expected none with --resume, which continues with the settings of the run", f.Preset))
		}
		return task.LoadRun(f.Out)
	}
	name := f.Task
	if name == "" {
		name = task.Default
		named := train.Default()
		if err := named.Merge(text, f.Config); err != nil {
			return nil, named, err
		}
		switch dir := cmp.Or(f.Data, named.Dir()); {
		case named.Task != "":
			name = named.Task
		case dir != "":
			return nil, named, train.ConfigError(fmt.Errorf("data %s: name the task that reads it: s4d-fast train TASK --data %[1]s (tasks: %s)", dir, strings.Join(task.Names(), ", ")))
		}
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return nil, train.Config{}, err
	}
	if f.Preset != "" {
		cfg, err := tk.MethodPreset(f.Preset)
		return tk, cfg, err
	}
	return tk, tk.Preset(), nil
}

// Override sets the values of a task's configuration from the text of a file, from --set and from
// --data, in this order.
func Override(cfg *train.Config, tk *task.Task, text []byte, file string, set []string, data string) error {
	if err := cfg.Merge(text, file); err != nil {
		return err
	}
	for _, s := range set {
		if err := cfg.Set(s); err != nil {
			return err
		}
	}
	if cfg.Task != tk.Name() {
		return train.ConfigError(fmt.Errorf("task %q: the configuration is for task %q", tk.Name(), cfg.Task))
	}
	if data != "" {
		cfg.SetDir(data)
	}
	return nil
}
