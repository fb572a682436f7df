// Package clustertest starts brokers for tests. It is imported by tests only.
package clustertest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
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
	b := newBroker(t)
	b.start()
	return b
}

// StartCluster starts n brokers on loopback that know each other.
func StartCluster(t testing.TB, n int) (all []*Broker) {
	t.Helper()
	var routes []*url.URL
	for i := range n {
		port := netns.FreePort(t)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		b := newBroker(t)
		b.opt.ServerName = fmt.Sprint("broker", i)
		b.opt.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}
		all = append(all, b)
	}
	for _, b := range all {
		b.opt.Routes = routes
		b.start()
	}
	return all
}

func newBroker(t testing.TB) *Broker {
	b := &Broker{t: t, opt: server.Options{Host: "127.0.0.1", Port: netns.FreePort(t), JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	t.Cleanup(b.Stop)
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
}

// Stop stops the broker.
func (b *Broker) Stop() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// Restart stops the broker and starts it at the same address with the same files.
func (b *Broker) Restart() {
	b.t.Helper()
	b.Stop()
	b.start()
}

// URL returns the broker's URL.
func (b *Broker) URL() string { return b.server.ClientURL() }

// Connect connects a client until the test ends, to this broker or, if it stops, to others.
func (b *Broker) Connect(others ...*Broker) *nats.Conn {
	b.t.Helper()
	urls := b.URL()
	for _, o := range others {
		urls += "," + o.URL()
	}
	nc := must.Get(nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.DontRandomize(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})))(b.t)
	b.t.Cleanup(nc.Close)
	return nc
}

// JetStream connects a client and returns its JetStream context.
func (b *Broker) JetStream(others ...*Broker) jetstream.JetStream {
	b.t.Helper()
	return must.Get(jetstream.New(b.Connect(others...)))(b.t)
}

// Context returns a context that ends with the test, or after a time that only a failure takes.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Command returns a command that runs a broker in a process of its own, at an address and with a
// folder. The test's TestMain must call Main.
func Command(address, dir string) []string { return []string{os.Args[0], brokerFlag, address, dir} }

const brokerFlag = "-broker-of-a-test"

// Main runs the tests, or the broker of Command.
func Main(m *testing.M) {
	if len(os.Args) != 4 || os.Args[1] != brokerFlag {
		os.Exit(m.Run())
	}
	host, port, err := net.SplitHostPort(os.Args[2])
	if err != nil {
		panic(err)
	}
	opt := server.Options{Host: host, JetStream: true, StoreDir: os.Args[3]}
	if opt.Port, err = strconv.Atoi(port); err != nil {
		panic(err)
	}
	s, err := server.NewServer(&opt)
	if err != nil {
		panic(err)
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
}
