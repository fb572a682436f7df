package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/member"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

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

// SIGHUP, which a process receives when its terminal closes, ends a member as SIGTERM does, unless
// nohup has started it.
func TestHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests ignore SIGHUP")
	}
	ctx := notifyContext()
	must.Do(t, must.Get(os.FindProcess(os.Getpid()))(t).Signal(syscall.SIGHUP))
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the context continues after SIGHUP")
	}
}
