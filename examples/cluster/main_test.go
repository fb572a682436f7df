package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/member"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// TestMain lets a test run a part of main as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(stopVariable) != "" {
		stopOnSignal()
		return
	}
	os.Exit(m.Run())
}

// lines is a writer that passes on what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A member that starts before its broker waits for it.
func TestConnect(t *testing.T) {
	ctx, b := clustertest.Context(t), clustertest.Start(t)
	log := make(lines, 1000)
	s := settings{url: b.URL(), wait: time.Hour, member: member.Config{Log: slog.New(slog.NewTextHandler(log, nil))}}
	b.Stop()
	type result struct {
		nc  *nats.Conn
		err error
	}
	done := make(chan result)
	go func() {
		nc, err := connect(ctx, s)
		done <- result{nc, err}
	}()
	select {
	case line := <-log:
		if !strings.Contains(line, "waiting for NATS") {
			t.Errorf("log %s", line)
		}
	case r := <-done:
		t.Fatalf("no attempt was repeated: %v", r.err)
	}
	b.Restart()
	r := <-done
	must.Do(t, r.err)
	r.nc.Close()

	b.Stop()
	s.wait, s.member.Log = 0, slog.New(slog.NewTextHandler(io.Discard, nil))
	must.Reject(connect(ctx, s))(t, nats.ErrNoServers)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	s.wait = time.Hour
	must.Reject(connect(ended, s))(t, context.Canceled)
}

// A member that is stopped while it waits for its broker ends without an error.
func TestStopBeforeConnect(t *testing.T) {
	b := clustertest.Start(t)
	s := settings{url: b.URL(), wait: time.Hour, metrics: "127.0.0.1:0", model: "digits"}
	s.member = member.Config{Interval: time.Second, MaxLag: time.Second, Log: slog.New(slog.DiscardHandler)}
	b.Stop()
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	cancel()
	must.Do(t, run(ctx, s))
}
