package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster"
	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
)

type sweepCmd struct {
	configflags.SweepFlags

	Lease time.Duration `help:"Give a run to another worker after this time without a sign of life." default:"10s"`
	Watch bool          `help:"Show a table of the runs on a terminal."`

	cluster.Connection
}

func (c *sweepCmd) Help() string {
	return `Examples:
  s4d-fast-cluster sweep delay --preset step --out runs/figure4 --nats nats://TOKEN@localhost:4222 --watch
  s4d-fast-cluster sweep delay --preset step --out runs/figure4 --nats tls://nats.example.org --nats-creds sweep.creds

s4d-fast sweep --help describes the presets, and docs/cluster.md sweeps on several machines.`
}

// Validate rejects invalid flags. Package kong calls it.
func (c *sweepCmd) Validate() error {
	switch {
	case c.URL == "":
		return errors.New("expected --nats URL (or S4D_NATS); s4d-fast sweep trains on this machine")
	case c.Lease < cluster.LeastLease:
		return fmt.Errorf("--lease %v: expected at least %v", c.Lease, cluster.LeastLease)
	}
	return nil
}

func (c *sweepCmd) Run(std *console, ctx context.Context) error {
	tk, s, err := c.Sweep()
	if err != nil {
		return err
	}
	table := newRunTable(std, c.Watch)
	log := program.Log(table)
	c.Connection.Name, c.Log = "sweep", log
	nc, err := cluster.Connect(c.Connection)
	if err != nil {
		return err
	}
	defer nc.Close()
	fmt.Fprintln(std.err, "waiting for workers (s4d-fast-cluster worker --nats URL)")
	defer table.end()
	coordinator := cluster.Coordinator{Sweep: s, Lease: c.Lease, MapPaths: tk.MapPaths, Watch: table.show, Log: log}
	rows, err := coordinator.Run(ctx, nc)
	if errors.Is(err, train.ErrInterrupted) {
		table.end()
		fmt.Fprintf(std.err, "stopped with %d runs complete; run the same command again to resume\n", len(rows))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "Table: %s\nTo draw it: s4d-fast plot sweep %s\n", filepath.Join(c.Out, "sweep.csv"), c.Out)
	return err
}
