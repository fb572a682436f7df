package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// Options are the limits of a Server. Start from Defaults.
type Options struct {
	Model        string        // name of the model in the start line
	Snapshots    string        // folder where streams are saved; empty for none
	Keep         time.Duration // age at which a saved stream that is not connected is deleted
	SaveEvery    time.Duration // time between snapshots of a connected stream; 0 for none until it is disconnected
	MaxStore     int64         // total size of the snapshots in bytes; disconnected streams come first
	Connections  int           // open connections of Serve; more get status 503
	MaxStreams   int           // connected streams
	MaxPerClient int           // connected streams of a client, and its saved ones that are not connected
	MaxMessage   int64         // size of a WebSocket message in bytes
	Idle         time.Duration // time without audio after which a stream is disconnected
	Slow         time.Duration // time within which a client must read a line
	Grace        time.Duration // longest time that Serve or Close takes to end the streams

	// ConnectionsPerClient is the number of open connections of Serve per address; more get status
	// 429. With 0 it is twice MaxPerClient, or unlimited if TokenHeader is set.
	ConnectionsPerClient int

	// MaxRate is how many seconds of audio per second the streams of a client may send together. If
	// they send more, the server reads more slowly. 0 is no limit.
	MaxRate float64

	// MaxBytes is the number of bytes per second that all clients may send together, and
	// MaxBytesPerClient that for the streams of one client. If clients send more, the server reads
	// more slowly. The bytes of request bodies and of audio messages count. 0 is no limit.
	MaxBytes, MaxBytesPerClient int64

	// Token is the bearer token that requests must have, except for /healthz. If it is empty, none
	// is required.
	Token string

	// TokenHeader is the header that identifies a client, set by a proxy that has verified it. If
	// it is empty, or a request lacks it, the client's address does.
	TokenHeader string

	// Hosts are the names of this server in the Host header of a request, in addition to localhost
	// and IP addresses.
	Hosts []string

	// Origins are those whose pages may use this server, such as https://app.example, in addition
	// to its own.
	Origins []string

	TLS     *tls.Config // of Serve; nil for connections without encryption
	Log     *slog.Logger
	Metrics Metrics

	files atomicfile.FS // for tests; nil for the operating system's
}

// Metrics has functions that a Server calls, for metrics of any library. Each may be nil. They are
// called by several goroutines at a time and must return soon.
type Metrics struct {
	// Block receives a block of samples that the model has processed: their number at the model's
	// rate, the computing time, and the time from their arrival until their lines were sent.
	Block func(samples int, busy, latency time.Duration)

	// Event receives the label of an event.
	Event func(label string)

	// Reject receives the code of a rejected request or an interrupted stream: that of its error
	// line, or "slow" for a client that did not read its lines.
	Reject func(code string)
}

// complete replaces functions that are nil.
func (m *Metrics) complete() {
	if m.Block == nil {
		m.Block = func(int, time.Duration, time.Duration) {}
	}
	if m.Event == nil {
		m.Event = func(string) {}
	}
	if m.Reject == nil {
		m.Reject = func(string) {}
	}
}

// complete replaces options that are nil and clones the others.
func (o *Options) complete() {
	o.Metrics.complete()
	o.Hosts, o.Origins = slices.Clone(o.Hosts), slices.Clone(o.Origins)
	for i, host := range o.Hosts {
		o.Hosts[i] = strings.ToLower(host)
	}
	if o.files == nil {
		o.files = atomicfile.OS{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ConnectionsPerClient == 0 {
		o.ConnectionsPerClient = 2 * o.MaxPerClient
		if o.TokenHeader != "" {
			o.ConnectionsPerClient = o.Connections
		}
	}
}

// Stats are the sizes of a Server at a moment.
type Stats struct {
	Streams        int   // connected streams
	StreamBytes    int   // memory of a stream's detector
	Processors     int   // blocks of audio that are processed at a time
	Snapshots      int   // snapshots, including those of connected streams
	SnapshotBytes  int64 // their total size
	SnapshotErrors int64 // snapshots that could not be written since the start
}

// Stats returns the current sizes.
func (s *Server) Stats() Stats {
	v := Stats{Streams: s.streams.count(), StreamBytes: s.recognizer.StateBytes(), Processors: s.processors.slots}
	if st := s.streams.store; st != nil {
		v.Snapshots, v.SnapshotBytes = st.size()
		v.SnapshotErrors = s.streams.unsaved.Load()
	}
	return v
}

// Defaults returns the default limits, with a log that discards everything. Connections is lower if
// the process may open fewer files.
func Defaults() Options {
	o := Options{
		Keep: 10 * time.Minute, SaveEvery: 30 * time.Second, MaxStore: 1 << 30, MaxStreams: 2000, MaxPerClient: 32, MaxMessage: 1 << 16,
		Idle: 2 * time.Minute, Slow: 10 * time.Second, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	o.Connections = min(o.MaxStreams+256, maxConnections())
	return o
}

// OptionError is an error in an option of the server, or of its detector.
type OptionError struct {
	Option string // name of a field of Options, or empty
	Err    error
}

func (e *OptionError) Error() string {
	if e.Option == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("service: %s %v", e.Option, e.Err)
}

// Unwrap returns the error without the name of the option.
func (e *OptionError) Unwrap() error { return e.Err }

func (o *Options) validate() error {
	switch n := maxConnections(); {
	case n < 1:
		return &OptionError{"", fmt.Errorf("service: the process may open %d files, expected more than %d: raise the limit with ulimit -n",
			n+reservedFiles, reservedFiles)}
	case o.Connections > n:
		return &OptionError{"Connections", fmt.Errorf("%d: expected at most %d, as the process may open %d files; raise that limit with ulimit -n",
			o.Connections, n, n+reservedFiles)}
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &OptionError{"Token", errors.New("contains a character other than printable ASCII without spaces")}
	}
	for _, v := range []struct {
		option   string
		value    any
		positive bool
	}{
		{"Keep", o.Keep, o.Keep > 0},
		{"MaxStore", o.MaxStore, o.MaxStore > 0},
		{"Connections", o.Connections, o.Connections > 0},
		{"MaxStreams", o.MaxStreams, o.MaxStreams > 0},
		{"MaxPerClient", o.MaxPerClient, o.MaxPerClient > 0},
		{"MaxMessage", o.MaxMessage, o.MaxMessage > 0},
		{"Idle", o.Idle, o.Idle > 0},
		{"Slow", o.Slow, o.Slow > 0},
		{"Grace", o.Grace, o.Grace > 0},
	} {
		if !v.positive {
			return &OptionError{v.option, fmt.Errorf("%v: expected more than 0", v.value)}
		}
	}
	switch {
	case o.SaveEvery < 0:
		return &OptionError{"SaveEvery", fmt.Errorf("%v: expected 0 or more", o.SaveEvery)}
	case o.MaxBytes < 0:
		return &OptionError{"MaxBytes", fmt.Errorf("%d: expected 0 or more", o.MaxBytes)}
	case o.MaxBytesPerClient < 0:
		return &OptionError{"MaxBytesPerClient", fmt.Errorf("%d: expected 0 or more", o.MaxBytesPerClient)}
	case o.ConnectionsPerClient < 0:
		return &OptionError{"ConnectionsPerClient", fmt.Errorf("%d: expected 0 or more", o.ConnectionsPerClient)}
	case !(o.MaxRate >= 0):
		return &OptionError{"MaxRate", fmt.Errorf("%v: expected 0 or more", o.MaxRate)}
	}
	return nil
}
