package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// source is where a session's samples come from.
type source interface {
	// next returns some samples, at most a block, valid until the next call; io.EOF says that the stream has ended. It returns soon
	// after ctx is cancelled, with the cause.
	next(ctx context.Context) ([]float32, error)
}

// sink takes lines, each of which it sends at once.
type sink interface{ send(line any) error }

// Why a session ends before its stream does.
var (
	errShutdown = newError(http.StatusServiceUnavailable, "shutdown", "the server is going down")
	errIdle     = newError(http.StatusRequestTimeout, "idle", "no audio for too long")
	errGone     = errors.New("the client has gone") // nobody is told
	errSlow     = fmt.Errorf("%w: it does not read", errGone)
)

func errAudio(err error) error { return newError(http.StatusBadRequest, "audio", "%v", err) }

// session is a stream while it is connected.
type session struct {
	*server
	stream *stream
	out    sink
	have   int64 // events that the client has already
	block  int   // samples of its audio at a time, at most
	times  report.Times

	truncated func() bool // whether the audio ended before its header said; or nil
}

// newSession connects a stream with a client that has a number of its events, or −1: all.
func newSession(s *server, st *stream, out sink, have int64, block int) *session {
	if have < 0 {
		have = st.EventCount
	}
	return &session{server: s, stream: st, out: out, have: have, block: block}
}

// run sends lines until the audio ends or cannot go on, and returns the error that it has told the client. A stream that ended too early is kept.
func (s *session) run(ctx context.Context, format string, src source) error {
	err := s.begin(format)
	for err == nil {
		var x []float32
		x, err = src.next(ctx)
		came := time.Now()
		if failed := s.process(ctx, x, came); failed != nil {
			err = failed
		}
	}
	if errors.Is(err, io.EOF) {
		if err = s.end(); err == nil {
			s.streams.release(s.stream, false)
			return nil
		}
	}
	return s.abort(err)
}

// begin sends the start line, and the events that the client lacks.
func (s *session) begin(format string) error {
	line, heard := s.start, s.stream.detector.Position()
	line.Format, line.Stream, line.Samples = format, s.stream.ID, &heard
	if err := s.out.send(line); err != nil {
		return err
	}
	lacking := max(0, s.stream.EventCount-s.have)
	for _, e := range s.stream.Recent[int64(len(s.stream.Recent))-lacking:] {
		if err := s.out.send(e); err != nil {
			return err
		}
	}
	return nil
}

// hear lets the model hear at most a block of samples, which came at a time, up to the first that is none.
func (s *session) process(ctx context.Context, x []float32, came time.Time) error {
	good, bad := events.Check(x)
	if err := s.recognize(ctx, x[:good], came); err != nil {
		return err
	}
	if bad != nil {
		return errAudio(fmt.Errorf("after sample %d: %w", s.stream.detector.Position(), bad))
	}
	return nil
}

// process lets the model hear samples that are good.
func (s *session) recognize(ctx context.Context, x []float32, came time.Time) error {
	if len(x) == 0 {
		return nil
	}
	if err := s.acquireProcessor(ctx); err != nil {
		return err
	}
	began := time.Now()
	found, fault := s.stream.detector.Process(x)
	took := time.Since(began)
	s.releaseProcessor()
	s.stream.Busy += took
	s.metrics.samples.Add(int64(len(x)))
	s.metrics.busy.Add(int64(took))
	err := s.emit(found, fault)
	waited := time.Since(came)
	s.times.Add(waited)
	s.metrics.block.Observe(waited.Seconds())
	return err
}

// tell notes events, all of them, and sends those that the client lacks.
func (s *session) emit(found []events.Event, fault error) (err error) {
	for _, e := range found {
		line := report.NewEvent(e, func(n int64) int64 { return n })
		s.stream.record(line)
		s.metrics.events.WithLabelValues(e.Label).Inc()
		if s.stream.EventCount > s.have && err == nil {
			err = s.out.send(line)
		}
	}
	if err == nil && fault != nil {
		err = newError(http.StatusInternalServerError, "model", "%v", fault)
	}
	return err
}

// end closes the stream and sends its last lines.
func (s *session) end() error {
	d := s.stream.detector
	if err := s.emit(d.Flush()); err != nil {
		return err
	}
	line := report.End{
		Type: "end", Truncated: s.truncated != nil && s.truncated(), Samples: d.Position(), Seconds: float64(d.Position()) / s.recognizer.SampleRate(), Block: s.times.Block(s.block),
	}
	if line.Seconds > 0 {
		line.RealTimeFactor = s.stream.Busy.Seconds() / line.Seconds
	}
	return s.out.send(line)
}

// broken keeps the stream, tells the client why, and returns the error.
func (s *session) abort(err error) error {
	heard := s.stream.detector.Position()
	kept := s.streams.release(s.stream, true)
	if errors.Is(err, errGone) {
		if err == errSlow {
			s.metrics.rejected.WithLabelValues("slow").Inc()
		}
		return err
	}
	f := s.asAPIError(err)
	line := report.Error{Type: "error", Code: f.why, Error: f.text}
	if kept {
		line.Stream, line.Samples = s.stream.ID, &heard
	}
	s.out.send(line)
	return f
}
