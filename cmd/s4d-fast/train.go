package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type trainCmd struct {
	Task    string   `arg:"" optional:"" help:"Task: ${tasks} (default: the task in --config or of the resumed run, otherwise delay)."`
	Data    string   `help:"Folder of the data set (not for delay, which generates its own)." type:"path" placeholder:"DIR"`
	Config  string   `help:"TOML file whose values override the task's preset." type:"path" placeholder:"FILE"`
	Set     []string `help:"Override one value, for example ssm.init=lin; repeatable, overrides --config." placeholder:"KEY=VALUE" sep:"none"`
	Out     string   `help:"Run folder (default: runs/TASK, or runs/TASK-2, …)." type:"path" placeholder:"DIR"`
	Resume  bool     `help:"Resume the interrupted run in --out."`
	Seed    *uint64  `help:"Seed for initial weights, shuffling, dropout and generated data." placeholder:"N"`
	Threads int      `help:"Number of worker threads (default: one per processor)." placeholder:"N"`
}

func (c *trainCmd) Help() string {
	return `Writes config.toml (all values used), metrics.jsonl, best.safetensors and last/ to the run folder. --resume continues from
last/, with bit-identical results. Ctrl-C stops training at the next step and saves a checkpoint.

docs/configuration.md lists the keys of --config and --set.

Examples:
  s4d-fast train
  s4d-fast train --set ssm.init=lin
  s4d-fast train fsdd --data fsdd --out runs/fsdd
  s4d-fast train fsdd --out runs/fsdd --resume`
}

func (c *trainCmd) Run(std *streams, log *slog.Logger, ctx *ctxBox) error {
	cfg, err := c.config(ctx)
	if err != nil {
		return trainError(err)
	}
	if std.errTTY {
		cfg.LoadProgress = loadProgress(std.err)
	}
	t, err := train.New(ctx, cfg)
	if err != nil {
		return trainError(err)
	}
	defer t.Close()
	reportRun(std, log, t)
	fmt.Fprintf(std.err, "%s in %s\n%s\n", cfg.Task, t.Dir(), t.Describe())
	err = t.Fit(ctx)
	if errors.Is(err, train.ErrInterrupted) {
		fmt.Fprintf(std.err, "stopped after step %d; resume with: s4d-fast train %s --out %s --resume\n", t.Step(), cfg.Task, t.Dir())
	}
	if err != nil {
		return trainError(err)
	}
	return c.finish(std, t)
}

// reportRun logs the warnings of a run. The run reports its progress as a bar on a terminal, as
// lines of the log elsewhere.
func reportRun(std *streams, log *slog.Logger, t *train.Trainer) {
	for _, w := range t.Warnings() {
		log.Warn(w)
	}
	if std.errTTY {
		t.Report(train.Bar(std.err))
	} else {
		t.Report(train.LogLines(log))
	}
}

// config resolves the configuration. Later sources override earlier ones: defaults, preset (or the
// run to resume), --config, --set, flags.
func (c *trainCmd) config(ctx context.Context) (train.Config, error) {
	text, err := readConfig(ctx, c.Config)
	if err != nil {
		return train.Config{}, err
	}
	cfg, err := c.start(ctx, text)
	if err != nil {
		return cfg, err
	}
	if err := override(&cfg, text, c.Config, c.Set, c.Data, c.Seed); err != nil {
		return cfg, err
	}
	if c.Task != "" && cfg.Task != c.Task {
		return cfg, usageError(fmt.Errorf("task %q: the configuration is for task %q", c.Task, cfg.Task))
	}
	cfg.Out = c.Out
	if c.Threads != 0 {
		cfg.Workers = c.Threads
	}
	return cfg, checkData(cfg, c.Data)
}

// defaultTask generates its own data.
const defaultTask = "delay"

// checkData reports a task without a data set, or --data for a task that reads none.
func checkData(cfg train.Config, flag string) error {
	switch {
	case cfg.Task == defaultTask && flag != "":
		return usageError(fmt.Errorf("--data %s: task %q generates its own data", flag, cfg.Task))
	case cfg.Task != defaultTask && cfg.Data.Dir == "":
		return usageError(fmt.Errorf("task %q requires --data, the folder of its data set", cfg.Task))
	}
	return nil
}

