package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/cluster"
	"github.com/s4d-fast/s4d-fast/cluster/broker"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// natsFlags are the flags of commands that connect to NATS.
type natsFlags struct {
	NATS  string `name:"nats" help:"URL of a NATS server with JetStream; several are separated by commas. env: the URL in the environment variable S4D_NATS." placeholder:"URL" xor:"nats" group:"Other machines:"`
	Creds string `name:"nats-creds" help:"File with the NATS user's credentials." type:"path" placeholder:"FILE" group:"Other machines:"`
	CA    string `name:"nats-ca" help:"PEM file with the authorities of the server's certificate (default: the system's)." type:"path" placeholder:"FILE" group:"Other machines:"`
	Cert  string `name:"nats-cert" help:"PEM file with the client's certificate." type:"path" placeholder:"FILE" and:"nats-client" group:"Other machines:"`
	Key   string `name:"nats-key" help:"PEM file with the client's key." type:"path" placeholder:"FILE" and:"nats-client" group:"Other machines:"`
}

// url returns the URL of the server, which --nats env takes from the environment.
func (f *natsFlags) url() string {
	if f.NATS == "env" {
		return os.Getenv("S4D_NATS")
	}
	return f.NATS
}

func (f *natsFlags) connection(name string, log *slog.Logger) cluster.Connection {
	return cluster.Connection{URL: f.url(), Credentials: f.Creds, CA: f.CA, Cert: f.Cert, Key: f.Key, Name: name, Log: log}
}

// connect connects to NATS. The error is train.ErrInterrupted if ctx ends before.
func connect(ctx context.Context, c cluster.Connection) (*nats.Conn, error) {
	nc, err := cluster.Connect(ctx, c)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w before the connection to NATS", train.ErrInterrupted)
	}
	return nc, err
}

// defaultLease is the default of --lease.
const defaultLease = 10 * time.Second

// checkNATS rejects flags that have no effect without --nats or --serve.
func (c *sweepCmd) checkNATS() error {
	switch {
	case c.NATS != "" && c.url() == "":
		return usageError(errors.New("--nats env: expected the URL of a NATS server in the environment variable S4D_NATS"))
	case c.Lease < cluster.LeastLease:
		return usageError(fmt.Errorf("--lease %v: expected at least %v", c.Lease, cluster.LeastLease))
	case c.Replicas < 0 || c.Replicas > 5:
		return usageError(fmt.Errorf("--replicas %d: expected 1 to 5, or 0 for the present number", c.Replicas))
	case c.NATS == "" && c.Serve == "" && c.Watch:
		return usageError(errors.New("--watch: expected --nats or --serve, which distribute the runs"))
	case c.NATS == "" && c.Serve == "" && c.Lease != defaultLease:
		return usageError(errors.New("--lease: expected --nats or --serve, which distribute the runs"))
	case c.NATS == "" && c.Replicas != 0:
		return usageError(errors.New("--replicas: expected --nats with the URL of a cluster of servers"))
	}
	for _, f := range []struct{ name, value string }{{"creds", c.Creds}, {"ca", c.CA}, {"cert", c.Cert}, {"key", c.Key}} {
		if c.NATS == "" && f.value != "" {
			return usageError(fmt.Errorf("--nats-%s: expected --nats with the URL of a server", f.name))
		}
	}
	return nil
}

// distribute has the runs trained by workers.
func (c *sweepCmd) distribute(ctx context.Context, std *streams, tk *task.Task, s train.Sweep) ([]train.SweepRow, error) {
	table := newRunTable(std, c.Watch)
	log := newLog(table)
	to := c.connection("sweep", log)
	if c.Serve != "" {
		b, err := broker.Start(broker.Options{Addr: c.Serve, Dir: filepath.Join(c.Out, "nats")})
		if err != nil {
			return nil, err
		}
		defer b.Close()
		fmt.Fprintln(std.err, "waiting for workers; start them on this or other machines with one of:")
		for _, url := range b.URLs() {
			fmt.Fprintf(std.err, "  s4d-fast worker --nats %s\n", url)
		}
		to.URL, to.InProcess = b.URLs()[0], b
	}
	nc, err := connect(ctx, to)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	defer table.end()
	coordinator := cluster.Coordinator{Sweep: s, Lease: c.Lease, Replicas: c.Replicas, MapPaths: tk.MapPaths, Watch: table.show, Log: log}
	rows, err := coordinator.Run(ctx, nc)
	if errors.Is(err, train.ErrInterrupted) {
		table.end()
		fmt.Fprintf(std.err, "stopped with %d runs complete; run the same command again to resume\n", len(rows))
	}
	return rows, err
}
