package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/internal/rocket"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type trainCmd struct {
	configflags.TrainFlags
	From     modelFile `help:"Start from the weights and with the network of a model file or of a built-in model (${models})." placeholder:"MODEL"`
	Baseline bool      `help:"Print the result of ROCKET with ridge regression, too; for series with one class or target each."`

	Options taskFlags `embed:""`
}

func (c *trainCmd) Help() string {
	return `Writes config.toml (all values used), metrics.jsonl, best.safetensors and last/ to the run folder. --resume continues from
last/, with bit-identical results. Ctrl-C stops training at the next step and saves a checkpoint.

docs/configuration.md lists the keys of --config and --set, and describes --from.

Examples:
  s4d-fast train
  s4d-fast train --set ssm.init=lin
  s4d-fast train listops --data lra --preset s5
  s4d-fast train fsdd --data fsdd --out runs/fsdd
  s4d-fast train fsdd --out runs/fsdd --resume
  s4d-fast train audio --data my-words --background street --other speech
  s4d-fast train audio --data my-words --from commands --set optim.lr=0.002 --set optim.freeze='["encoder"]'
  s4d-fast train series --data machines.csv --id machine --time time --target state
  s4d-fast train series --data load.csv --time time --target load --horizon 24 --season 168`
}

func (c *trainCmd) Run(std *streams, log *slog.Logger, ctx context.Context, given *kong.Context) error {
	var from *model.Model
	if c.From != "" {
		var err error
		if from, err = c.From.load(ctx); err != nil {
			return badInput(err)
		}
	}
	options := func(cfg *train.Config) error { return c.Options.set(cfg, given) }
	tk, cfg, err := c.TrainFlags.Resolve(from, func(*train.Config) {}, options)
	if err != nil {
		return err
	}
	if c.Out != "" && !c.Resume { // before the data, which may take minutes
		if err := train.CheckFolder(c.Out); err != nil {
			return err
		}
	}
	data, err := tk.Load(ctx, source(std, cfg, ""))
	if err != nil {
		return err
	}
	if c.Baseline && (data.PerPosition || data.Channels == 0) {
		return usageError(fmt.Errorf("--baseline: task %q: expected series with one class or target each", cfg.Task))
	}
	if err := std.note(data.Notes...); err != nil {
		return err
	}
	printRecordings(std.err, data)
	opt := train.Options{Dir: c.Out, Resume: c.Resume, Reporter: reporter(std, log), From: from}
	if c.Out == "" {
		opt.Dir, opt.Numbered = filepath.Join("runs", cfg.Task), true
	}
	t, err := train.New(ctx, cfg, data, opt)
	if err != nil {
		return err
	}
	defer t.Close()
	warn(log, t)
	fmt.Fprintf(std.err, "%s in %s\n%s\n", cfg.Task, t.Dir(), t.Describe())
	err = t.Fit(ctx)
	if errors.Is(err, train.ErrInterrupted) {
		fmt.Fprintf(std.err, "stopped after step %d; resume with: s4d-fast train %s --out %s --resume\n", t.Step(), cfg.Task, t.Dir())
	}
	if err != nil {
		return err
	}
	return c.finish(ctx, std, tk, t, data, cfg)
}

// source returns the source of a configuration's data. On a terminal, Load then prints how many
// recordings have been read.
func source(std *streams, cfg train.Config, split string) task.Source {
	s := task.From(cfg)
	s.Split = split
	if std.errTTY {
		s.Progress = func(done, total int) {
			switch {
			case done == total:
				fmt.Fprintf(std.err, "\r%d recordings read    \n", total)
			case done%100 == 0:
				fmt.Fprintf(std.err, "\rreading recordings: %d of %d", done, total)
			}
		}
	}
	return s
}

// reporter reports the progress of runs as a bar on a terminal, as lines of the log elsewhere.
func reporter(std *streams, log *slog.Logger) train.Reporter {
	if std.errTTY {
		return train.Bar(std.err)
	}
	return train.LogLines(log)
}

func warn(log *slog.Logger, t *train.Trainer) {
	for _, w := range t.Warnings() {
		log.Warn(w)
	}
}

// finish prints the result and draws a plot if there is one: the confusion matrix of a word
// detector, the output of a network that computes a signal, or forecasts beside the truth.
func (c *trainCmd) finish(ctx context.Context, std *streams, tk *task.Task, t *train.Trainer, data *dataset.Dataset, cfg train.Config) error {
	workers := cfg.Workers
	best := t.BestEpoch()
	if best == nil {
		return errors.New("no epoch was completed")
	}
	if data.NoValidation {
		fmt.Fprintf(std.out, "Last epoch on the training set, which is too small to spare a validation set: %s.\n", tk.Summary(best))
	} else {
		fmt.Fprintf(std.out, "Best epoch %d on the validation set: %s.\n", best.Epoch, tk.Summary(best))
	}
	if r := t.Test(); r != nil {
		fmt.Fprintf(std.out, "Test set: %s.\n", tk.Summary(r.Metrics()))
	}
	if c.Baseline {
		if err := printBaseline(ctx, std.out, data, cfg); err != nil {
			return err
		}
	}
	if err := tk.Report(ctx, std.out, t.Best(), data, workers); err != nil {
		return err
	}
	file := filepath.Join(t.Dir(), train.BestFile)
	point, err := tk.SetOperatingPoint(ctx, t.Best(), data, workers)
	if err != nil {
		return err
	}
	if t.Best().Meta.Detection != nil {
		if err := t.Best().Save(file); err != nil {
			return err
		}
	}
	if point != nil {
		printOperatingPoint(std.out, point)
	}
	confusion, err := tk.Confusion(ctx, t.Best(), data, workers)
	if err != nil {
		return err
	}
	if confusion != nil {
		printConfusion(std.out, confusion)
		if err := drawConfusion(std.out, filepath.Join(t.Dir(), "confusion.png"), confusion); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.out, "Model: %s\n", file)
	var panels []figure.Panel
	switch {
	case data.Forecasts():
		panels, err = forecastPanels(ctx, t.Best(), data, workers)
	case data.Regression && data.PerPosition && data.Channels > 0:
		panels, err = delayPanels(ctx, t.Best(), data, "the network", best.Validation(), workers)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	picture := filepath.Join(t.Dir(), tk.Name()+".png")
	if err := figure.Curves(picture, panels); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Plot: %s\n", picture)
	return nil
}

// printBaseline prints the result of ROCKET on the test set or, without one, on the validation set.
func printBaseline(ctx context.Context, w io.Writer, data *dataset.Dataset, cfg train.Config) error {
	name, set := "test", data.Test
	if set == nil {
		name, set = "validation", data.Val
	}
	training, err := data.Split("train")
	if err != nil {
		return err
	}
	score, err := rocket.Evaluate(ctx, data, training, set, cfg.Seed, cfg.Workers)
	if err != nil {
		return err
	}
	result := fmt.Sprintf("accuracy %.4g %%", 100*score)
	if data.Regression {
		result = fmt.Sprintf("RMSE %.4g", score)
	}
	fmt.Fprintf(w, "Baseline, ROCKET with ridge regression, on the %s set: %s.\n", name, result)
	return nil
}
