package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// trainCmd has the flags of s4d-fast train, except those of a task's options, which --set sets.
type trainCmd struct {
	configflags.TrainFlags
	From     string        `help:"Start from the weights of a model file, on every machine." type:"path" placeholder:"MODEL"`
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
	cfg.Workers = cmp.Or(c.Threads, threads())
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
	_, err = fmt.Printf("%sModel: %s\n", text, filepath.Join(t.Dir(), train.BestFile))
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
		// as s4d-fast train does, with another default of train.shards
		tk, cfg, err = c.TrainFlags.Resolve(from, func(cfg *train.Config) { cfg.Train.Shards = 0 }, func(cfg *train.Config) error {
			if cfg.Train.Shards == 0 { // not given
				cfg.Train.Shards = max(1, min(defaultShards, cfg.Train.Batch&-cfg.Train.Batch))
			}
			return nil
		})
		if err == nil {
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
