package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/natsurl"
)

// Connection says how to connect to a broker. The tags are those of flags (package kong).
type Connection struct {
	URL         string `name:"nats" help:"URL of a NATS server with JetStream; several are separated by commas." placeholder:"URL" env:"S4D_NATS"`
	Credentials string `name:"nats-creds" help:"File with the NATS user's credentials." type:"path" placeholder:"FILE"`
	CA          string `name:"nats-ca" help:"PEM file with the authorities of the server's certificate (default: the system's)." type:"path" placeholder:"FILE"`
	Cert        string `name:"nats-cert" help:"PEM file with the client's certificate." type:"path" placeholder:"FILE" and:"nats-client"`
	Key         string `name:"nats-key" help:"PEM file with the client's key." type:"path" placeholder:"FILE" and:"nats-client"`

	Name string       `kong:"-"` // of this client, for the broker's monitoring
	Wait bool         `kong:"-"` // return a connection also if the broker cannot be reached yet
	Log  *slog.Logger `kong:"-"`
}

// Connect connects to a broker. The connection restores itself after every loss. Wrong URLs,
// certificates and passwords are errors, also with Wait.
func Connect(c Connection) (*nats.Conn, error) {
	if err := natsurl.Check(c.URL); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
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
	nc, err := nats.Connect(c.URL, opts...)
	if c.Wait && unreachable(err) {
		c.Log.Warn("waiting for the NATS server", "error", err)
		nc, err = nats.Connect(c.URL, append(opts, nats.RetryOnFailedConnect(true))...)
	}
	if bad := (*url.Error)(nil); errors.As(err, &bad) {
		err = bad.Err // without the URL, which has a password
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: connection to NATS: %w", err)
	}
	return nc, nil
}

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
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
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
	if err == nil {
		_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, Description: "states of s4d-fast runs"})
	}
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
	if nc.Status() != nats.CONNECTED {
		return nil, errors.New("cluster: no connection to the NATS server")
	}
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

// watch calls f for the present entries whose keys match a pattern, and for all that change later,
// until f returns false or d has passed.
func (s *store) watch(ctx context.Context, pattern string, d time.Duration, f func(jetstream.KeyValueEntry) (more bool, err error)) error {
	watch, err := s.kv.Watch(ctx, entryPrefix+pattern)
	if err != nil {
		return brokerError{fmt.Errorf("cluster: %w", err)}
	}
	defer watch.Stop()
	for end := time.After(d); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return nil
		case got, ok := <-watch.Updates():
			if !ok {
				return errors.New("cluster: the connection to the broker was closed")
			}
			if got == nil || got.Operation() != jetstream.KeyValuePut { // nil: all present ones have been read
				continue
			}
			if more, err := f(got); !more || err != nil {
				return err
			}
		}
	}
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
