package main

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
)

// Each member is a host of its own. The network of one is cut, so that it loses its streams without
// knowing it, and another one is killed.
func TestHosts(t *testing.T) {
	hosts := netns.New(t)
	program, model := build(t)
	ctx, r := clustertest.Context(t), recognizer(t)
	dir := t.TempDir()
	const url = "nats://10.209.0.10:4222"
	broker := hosts.Add(10).Command(clustertest.Command("10.209.0.10:4222", t.TempDir())...)
	f := &fleet{dir: dir}
	var err error
	f.broker, err = start(ctx, dir, "broker", broker...)
	must.Do(t, err)
	t.Cleanup(f.close)
	var last *netns.Host
	for n := 1; n <= 3; n++ {
		last = hosts.Add(10 + n)
		f.command = last.Command(program, "-nats", url, "-model", model, "-interval", "50ms", "-lease", "500ms")
		must.Do(t, f.addMember(ctx))
	}
	nc := must.Get(nats.Connect(url, nats.SetCustomDialer(hosts)))(t)
	defer nc.Close()
	l := load{js: must.Get(jetstream.New(nc))(t), scripts: toneScripts(t, r, 300), streams: 12, patience: time.Minute}
	total, steps := l.total(), make(chan string, 2)
	cut := at(func() { last.Cut(true); steps <- "cut" }, total/8)
	kill := at(func() { f.killOldest(); steps <- "killed" }, total/3)
	l.onLine = func(n int) { cut(n); kill(n) }
	must.Do(t, l.run(ctx))
	must.Do(t, l.err())
	t.Log(<-steps, <-steps)

	// The host that was cut off comes back when others have ended its streams.
	last.Cut(false)
	for _, p := range f.list()[1:] {
		p.stop()
		must.Equal(t, p.cmd.ProcessState.ExitCode(), 0, "exit code of %s", p.name)
	}
	info := must.Get(must.Get(l.js.Stream(ctx, wire.LineStream))(t).Info(ctx))(t)
	must.Equal(t, int(info.State.Msgs), total+l.streams, "lines in JetStream")
}
