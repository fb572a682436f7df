package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

type sweepCmd struct {
	configflags.SweepFlags

	Part    string `help:"Train one of N parts of the runs: I/N with I from 0 to N-1. Parts may run at once, on any machines." placeholder:"I/N" xor:"part"`
	Collect bool   `help:"Join the results of the parts in --out, after all of them. Trains nothing." xor:"part"`
}

func (c *sweepCmd) Help() string {
	return `The plot, sweep.png in --out, has the last numeric swept key on the x axis, and one curve per combination of the other keys.

Presets:
  step                         Figure 4 (same values for Δ and ξ)
  kernel-length, ssm-layers    Figure 5
  step-max                     Figures 6 and 8

The presets have the paper's size. --set selects a smaller one, as in the second example.

Examples:
  s4d-fast sweep delay --preset step --out runs/figure4
  s4d-fast sweep scifar --data data/cifar --preset kernel-length --set model.d_model=16 --set ssm.d_state=32 --set ssm.l_max=1024,32,8 --set train.max_steps=700 --out runs/figure5
  s4d-fast sweep fsdd --data data/fsdd --set ssm.init=lin,dfout --set ssm.dt_max+ssm.xi_max=0.01,0.1 --seeds 3 --out runs/max
  s4d-fast sweep delay --preset step --out runs/figure4 --part 0/8      # and 1/8 to 7/8, on any machines
  s4d-fast sweep delay --preset step --out runs/figure4 --collect

docs/cluster.md describes sweeps on several machines.`
}

func (c *sweepCmd) Run(std *streams, log *slog.Logger, ctx context.Context) error {
	_, s, err := c.Sweep()
	if err != nil {
		return err
	}
	if c.Part != "" {
		if s.Part, err = train.ParsePart(c.Part); err != nil {
			return fmt.Errorf("--part: %w", err)
		}
	}
	s.Reporter = reporter(std, log)
	load := s.Load
	s.Load = func(ctx context.Context, cfg train.Config) (*dataset.Dataset, error) {
		data, err := load(ctx, cfg)
		if err == nil {
			err = std.note(data.Notes...)
		}
		return data, err
	}
	s.Begin = func(run, runs int, name string, t *train.Trainer) {
		fmt.Fprintf(std.err, "run %d of %d: %s\n", run, runs, name)
		warn(log, t)
	}
	var rows []train.SweepRow
	if c.Collect {
		rows, err = s.Collect()
	} else {
		rows, err = s.Run(ctx)
	}
	if errors.Is(err, train.ErrInterrupted) {
		fmt.Fprintf(std.err, "stopped after %d complete runs; run the same command again to resume\n", len(rows))
	}
	if err != nil {
		return err
	}
	if c.Part != "" {
		fmt.Fprintf(std.err, "part %s: %d runs are complete; join all parts with --collect\n", c.Part, len(rows))
		return nil
	}
	fmt.Fprintln(std.out, "Table:", filepath.Join(c.Out, "sweep.csv"))
	panel, err := sweepPanel(c.Out)
	if errors.Is(err, errNoAxis) || errors.Is(err, errNoResult) {
		return nil
	}
	if err != nil {
		return err
	}
	picture := filepath.Join(c.Out, "sweep.png")
	if err := figure.Curves(picture, []figure.Panel{panel}); err != nil {
		return err
	}
	fmt.Fprintln(std.out, "Plot:", picture)
	return nil
}
