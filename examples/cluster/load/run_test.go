package main

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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

func startNode(t testing.TB, nc *nats.Conn, r *events.Recognizer) *node {
	t.Helper()
	cfg := member.Config{Recognizer: r, JetStream: wire.Options{Lease: 500 * time.Millisecond}, Interval: 50 * time.Millisecond, MaxLag: time.Hour, Log: slog.New(slog.DiscardHandler)}
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
		nodes = append(nodes, startNode(t, b.Connect(), r))
	}
	killed := 0
	kill := func() {
		mu.Lock()
		defer mu.Unlock()
		killed++
		nodes = append(nodes, startNode(t, b.Connect(), r))
		nodes[0].kill()
		nodes = nodes[1:]
	}
	l := load{js: b.JetStream(), scripts: toneScripts(t, r, 300), streams: 20, patience: time.Minute}
	total := l.total()
	restarted := make(chan bool)
	kills := at(kill, total/10, total/4, total/2, 3*total/4)
	restart := at(func() {
		mu.Lock()
		defer mu.Unlock()
		b.Restart()
		close(restarted)
	}, total/3)
	l.onLine = func(n int) { kills(n); restart(n) }
	must.Do(t, l.run(ctx))
	must.Do(t, l.err())
	mu.Lock()
	defer mu.Unlock()
	must.Equal(t, killed, 4, "killed members")
	<-restarted
	t.Log(&l)
}

// A fleet whose members could not be started has none to kill.
func TestNoMember(t *testing.T) {
	f := &fleet{dir: t.TempDir(), command: []string{"missing-program"}}
	must.Fail(t, f.addMember(t.Context()), "missing-program")
	f.killOldest()
	must.Equal(t, len(f.list()), 0, "processes")
}

// Audio, lines and snapshots have three copies, so that the loss of a broker loses nothing.
func TestKilledBroker(t *testing.T) {
	ctx, brokers, r := clustertest.Context(t), clustertest.StartCluster(t, 3), recognizer(t)
	l := load{js: brokers[1].JetStream(brokers[2], brokers[0]), scripts: toneScripts(t, r, 100), streams: 6, patience: time.Minute}
	opt := wire.Options{Lease: 500 * time.Millisecond, Replicas: 3}
	setup := func() error { // fails until the brokers have elected a leader
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := wire.Setup(ctx, l.js, opt)
		return err
	}
	for err := setup(); err != nil; err = setup() {
		must.Do(t, ctx.Err())
	}
	for i := range 3 { // they take over the options
		startNode(t, brokers[i].Connect(brokers[(i+1)%3], brokers[(i+2)%3]), r)
	}
	stopped := make(chan bool)
	l.onLine = at(func() { brokers[0].Stop(); close(stopped) }, l.total()/3)
	must.Do(t, l.run(ctx))
	must.Do(t, l.err())
	<-stopped
	t.Log(&l)
}
