package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Connection says how to connect to a broker.
type Connection struct {
	URL         string // several URLs are separated by commas; tls:// requires TLS
	Credentials string // file of a user's JWT and key (nsc); "": none
	CA          string // PEM file of the authorities that sign the servers' certificates; "": the system's
	Cert, Key   string // PEM files of the client's certificate and key; "": none
	Name        string // of this client, for the broker's monitoring
	// Wait is set if Connect waits for a broker that cannot be reached. Idle limits the time; 0: no
	// limit.
	Wait bool
	Idle time.Duration
	Log  *slog.Logger // nil: none

	// InProcess is a server in this process, to which Connect connects without the network; nil:
	// none. URL then only has the user.
	InProcess nats.InProcessConnProvider

	dialer nats.CustomDialer // nil: the network
}

// Connect connects to a broker. The connection restores itself after every loss. With Wait, the
// error is ErrIdle if the broker could not be reached for Idle. Wrong URLs, certificates and
// passwords are errors at once.
func Connect(ctx context.Context, c Connection) (*nats.Conn, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	opts := []nats.Option{
		nats.Name(c.Name), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(5 * time.Second),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), // a cut network is found within 6 s
		nats.IgnoreAuthErrorAbort(), // a server that restarts may not have its accounts yet
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Log.Warn("NATS", "error", err) }),
	}
	if c.Credentials != "" {
		opts = append(opts, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		opts = append(opts, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		opts = append(opts, nats.ClientCert(c.Cert, c.Key))
	}
	if c.InProcess != nil {
		opts = append(opts, nats.InProcessServer(c.InProcess))
	}
	if c.dialer != nil {
		opts = append(opts, nats.SetCustomDialer(c.dialer))
	}
	began, waiting := time.Now(), ""
	for {
		nc, err := nats.Connect(c.URL, opts...)
		if err == nil {
			return nc, nil
		}
		retry := c.Wait && unreachable(err)
		err = fmt.Errorf("cluster: %w", redacted(c.URL, err))
		if !retry {
			return nil, err
		}
		if c.Idle > 0 && time.Since(began) >= c.Idle {
			return nil, fmt.Errorf("%w (%v): %w", ErrIdle, c.Idle, err)
		}
		if text := err.Error(); text != waiting {
			waiting = text
			c.Log.Warn("waiting for the NATS server", "error", text)
		}
		if !sleep(ctx, time.Second) {
			return nil, context.Cause(ctx)
		}
	}
}

// ErrIdle is the error of a connection whose server could not be reached for Connection.Idle.
var ErrIdle = errors.New("cluster: no NATS server for the idle time")

// unreachable reports whether an error of nats.Connect says that the server cannot be reached now.
// A connection that is lost during the TLS handshake is not such an error, since servers reject
// certificates in this way.
func unreachable(err error) bool {
	if errors.Is(err, nats.ErrTLS) || errors.As(err, new(*net.AddrError)) {
		return false
	}
	if errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op != "remote error" // the name of TLS alerts
}

// sleep waits and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

const bucket = "S4D" // the key-value store and the object store

// requestTime bounds a request to the broker.
const requestTime = 5 * time.Second

// store is the part of the broker that coordinators and workers use.
type store struct {
	nc      *nats.Conn
	kv      jetstream.KeyValue
	objects jetstream.ObjectStore
}

// create makes what the broker lacks. It does not change what the broker has, so that an
// administrator may set replicas.
func create(ctx context.Context, nc *nats.Conn) (*store, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*requestTime)
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, Description: "states of s4d-fast runs"})
	if err == nil || errors.Is(err, jetstream.ErrBucketExists) {
		_, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Description: "files of s4d-fast runs"})
	}
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return nil, fmt.Errorf("cluster: the streams of sweeps (does the server run with JetStream?): %w", err)
	}
	return open(ctx, nc)
}

// open returns the store that a coordinator has made.
func open(ctx context.Context, nc *nats.Conn) (*store, error) {
	s := &store{nc: nc}
	js, err := jetstream.New(nc)
	if err == nil {
		s.kv, err = js.KeyValue(ctx, bucket)
	}
	if err == nil {
		s.objects, err = js.ObjectStore(ctx, bucket)
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, errors.New("cluster: no sweep has been started on this server")
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return s, nil
}

// connected returns a context that ends when the connection is lost, or at once if there is none.
// The client's transfers of objects would otherwise wait for acknowledgements that were lost with
// it.
func (s *store) connected(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	lost := s.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if s.nc.Status() != nats.CONNECTED {
		cancel()
	}
	go func() {
		defer s.nc.RemoveStatusListener(lost)
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
