package service

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Options are the limits of a Server. Start from Defaults.
type Options struct {
	Model      string        // name of the model in the start line
	Store      Store         // of the snapshots; nil: streams are not saved
	Keep       time.Duration // age at which a saved stream is deleted; more than SaveEvery and Idle together
	SaveEvery  time.Duration // time between snapshots of a connected stream
	MaxStreams int           // connected streams
	MaxMessage int64         // size of a WebSocket message in bytes
	Idle       time.Duration // time without audio after which a stream is disconnected
	Slow       time.Duration // time within which a client must read a line
	Grace      time.Duration // longest time that Serve or Close takes to end the streams

	// Token is the bearer token that requests must have, except for /healthz. If it is empty, none
	// is required.
	Token string

	// Hosts are the names of this server in the Host header of a request, in addition to localhost
	// and IP addresses.
	Hosts []string

	// Origins are those whose pages may send requests, such as https://app.example, in addition to
	// this server's own.
	Origins []string

	Log     *slog.Logger
	Metrics Metrics
}

// Metrics has functions that a Server calls, for metrics of any library. Each may be nil. They are
// called by several goroutines at a time and must return soon.
type Metrics struct {
	// Block receives a block of audio that was processed: the number of samples, the computing
	// time, and the time from their arrival until their lines were sent.
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Stats are the sizes of a Server at a moment.
type Stats struct {
	Streams        int   // connected streams
	StreamBytes    int   // memory of a stream's detector
	SnapshotErrors int64 // snapshots that could not be written since the start
}

// Stats returns the current sizes.
func (s *Server) Stats() Stats {
	return Stats{s.streams.count(), s.recognizer.StateBytes(), s.streams.unsaved.Load()}
}

// Defaults returns the default limits, with a log that discards everything.
func Defaults() Options {
	return Options{
		Keep: 10 * time.Minute, SaveEvery: 30 * time.Second, MaxStreams: 2000, MaxMessage: 1 << 16,
		Idle: 2 * time.Minute, Slow: 10 * time.Second, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
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
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &OptionError{"Token", errors.New("contains a character other than printable ASCII without spaces")}
	}
	for _, v := range []struct {
		option   string
		value    any
		positive bool
	}{
		{"SaveEvery", o.SaveEvery, o.SaveEvery > 0},
		{"MaxStreams", o.MaxStreams, o.MaxStreams > 0},
		{"MaxMessage", o.MaxMessage, o.MaxMessage > 0},
		{"Idle", o.Idle, o.Idle > 0},
		{"Slow", o.Slow, o.Slow > 0},
		{"Grace", o.Grace, o.Grace > 0},
	} {
		if !v.positive {
			return &OptionError{v.option, fmt.Errorf("%v: expected more than 0", v.value)}
		}
	}
	if o.Keep <= o.SaveEvery+o.Idle {
		return &OptionError{"Keep", fmt.Errorf("%v: expected more than SaveEvery and Idle together, %v", o.Keep, o.SaveEvery+o.Idle)}
	}
	return nil
}