// readConfig returns the text of a configuration file, nil without one.
func readConfig(ctx context.Context, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := orInterrupt(ctx, func() ([]byte, error) { return os.ReadFile(path) })
	return text, usageError(err)
}

// override replaces the values of a configuration by those of a file's text, of --set, and of the
// flags --data and --seed, in this order.
func override(cfg *train.Config, text []byte, file string, set []string, data string, seed *uint64) error {
	if err := cfg.Merge(text, file); err != nil {
		return err
	}
	for _, s := range set {
		if err := cfg.Set(s); err != nil {
			return err
		}
	}
	if data != "" {
		cfg.Data.Dir = data
	}
	if seed != nil {
		cfg.Seed = *seed
	}
	return nil
}

// start returns the configuration that --config and --set override: that of the run to resume, or
// the preset of the task, which --config may name.
func (c *trainCmd) start(ctx context.Context, text []byte) (train.Config, error) {
	if c.Resume {
		if c.Out == "" {
			return train.Config{}, usageError(errors.New("--resume requires --out, the folder of the run"))
		}
		return loadRun(ctx, c.Out)
	}
	task := c.Task
	if task == "" {
		task = defaultTask
		named := train.Default()
		if err := named.Merge(text, c.Config); err != nil {
			return named, err
		}
		switch {
		case named.Task != "":
			task = named.Task
		case cmp.Or(c.Data, named.Data.Dir) != "":
			dir := cmp.Or(c.Data, named.Data.Dir)
			return named, usageError(fmt.Errorf("data %s: name the task that reads it: s4d-fast train TASK --data %[1]s (tasks: %s)", dir, taskNames()))
		}
	}
	return train.Preset(task)
}

// loadRun is train.LoadRun, or returns the cause of ctx if that ends first.
func loadRun(ctx context.Context, dir string) (train.Config, error) {
	return orInterrupt(ctx, func() (train.Config, error) { return train.LoadRun(dir) })
}

// finish prints the result and draws the plot of a delay run.
func (c *trainCmd) finish(std *streams, t *train.Trainer) error {
	best := t.Best()
	if best == nil {
		return errors.New("no epoch was completed")
	}
	info, baseline := t.Info(), ""
	switch {
	case best.RelativeMSE != nil:
		baseline = " (an output of zeros scores 100 %)"
	case best.BaselineRMSE != nil:
		baseline = fmt.Sprintf(" (predicting the training set's mean: RMSE %.4g)", *best.BaselineRMSE)
	}
	fmt.Fprintf(std.out, "Best epoch %d: %s on the validation set%s.\n", best.Epoch, best.Validation(), baseline)
	if r := t.Test(); r != nil {
		fmt.Fprintf(std.out, "Test set: %s.\n", r.Describe(info))
	}
	fmt.Fprintf(std.out, "Model: %s\n", filepath.Join(t.Dir(), "best.safetensors"))
	if info.Task != defaultTask {
		return nil
	}
	x, target, output, err := t.Sample()
	if err != nil {
		return err
	}
	picture := filepath.Join(t.Dir(), "delay.png")
	if err := figure.Delay(picture, figure.Sequence{Input: x, Target: target, Output: output, SampleRate: info.SampleRate, Result: best.Validation()}); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Plot: %s\n", picture)
	return nil
}

// trainError gives an error of package train its exit code.
func trainError(err error) error {
	switch {
	case errors.Is(err, train.ErrInterrupted), errors.Is(err, train.ErrDiverged):
		return err
	case errors.Is(err, train.ErrConfig):
		return usageError(err)
	case errors.Is(err, train.ErrData):
		return badInput(err)
	}
	return err
}

// loadProgress returns a function that prints on a terminal how many recordings have been read.
func loadProgress(w io.Writer) func(done, total int) {
	return func(done, total int) {
		switch {
		case done == total:
			fmt.Fprintf(w, "\r%d recordings read    \n", total)
		case done%100 == 0:
			fmt.Fprintf(w, "\rreading recordings: %d of %d", done, total)
		}
	}
}

// taskNames lists the tasks for help texts.
func taskNames() string { return strings.Join(dataset.Tasks(), ", ") }
