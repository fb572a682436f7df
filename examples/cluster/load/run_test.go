package main

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/member"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

func recognizer(t testing.TB) *events.Recognizer {
	t.Helper()
	m := must.Get(tonemodel.NewFramewise())(t)
	return must.Get(events.New(m, events.DefaultsFor(m)))(t)
}

// toneScripts returns scripts that begin at different words.
func toneScripts(t testing.TB, r *events.Recognizer, chunks int) (all []*script) {
	t.Helper()
	clip := tonemodel.Words().Samples
	for i := range 3 {
		at := i * 8000
		all = append(all, must.Get(newScript(r, append(clip[at:len(clip):len(clip)], clip[:at]...), chunks))(t))
	}
	return all
}

// node is a member in this process.
type node struct {
	stop func() // hands over its streams
	kill func() // as a process dies: without another word to the broker
}

func startNode(t testing.TB, b *clustertest.Broker, r *events.Recognizer, change func(*member.Config)) *node {
	t.Helper()
	opt := wire.Defaults()
	opt.Lease = 500 * time.Millisecond
	cfg := member.Config{Recognizer: r, JetStream: opt, Interval: 50 * time.Millisecond, MaxLag: time.Hour, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	nc := b.Connect()
	m := must.Get(member.New(t.Context(), nc, cfg))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &node{stop: stop, kill: func() { nc.Close(); stop() }}
}

// at returns a function for load.onLine that calls f once for each number of lines.
func at(f func(), lines ...int) func(int) {
	return func(n int) {
		if len(lines) > 0 && n >= lines[0] {
			lines = lines[1:]
			go f()
		}
	}
}

// Every event is told once while members are killed and others join, and when the broker restarts.
func TestKilledMembers(t *testing.T) {
	ctx, b, r := clustertest.Context(t), clustertest.Start(t), recognizer(t)
	var mu sync.Mutex
	var nodes []*node
	for range 3 {
		nodes = append(nodes, startNode(t, b, r, nil))
	}
	killed := 0
	kill := func() {
		mu.Lock()
		defer mu.Unlock()
		killed++
		nodes = append(nodes, startNode(t, b, r, nil))
		nodes[0].kill()
		nodes = nodes[1:]
	}
	l := load{js: b.JetStream(), scripts: toneScripts(t, r, 300), streams: 20, patience: time.Minute}
	total := l.total()
	l.onLine = at(kill, total/10, total/4, total/2, 3*total/4)
	must.Do(t, l.run(ctx))
	must.Do(t, l.err())
	mu.Lock()
	defer mu.Unlock()
	must.Equal(t, killed, 4, "killed members")
	t.Log(&l)
}
