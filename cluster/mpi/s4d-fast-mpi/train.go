package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// trainCmd has the flags of s4d-fast train, except those of a task's options, which --set sets.
type trainCmd struct {
	Task     string        `arg:"" optional:"" help:"Task (default: the task of the resumed run, otherwise delay)."`
	Data     string        `help:"Folder or file of the data, on every machine." type:"path" placeholder:"DIR"`
	Config   string        `help:"TOML file whose values override the task's preset." type:"path" placeholder:"FILE"`
	Preset   string        `help:"Use the published settings of another layer." placeholder:"NAME"`
	Set      []string      `help:"Override one value, for example train.shards=16; repeatable." placeholder:"KEY=VALUE" sep:"none"`
	From     string        `help:"Start from the weights of a model file, on every machine." type:"path" placeholder:"MODEL"`
	Out      string        `help:"Run folder, on the machine of rank 0 (default: runs/TASK, or runs/TASK-2, …)." type:"path" placeholder:"DIR"`
	Resume   bool          `help:"Resume the interrupted run in --out, on any number of ranks."`
	Seed     *uint64       `help:"Seed for initial weights, shuffling, dropout and generated data." placeholder:"N"`
	Threads  int           `help:"Number of worker threads per rank (default: the processors that the rank may use)." placeholder:"N"`
	Patience time.Duration `help:"Time after which a rank that does not respond counts as lost; 0: never." default:"${patience}"`
}

// Validate rejects values of flags that no run has. Package kong calls it.
func (c *trainCmd) Validate() error {
	if c.Patience < 0 {
		return fmt.Errorf("--patience %v: expected at least 0", c.Patience)
	}
	return nil
}

// defaultShards is train.shards where it is not given, or the largest power of two below it that
// divides a batch.
const defaultShards = 8

// run trains as one rank.
func (c *trainCmd) run(ctx context.Context, world *mpi.World) error {
	tk, cfg, from, err := c.shared(ctx, world)
	if err != nil {
		return err
	}
	cfg.Workers = c.Threads
	if cfg.Workers == 0 {
		cfg.Workers = threads()
	}
	data, err := tk.Load(ctx, task.From(cfg))
	if err := agree(ctx, world, err); err != nil {
		return err
	}
	opt := train.Options{Dir: c.Out, Resume: c.Resume, From: from, Exchange: world, Reporter: reporter(ctx, world.Rank())}
	if c.Out == "" {
		opt.Dir, opt.Numbered = filepath.Join("runs", cfg.Task), true
	}
	t, err := train.New(ctx, cfg, data, opt)
	if err := agree(ctx, world, err); err != nil {
		return err
	}
	defer t.Close()
	if world.Rank() == 0 {
		for _, note := range data.Notes {
			fmt.Fprintln(os.Stderr, "note:", note)
		}
		for _, w := range t.Warnings() {
			fmt.Fprintln(os.Stderr, w)
		}
		fmt.Fprintf(os.Stderr, "%s in %s, %d ranks of %d threads, %d shards\n%s\n", cfg.Task, t.Dir(), world.Ranks(), cfg.Workers, cfg.Train.Shards, t.Describe())
	}
	stop := saveOn(ctx, t, world)
	err = t.Fit(ctx)
	stop()
	if err != nil {
		return c.explain(t, err)
	}
	if world.Rank() > 0 {
		return nil
	}
	best := t.BestEpoch()
	if best == nil {
		return nil
	}
	text := fmt.Sprintf("Best epoch %d on the validation set: %s.\n", best.Epoch, tk.Summary(best))
	if r := t.Test(); r != nil {
		text += fmt.Sprintf("Test set: %s.\n", tk.Summary(r.Metrics()))
	}
	_, err = fmt.Printf("%sModel: %s\n", text, filepath.Join(t.Dir(), "best.safetensors"))
	return err
}

