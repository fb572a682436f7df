//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// build compiles the command of a member and saves the model of two tones.
func build(t *testing.T) (program, model string) {
	t.Helper()
	dir := t.TempDir()
	program, model = filepath.Join(dir, "cluster"), filepath.Join(dir, "tones.safetensors")
	cmd := exec.Command("go", "build", "-o", program, "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped, even if the tests need cgo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must.Do(t, must.Get(tonemodel.NewFramewise())(t).Save(model))
	return program, model
}

// Members that are processes of their own are killed with SIGKILL. One is suspended and wakes up
// when others have ended its streams.
func TestProcesses(t *testing.T) {
	program, model := build(t)
	ctx, b, r := clustertest.Context(t), clustertest.Start(t), recognizer(t)
	f := &fleet{dir: t.TempDir(), command: []string{program, "-nats", b.URL(), "-model", model, "-interval", "50ms"}}
	for range 3 {
		must.Do(t, f.addMember(ctx))
	}
	t.Cleanup(f.close)
	suspended := f.list()[2]
	l := load{js: b.JetStream(), scripts: toneScripts(t, r, 300), streams: 12, patience: time.Minute}
	total, did := l.total(), make(chan error, 3)
	suspend := at(func() { did <- suspended.cmd.Process.Signal(syscall.SIGSTOP) }, total/8)
	kill := at(func() {
		f.killOldest()
		did <- f.addMember(ctx)
	}, total/4, total/2)
	l.onLine = func(n int) { suspend(n); kill(n) }
	must.Do(t, l.run(ctx))
	must.Do(t, l.err())
	for range cap(did) {
		must.Do(t, <-did)
	}
	must.Do(t, suspended.cmd.Process.Signal(syscall.SIGCONT))
	for _, p := range f.list() {
		if c := p.cost(); runtime.GOOS == "linux" && (c.cpu == 0 || c.resident == 0) {
			t.Errorf("%s: cost %+v", p.name, c)
		}
		p.stop()
		must.Equal(t, p.cmd.ProcessState.ExitCode(), 0, "exit code of %s after SIGTERM", p.name)
	}
	info := must.Get(must.Get(l.js.Stream(ctx, wire.LineStream))(t).Info(ctx))(t)
	must.Equal(t, int(info.State.Msgs), total+l.streams, "lines in JetStream")
}

func TestExitCodes(t *testing.T) {
	program, model := build(t)
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{2, "-interval 1ms: expected 10ms to 7.5s", []string{"-interval", "1ms"}},
		{2, "-lease 20s: expected 100ms to 7.5s", []string{"-lease", "20s"}},
		{2, "-replicas -1: expected 1 to 5", []string{"-replicas", "-1"}},
		{2, "-max-streams -1", []string{"-max-streams", "-1"}},
		{2, "-processors -1: expected at least 0", []string{"-processors", "-1"}},
		{2, "flag provided but not defined", []string{"-x"}},
		{1, "no servers available", []string{"-nats", "nats://127.0.0.1:1", "-wait", "0", "-model", model}},
		{1, "missing.safetensors", []string{"-model", "missing.safetensors"}},
	} {
		cmd := exec.Command(program, c.args...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("%v: no error", c.args)
		}
		must.Equal(t, cmd.ProcessState.ExitCode(), c.code, "exit code of %v", c.args)
		must.Fail(t, errorText(out), c.text)
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }
