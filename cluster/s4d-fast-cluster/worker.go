package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

type workerCmd struct {
	Worker  string        `name:"name" help:"Name in the coordinator's table (default: the host's name and the process)." placeholder:"NAME"`
	Dir     string        `help:"Folder for the run in progress and of fetched data, used by one worker at a time (default: a temporary folder)." type:"path" placeholder:"DIR"`
	Threads int           `help:"Number of worker threads (default: as the sweep says, otherwise one per processor)." placeholder:"N"`
	Idle    time.Duration `help:"Exit after this time without a run or a NATS server (default: never)." placeholder:"TIME"`

	cluster.Connection
}

func (c *workerCmd) Help() string {
	return `Takes runs of sweeps (s4d-fast-cluster sweep), one at a time, and stores their checkpoints and results in the broker.
A run whose worker is lost continues on another worker from its last checkpoint. Ctrl-C stores a checkpoint and gives the run back.

Give the URL in the environment variable S4D_NATS if its token must not be in the list of processes.

Data are read at the sweep's path if this machine has the same data there, and otherwise fetched once and cached.

Examples:
  s4d-fast-cluster worker --nats nats://TOKEN@192.168.1.7:4222
  s4d-fast-cluster worker --nats tls://nats.example.org --nats-creds worker.creds --dir /scratch/s4d --idle 10m

docs/cluster.md describes sweeps on several machines.`
}

// Validate rejects invalid flags. Package kong calls it.
func (c *workerCmd) Validate() error {
	switch {
	case c.URL == "":
		return errors.New("expected --nats URL (or S4D_NATS), as for s4d-fast-cluster sweep")
	case c.Idle < 0:
		return fmt.Errorf("--idle %v: expected 0 or more", c.Idle)
	case c.Threads < 0 || c.Threads > train.MaxThreads:
		return fmt.Errorf("--threads %d: expected 0 to %d", c.Threads, train.MaxThreads)
	}
	return nil
}

func (c *workerCmd) Run(std *console, ctx context.Context) error {
	log := program.Log(std.err)
	c.Connection.Name, c.Wait, c.Log = c.Worker, true, log
	nc, err := cluster.Connect(c.Connection)
	if err != nil {
		return err
	}
	defer nc.Close()
	reporter := train.LogLines(log)
	if std.terminal {
		reporter = train.Bar(std.err)
	}
	w := cluster.Worker{
		Name: c.Worker, Dir: c.Dir, Threads: c.Threads, Idle: c.Idle, Log: log, Reporter: reporter,
		Load: func(ctx context.Context, cfg train.Config) (*dataset.Dataset, error) {
			tk, err := task.Lookup(cfg.Task)
			if err != nil {
				return nil, err
			}
			if err := tk.Resolve(&cfg); err != nil {
				return nil, err
			}
			return tk.Load(ctx, task.From(cfg))
		},
		MapPaths: func(cfg *train.Config, f func(string) (string, error)) error {
			tk, err := task.Lookup(cfg.Task)
			if err != nil {
				return err
			}
			return tk.MapPaths(cfg, f)
		},
	}
	return w.Run(ctx, nc)
}