// explain adds how to resume, after a checkpoint if Fit has not written one. A run that diverged
// would do so again.
func (c *trainCmd) explain(t *train.Trainer, err error) error {
	if t.Dir() == "" || errors.Is(err, train.ErrDiverged) {
		return err
	}
	if !errors.Is(err, train.ErrInterrupted) {
		if e := t.Checkpoint(); e != nil {
			return errors.Join(err, e)
		}
	}
	return fmt.Errorf("%w%s", err, howToResume(t))
}

// howToResume continues a message.
func howToResume(t *train.Trainer) string {
	return fmt.Sprintf("; resume with --out %s --resume", t.Dir())
}

// shared returns the task, the configuration of rank 0, and the model to start from.
func (c *trainCmd) shared(ctx context.Context, world *mpi.World) (*task.Task, train.Config, *model.Model, error) {
	var tk *task.Task
	var cfg train.Config
	var from *model.Model
	var text []byte
	var err error
	if c.From != "" {
		if from, err = model.Load(c.From); err != nil {
			err = train.DataError(err)
		}
	}
	if err == nil && world.Rank() == 0 {
		if tk, cfg, err = c.config(from); err == nil {
			text, err = cfg.Encode()
		}
	}
	if err := agree(ctx, world, err); err != nil {
		return nil, cfg, nil, err
	}
	if text, err = world.Broadcast(text); err != nil {
		return nil, cfg, nil, err
	}
	if world.Rank() > 0 {
		cfg = train.Default()
		if err = cfg.Merge(text, "the configuration of rank 0"); err == nil {
			tk, err = task.Lookup(cfg.Task)
		}
	}
	return tk, cfg, from, agree(ctx, world, err)
}

// config resolves the configuration, as s4d-fast train does.
func (c *trainCmd) config(from *model.Model) (*task.Task, train.Config, error) {
	tk, cfg, err := c.start()
	if err != nil {
		return nil, cfg, err
	}
	if c.Task != "" && c.Task != tk.Name() { // only with --resume
		return nil, cfg, fmt.Errorf("%w: task %q: the run in %s is for task %q", train.ErrConfig, c.Task, c.Out, tk.Name())
	}
	if !c.Resume {
		cfg.Train.Shards = 0 // not given
		if from != nil {
			cfg.SetFrom(from)
		}
	}
	if c.Config != "" {
		text, err := train.ReadConfig(c.Config)
		if err != nil {
			return nil, cfg, train.ConfigError(err)
		}
		if err := cfg.Merge(text, c.Config); err != nil {
			return nil, cfg, err
		}
	}
	for _, s := range c.Set {
		if err := cfg.Set(s); err != nil {
			return nil, cfg, err
		}
	}
	if cfg.Task != tk.Name() {
		return nil, cfg, fmt.Errorf("%w: task %q: the configuration is for task %q", train.ErrConfig, tk.Name(), cfg.Task)
	}
	if c.Data != "" {
		cfg.SetDir(c.Data)
	}
	if c.Seed != nil {
		cfg.Seed = *c.Seed
	}
	if cfg.Train.Shards == 0 {
		cfg.Train.Shards = max(1, min(defaultShards, cfg.Train.Batch&-cfg.Train.Batch))
	}
	if from != nil {
		if err := tk.CheckFrom(cfg, from); err != nil {
			return nil, cfg, err
		}
	}
	return tk, cfg, tk.Resolve(&cfg)
}

// start returns the configuration that the flags override.
func (c *trainCmd) start() (*task.Task, train.Config, error) {
	if c.Resume {
		switch {
		case c.Out == "":
			return nil, train.Config{}, fmt.Errorf("%w: --resume requires --out, the folder of the run", train.ErrConfig)
		case c.Preset != "":
			return nil, train.Config{}, fmt.Errorf("%w: --preset %s: expected none with --resume, which continues with the settings of the run", train.ErrConfig, c.Preset)
		}
		return task.LoadRun(c.Out)
	}
	name := c.Task
	if name == "" {
		name = task.Default
	}
	tk, err := task.Lookup(name)
	if err != nil {
		return nil, train.Config{}, err
	}
	if c.Preset != "" {
		cfg, err := tk.MethodPreset(c.Preset)
		return tk, cfg, err
	}
	return tk, tk.Preset(), nil
}
