// Package clustertest starts brokers for tests. It is imported by tests only.
package clustertest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Broker is a NATS server in this process.
type Broker struct {
	t      testing.TB
	opt    server.Options
	server *server.Server
}

// Start starts a broker on loopback that ends with the test.
func Start(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{t: t, opt: server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	b.start()
	t.Cleanup(func() { b.stop() })
	return b
}

func (b *Broker) start() {
	b.t.Helper()
	opt := b.opt
	b.server = must.Get(server.NewServer(&opt))(b.t)
	b.server.Start()
	if !b.server.ReadyForConnections(10 * time.Second) {
		b.t.Fatal("the broker does not accept connections")
	}
	b.opt.Port = opt.Port
}

func (b *Broker) stop() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// Restart stops the broker and starts it at the same address with the same files.
func (b *Broker) Restart() {
	b.t.Helper()
	b.stop()
	b.start()
}

// URL returns the broker's URL.
func (b *Broker) URL() string { return b.server.ClientURL() }

// Connect connects a client until the test ends.
func (b *Broker) Connect() *nats.Conn {
	b.t.Helper()
	nc := must.Get(nats.Connect(b.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})))(b.t)
	b.t.Cleanup(nc.Close)
	return nc
}

// JetStream connects a client and returns its JetStream context.
func (b *Broker) JetStream() jetstream.JetStream {
	b.t.Helper()
	return must.Get(jetstream.New(b.Connect()))(b.t)
}

// Context returns a context that ends with the test, or after a time that only a failure takes.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
