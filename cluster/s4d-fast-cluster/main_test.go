package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster"
	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
	"github.com/s4d-fast/s4d-fast/internal/program"
)

// checkRun checks the exit code of a command line, and that stderr contains a text.
func checkRun(t *testing.T, args []string, code int, want string) {
	t.Helper()
	var log bytes.Buffer
	if got := run(t.Context(), args, &console{out: io.Discard, err: &log}); got != code || !strings.Contains(log.String(), want) {
		t.Errorf("%q: exit code %d, expected %d; stderr without %q: %s", args, got, code, want, &log)
	}
}

// With one worker, the table and the models of a sweep are those of the same sweep on one machine.
func TestSweep(t *testing.T) {
	natsServer, err := exec.LookPath("nats-server")
	if err != nil {
		t.Skip("nats-server is not installed (Debian package nats-server): ", err)
	}
	port := fmt.Sprint(netns.FreePort(t))
	server := exec.Command(natsServer, "-a", "127.0.0.1", "-p", port, "-js", "-sd", t.TempDir(), "--auth", "secret")
	must.Do(t, server.Start())
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	t.Setenv("S4D_NATS", "nats://secret@127.0.0.1:"+port)
	ctx, stop := context.WithCancel(t.Context())
	workers := make(chan int, 1)
	go func() { workers <- run(ctx, []string{"worker"}, &console{out: io.Discard, err: t.Output()}) }()
	must.Do(t, connects("127.0.0.1:"+port))
	served := filepath.Join(t.TempDir(), "served")
	args := []string{"sweep", "delay", "--set", "data.length=64", "--set", "data.delay=16", "--set", "data.train_size=64", "--set", "data.eval_size=64",
		"--set", "ssm.d_state=8", "--set", "train.epochs=1", "--set", "ssm.dt_max=0.1,0.2", "--set", "threads=1", "--out", served}
	must.Equal(t, run(t.Context(), args, &console{out: io.Discard, err: t.Output()}), program.OK, "exit code")
	stop()
	<-workers

	alone := filepath.Join(t.TempDir(), "alone")
	f := configflags.SweepFlags{Task: "delay", Seeds: 1, Out: alone, Set: []string{"threads=1", "data.length=64", "data.delay=16", "data.train_size=64",
		"data.eval_size=64", "ssm.d_state=8", "train.epochs=1", "ssm.dt_max=0.1,0.2"}}
	_, s, err := f.Sweep()
	must.Do(t, err)
	must.Get(s.Run(t.Context()))(t)
	for _, name := range []string{"sweep.csv", "ssm.dt_max=0.1,seed=1/best.safetensors", "ssm.dt_max=0.2,seed=1/best.safetensors"} {
		read := func(dir string) []byte { return must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t) }
		if !bytes.Equal(read(served), read(alone)) {
			t.Errorf("%s differs", name)
		}
	}
}

// connects waits for a server.
func connects(address string) (err error) {
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("S4D_NATS", "nats://me:secret@192.0.2.1:x")
	for _, args := range [][]string{{"worker"}, {"sweep", "delay", "--out", dir}} {
		checkRun(t, args, program.Failed, "invalid port")
	}
	t.Setenv("S4D_NATS", "")
	for want, args := range map[string][]string{
		"expected --nats URL":                {"worker"},
		"expected --nats URL (or S4D_NATS);": {"sweep", "delay", "--watch", "--out", dir},
		"--lease 1ms":                        {"sweep", "delay", "--nats", "nats://localhost:1", "--lease", "1ms", "--out", dir},
		"--threads 1025":                     {"worker", "--nats", "nats://localhost:1", "--threads", "1025"},
		"--idle -1s":                         {"worker", "--nats", "nats://localhost:1", "--idle=-1s"},
		"unknown key ssm.colour":             {"sweep", "delay", "--nats", "nats://localhost:1", "--set", "ssm.colour=red", "--out", dir},
		"--nats-key":                         {"worker", "--nats", "tls://localhost:1", "--nats-cert", "x"},
	} {
		checkRun(t, args, program.Usage, want)
	}
	missing := filepath.Join(dir, "missing")
	for _, flags := range [][]string{{"--nats-cert", missing, "--nats-key", missing}, {"--nats-ca", missing}, {"--nats-creds", missing}} {
		checkRun(t, append([]string{"worker", "--nats", "tls://localhost:1"}, flags...), program.Failed, missing+": no such file")
	}
}

