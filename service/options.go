package service

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
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
	FFmpeg     bool          // decode formats such as Opus, M4A and WebM with ffmpeg, if it is on the PATH
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

	// Requests are what the server responds to beside streams, by patterns of http.ServeMux, such
	// as those of package requests. With them, the model need not detect events.
	Requests map[string]Request

	Log     *slog.Logger
	Metrics Metrics
}

// Request responds to a request whose body is in: all of it or, if it is a form, its first file. An
// error becomes a line. The Server bounds how many requests wait at a time, and how long.
type Request func(w http.ResponseWriter, r *http.Request, in io.Reader) error

// Metrics has functions that a Server calls, for metrics of any library. They are called by several
// goroutines at a time and must return soon.
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

// Stats are the sizes of a Server at a moment.
type Stats struct {
	Streams        int   // connected streams
	StreamBytes    int   // memory of a stream's detector
	SnapshotErrors int64 // snapshots that could not be written since the start
}

// Stats returns the current sizes.
func (s *Server) Stats() Stats {
	return Stats{s.streams.count(), s.stateBytes, s.streams.unsaved.Load()}
}

// Defaults returns the default limits, with a log and metrics that discard everything.
func Defaults() Options {
	return Options{
		Keep: 10 * time.Minute, SaveEvery: 30 * time.Second, MaxStreams: 2000, MaxMessage: 1 << 16,
		Idle: 2 * time.Minute, Slow: 10 * time.Second, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
		Metrics: Metrics{
			Block:  func(int, time.Duration, time.Duration) {},
			Event:  func(string) {},
			Reject: func(string) {},
		},
	}
}

func (o *Options) validate() error {
	for option, value := range map[string]int64{
		"SaveEvery": int64(o.SaveEvery), "MaxStreams": int64(o.MaxStreams), "MaxMessage": o.MaxMessage,
		"Idle": int64(o.Idle), "Slow": int64(o.Slow), "Grace": int64(o.Grace),
	} {
		if value <= 0 {
			return fmt.Errorf("service: %s %v: expected more than 0", option, value)
		}
	}
	if o.Keep <= o.SaveEvery+o.Idle {
		return fmt.Errorf("service: Keep %v: expected more than SaveEvery and Idle together, %v", o.Keep, o.SaveEvery+o.Idle)
	}
	return nil
}
