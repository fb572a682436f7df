package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train"
)

type sweepCmd struct {
	Task    string   `arg:"" help:"Task: ${tasks}."`
	Data    string   `help:"Folder of the data set (delay makes its own)." type:"path" placeholder:"DIR"`
	Config  string   `help:"TOML file whose values replace the task's preset." type:"path" placeholder:"FILE"`
	Preset  string   `help:"One of the paper's ablations: ${sweeps}; --set replaces its values." placeholder:"NAME"`
	Set     []string `help:"A value, or several to sweep over: ssm.init=lin,dfout; keys joined by + take the same: ssm.dt_min+ssm.dt_max=0.001,0.01. Repeatable." placeholder:"KEY=VALUE,..." sep:"none"`
	Seeds   int      `help:"Runs of every combination, with seeds from 1 on." default:"1"`
	Out     string   `help:"Folder of the runs and of sweep.csv and sweep.png; started again, a sweep goes on." required:"" type:"path" placeholder:"DIR"`
	Threads int      `help:"Worker threads (default: one per processor)." placeholder:"N"`
}

func (c *sweepCmd) Help() string {
	return `The picture shows the last swept key that is a number, a curve for each combination of the others.

Presets: step is Figure 4, where Δ and ξ take the same values; step-max Figures 6 and 8; kernel-length and ssm-layers
Figure 5.

Examples:
  s4d-fast sweep delay --preset step --out runs/figure4
  s4d-fast sweep scifar --data data/cifar --preset kernel-length --set train.epochs=10 --out runs/figure5
  s4d-fast sweep fsdd --data data/fsdd --set ssm.init=lin,dfout --set ssm.dt_max+ssm.xi_max=0.01,0.1 --seeds 3 --out runs/max`
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
	if s.Base, err = base.config(); err != nil {
		return trainError(err)
	}
	s.Begin = func(run, runs int, name string, t *train.Trainer) {
		fmt.Fprintf(std.err, "run %d of %d: %s\n", run, runs, name)
		for _, w := range t.Warnings() {
			log.Warn(w)
		}
		if std.errTTY {
			t.Report(train.Bar(std.err))
		} else {
			t.Report(train.LogLines(log))
		}
	}
	rows, err := s.Run(ctx)
	if errors.Is(err, train.ErrInterrupted) {
		fmt.Fprintf(std.err, "stopped in run %d; the same command goes on\n", len(rows)+1)
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
	fmt.Fprintln(std.out, "Picture:", picture)
	return nil
}