// A worker that finds no server ends without an error after its idle time.
func TestWorkerIdleWithoutServer(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	must.Do(t, l.Close())
	checkRun(t, []string{"worker", "--nats", "nats://" + l.Addr().String(), "--idle", "1ns"}, program.OK, "waiting for the NATS server")
}

// The table of --watch has the totals and the runs that have begun. On a terminal it replaces the
// one before.
func TestRunTable(t *testing.T) {
	all := []cluster.Status{
		{Name: "seed=1", State: "done", Worker: "a", Level: "avx2", Step: 30, Result: "accuracy 97 %"},
		{Name: "seed=2", State: "running", Worker: "b", Level: "avx512", Step: 5, Steps: 30, Epoch: 1, Epochs: 3, Result: "accuracy 60 %"},
		{Name: "seed=3", State: "queued"},
	}
	var out bytes.Buffer
	table := newRunTable(&console{err: &out, terminal: true}, true)
	table.show(all)
	table.show(all)
	table.end()
	for _, part := range []string{"3 runs: 1 done, 1 running, 0 failed, 1 queued\n", "seed=1  done ", "avx2 ", "accuracy 97 %", "epoch 1/3, step 5/30  accuracy 60 %", "\x1b[3A\x1b[J\x1b[?7l3 runs", "\x1b[?7h"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the table has no %q:\n%s", part, &out)
		}
	}
}

// Without a terminal, each validation of a run is a line, and each change of its state.
func TestRunTableLines(t *testing.T) {
	var out bytes.Buffer
	table := newRunTable(&console{err: &out}, false)
	run := cluster.Status{Name: "seed=1", State: "running", Worker: "a", Step: 1, Steps: 30, Epoch: 1, Epochs: 3}
	table.show([]cluster.Status{run})
	run.Step, run.Result = 10, "accuracy 60 %"
	table.show([]cluster.Status{run})
	run.Step = 12
	table.show([]cluster.Status{run})
	run.State, run.Result = "done", "accuracy 97 %"
	table.show([]cluster.Status{run})
	must.Equal(t, out.String(), "run 1 of 1: seed=1: running on a\nrun 1 of 1: seed=1: running on a, epoch 1 of 3: accuracy 60 %\nrun 1 of 1: seed=1: done on a: accuracy 97 %\n", "lines")
}

// A log line is above the table, which stays on the terminal. Without a terminal, the output is
// only the line.
func TestRunTableLog(t *testing.T) {
	var out bytes.Buffer
	table := newRunTable(&console{err: &out, terminal: true}, true)
	const line = "level=WARN msg=broker error=timeout\n"
	must.Get(table.Write([]byte(line)))(t)
	must.Equal(t, out.String(), line, "before the first table")
	table.show([]cluster.Status{{Name: "seed=1", State: "running"}})
	out.Reset()
	program.Log(table).Warn("broker", "error", "timeout")
	drawn := out.String()
	if !strings.HasPrefix(drawn, "\x1b[2A\x1b[J"+line+"\x1b[?7l1 runs") || !strings.HasSuffix(drawn, "\x1b[?7h") {
		t.Errorf("a log line after the first table: %q", drawn)
	}
	out.Reset()
	table = newRunTable(&console{err: &out}, true)
	table.show([]cluster.Status{{Name: "seed=1", State: "running"}})
	out.Reset()
	must.Get(table.Write([]byte(line)))(t)
	must.Equal(t, out.String(), line, "without a terminal")
}

// A run that failed stays in the table, however many are running.
func TestRunTableFailed(t *testing.T) {
	all := []cluster.Status{{Name: "seed=0", State: "failed", Result: "the disk is on fire"}}
	for i := range 2 * tableRows {
		all = append(all, cluster.Status{Name: fmt.Sprint("seed=", i+1), State: "running"})
	}
	text := statusTable(all)
	if !strings.Contains(text, "the disk is on fire") {
		t.Errorf("the failed run is missing:\n%s", text)
	}
	must.Equal(t, strings.Count(text, "\n"), 1+tableRows, "lines")
}
