package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type sweepCmd struct {
	Task    string   `arg:"" help:"Task: ${tasks}."`
	Data    string   `help:"Folder or file of the data; some tasks generate their own." type:"path" placeholder:"DIR"`
	Config  string   `help:"TOML file whose values override the task's preset." type:"path" placeholder:"FILE"`
	Preset  string   `help:"Ablation of the paper: ${sweeps}. --set overrides its values." placeholder:"NAME"`
	Set     []string `help:"One value, or several to sweep over: ssm.init=lin,dfout. Keys joined by + get the same value: ssm.dt_min+ssm.dt_max=0.001,0.01. Repeatable." placeholder:"KEY=VALUE,..." sep:"none"`
	Seeds   int      `help:"Number of runs per combination, with seeds 1, 2, …." default:"1"`
	Out     string   `help:"Folder for the runs, sweep.csv and sweep.png. Run the same command again to resume." required:"" type:"path" placeholder:"DIR"`
	Threads int      `help:"Number of worker threads (default: one per processor)." placeholder:"N"`

	Serve    string        `help:"Have the runs trained by workers (s4d-fast worker), and start a NATS server for them on this address. :4222 listens on all interfaces." placeholder:"HOST:PORT" xor:"nats" group:"Other machines:"`
	Lease    time.Duration `help:"With --nats or --serve: give a run to another worker after this time without a sign of life." default:"10s" group:"Other machines:"`
	Replicas int           `help:"With --nats: number of servers of a cluster that store each item (default: as before, at first 1)." placeholder:"N" group:"Other machines:"`
	Watch    bool          `help:"With --nats or --serve: show a table of the runs on a terminal." group:"Other machines:"`

	natsFlags
}

func (c *sweepCmd) Help() string {
	return `The plot has the last numeric swept key on the x axis, and one curve per combination of the other keys.

Presets:
  step                         Figure 4 (same values for Δ and ξ)
  kernel-length, ssm-layers    Figure 5
  step-max                     Figures 6 and 8

The presets have the paper's size. --set selects a smaller one, as in the second example.

Examples:
  s4d-fast sweep delay --preset step --out runs/figure4
  s4d-fast sweep scifar --data data/cifar --preset kernel-length --set model.d_model=16 --set ssm.d_state=32 --set ssm.l_max=1024,32,8 --set train.max_steps=700 --out runs/figure5
  s4d-fast sweep fsdd --data data/fsdd --set ssm.init=lin,dfout --set ssm.dt_max+ssm.xi_max=0.01,0.1 --seeds 3 --out runs/max
  s4d-fast sweep delay --preset step --out runs/figure4 --serve :4222 --watch

docs/cluster.md describes sweeps on several machines.`
}

func (c *sweepCmd) Run(std *streams, log *slog.Logger, ctx *ctxBox) error {
	s := train.Sweep{Seeds: c.Seeds, Dir: c.Out}
	base := trainCmd{Task: c.Task, Data: c.Data, Config: c.Config, Threads: c.Threads}
	var axes []train.Axis
	for _, set := range c.Set {
		a, err := train.ParseAxis(set)
		if err != nil {
			return trainError(err)
		}
		axes = append(axes, a)
	}
	axes, err := train.SweepPreset(c.Preset, axes)
	if err != nil {
		return trainError(err)
	}
	for _, a := range axes {
		if len(a.Values) > 1 {
			s.Axes = append(s.Axes, a)
			continue
		}
		for _, key := range a.Keys {
			base.Set = append(base.Set, key+"="+a.Values[0])
		}
	}
	tk, cfg, err := base.config(ctx, nil, nil)
	if err != nil {
		return trainError(err)
	}
	s.Base, s.Check, s.Reporter = cfg, tk.Resolve, reporter(std, log)
	var notes []string // those of the run before, which are not repeated
	s.Load = func(ctx context.Context, cfg train.Config) (*dataset.Dataset, error) {
		data, err := tk.Load(ctx, task.From(cfg))
		if err == nil && !slices.Equal(data.Notes, notes) {
			notes = data.Notes
			printNotes(std, notes)
		}
		return data, err
	}
	s.Begin = func(run, runs int, name string, t *train.Trainer) {
		fmt.Fprintf(std.err, "run %d of %d: %s\n", run, runs, name)
		warn(log, t)
	}
	distributed := c.NATS != "" || c.Serve != ""
	if err := c.checkNATS(); err != nil {
		return err
	}
	var rows []train.SweepRow
	if distributed {
		rows, err = c.distribute(ctx, std, tk, s)
	} else {
		rows, err = s.Run(ctx)
	}
	if errors.Is(err, train.ErrInterrupted) && !distributed {
		fmt.Fprintf(std.err, "stopped in run %d; run the same command again to resume\n", len(rows)+1)
	}
	if err != nil {
		return trainError(err)
	}
	fmt.Fprintln(std.out, "Table:", filepath.Join(c.Out, "sweep.csv"))
	panel, err := sweepPanel([]string{c.Out}, "")
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
