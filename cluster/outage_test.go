package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/cluster/broker"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
)

// find is a writer that closes a channel when a text is written the first time.
type find struct {
	text  string
	found chan struct{}
	once  sync.Once
}

func (f *find) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(f.text)) {
		f.once.Do(func() { close(f.found) })
	}
	return len(line), nil
}

// The broker is away when a run ends. The worker tries until the broker has the result.
func TestOutageAtEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds for the coordinator")
	}
	// Both brokers have these options.
	options := broker.Options{Addr: fmt.Sprintf("127.0.0.1:%d", netns.FreePort(t)), Dir: t.TempDir()}
	b := must.Get(broker.Start(options))(t)
	address := must.Get(url.Parse(b.URLs()[0]))(t)
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=5")
	reached, until := make(chan struct{}, 2), make(chan struct{})
	tried := &find{text: "result not stored", found: make(chan struct{})}
	w := Worker{Name: "w", Load: loadTask, Reporter: signalAt{holdAt{12, reached, until}}, Log: slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), tried), nil))}
	nc := must.Get(Connect(t.Context(), Connection{URL: address.String(), Wait: true}))(t)
	defer nc.Close()
	go func() { _ = w.Run(t.Context(), nc) }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		<-reached
		b.Close()
		close(until)
		<-tried.found
		again, err := broker.Start(options)
		if err != nil {
			t.Error(err)
			stop()
			return
		}
		t.Cleanup(again.Close)
	}()
	coordinator := must.Get(Connect(t.Context(), Connection{URL: address.String()}))(t)
	defer coordinator.Close()
	must.Get((&Coordinator{Sweep: s, Log: logger(t), Lease: LeastLease}).Run(ctx, coordinator))(t)
	same(t, s, alone(t, 1))
}

// A worker that is idle for its time ends without an error, but not while runs are queued.
func TestIdle(t *testing.T) {
	b := start(t)
	idle := func() error {
		w := Worker{Load: loadTask, Idle: 1, Log: logger(t)}
		return w.Run(t.Context(), connect(t, b))
	}
	must.Do(t, idle()) // before the first sweep
	s := tiny(t, t.TempDir(), 2)
	ended := make(chan error, 1)
	var once sync.Once
	c := Coordinator{Sweep: s, Log: logger(t), Watch: func([]Status) { once.Do(func() { go func() { ended <- idle() }() }) }}
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	must.Do(t, <-ended)
}
