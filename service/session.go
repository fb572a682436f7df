package service

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

// source delivers a session's samples.
type source interface {
	// next returns at most a block of samples, which are valid until the next call. It returns
	// io.EOF at the end of the stream, and the cause of ctx soon after ctx is cancelled.
	next(ctx context.Context) ([]float32, error)
}

// sink sends lines to a client, each at once.
type sink interface{ send(line any) error }

// The reasons why a session ends before its stream does.
var (
	errShutdown = newError(http.StatusServiceUnavailable, "shutdown", "the server is shutting down")
	errIdle     = newError(http.StatusRequestTimeout, "idle", "no audio arrived for too long")
	errGone     = errors.New("the client is disconnected") // it cannot be reported
	errSlow     = fmt.Errorf("%w: it reads too slowly", errGone)
)

func errAudio(err error) error { return newError(http.StatusBadRequest, "audio", "%v", err) }

// session is a stream while it is connected.
type session struct {
	*Server
	stream *stream
	named  bool // by the client
	out    sink
	block  int // maximal number of samples that the source returns at a time
	times  report.Times
	buf    []float32 // resampled

	truncated func() bool // reports whether the audio ended before its header says; may be nil
	confirmed func() bool // reports whether the client has received all lines; nil if unknown
}

// run sends lines until the audio ends or an error interrupts the stream, which is then saved. It
// returns the error that the client was sent.
func (s *session) run(ctx context.Context, format string, src source) error {
	err := s.streams.begin(s.stream)
	if err == nil {
		err = s.begin(format)
	}
	if err == nil && s.stream.End != nil {
		if err = s.out.send(s.stream.End); err == nil {
			s.finish()
			return nil
		}
	}
	for err == nil {
		var x []float32
		x, err = src.next(ctx)
		if failed := s.process(ctx, x, time.Now()); failed != nil {
			err = failed
		}
	}
	if errors.Is(err, io.EOF) {
		if err = s.end(); err == nil {
			s.finish()
			return nil
		}
	}
	return s.abort(err)
}

// finish releases a stream whose last line was sent. A stream that the client has named is kept
// until the client confirms its end, as the last lines may get lost on the way.
func (s *session) finish() {
	confirmed := s.confirmed != nil && s.confirmed()
	s.streams.release(s.stream, s.named && !confirmed)
	s.logEnd("ended", "")
}

// logEnd reports the end of a session.
func (s *session) logEnd(how, why string) {
	id := s.stream.identity
	s.opt.Log.Info("stream "+how, "stream", id.ID, "client", id.Client, "samples", id.Samples, "events", id.EventCount, "why", why)
}

// begin sends the start line and the events that the client lacks.
func (s *session) begin(format string) error {
	line, position := s.start, s.stream.Samples
	line.Format, line.Stream, line.Samples, line.SampleRate = format, s.stream.ID, &position, s.stream.SampleRate
	if s.modelRate != line.SampleRate {
		line.ModelSampleRate = s.modelRate
	}
	if err := s.out.send(line); err != nil {
		return err
	}
	for _, e := range s.stream.unsent {
		if err := s.out.send(e); err != nil {
			return err
		}
	}
	return nil
}

// process passes a block of samples to the model, up to the first invalid one.
func (s *session) process(ctx context.Context, x []float32, arrived time.Time) error {
	valid, invalid := events.Check(x)
	if err := s.recognize(ctx, x[:valid], arrived); err != nil {
		return err
	}
	if invalid != nil {
		return errAudio(fmt.Errorf("after sample %d: %w", s.stream.Samples, invalid))
	}
	return nil
}

// recognize passes valid samples to the model.
func (s *session) recognize(ctx context.Context, x []float32, arrived time.Time) error {
	if len(x) == 0 {
		return nil
	}
	if err := s.streams.pace(ctx, s.stream, len(x)); err != nil {
		return err
	}
	if err := s.processors.acquire(ctx, s.stream.Client); err != nil {
		return err
	}
	began := time.Now()
	n, found, failed := s.compute(x)
	busy := time.Since(began)
	s.stream.Busy += busy
	err := s.emit(found, failed)
	lag := time.Since(arrived)
	s.times.Add(lag)
	s.opt.Metrics.Block(n, busy, lag)
	if err == nil {
		s.streams.save(s.stream)
	}
	return err
}

// compute passes samples to the resampler and the detector, on the processor that the session has,
// and releases the processor. It returns the number of samples at the model's rate.
func (s *session) compute(x []float32) (n int, found []events.Event, failed error) {
	defer s.processors.release() // also after a panic
	s.stream.Samples += int64(len(x))
	if s.stream.resampler != nil {
		s.buf = s.stream.resampler.Process(s.buf[:0], x)
		x = s.buf
	}
	found, failed = s.stream.detector.Process(x)
	return len(x), found, failed
}

// emit records all events and sends them. The stream also keeps those that follow a failure to
// send. The error failed is the model's, or nil.
func (s *session) emit(found []events.Event, failed error) (err error) {
	for _, e := range found {
		line := report.NewEvent(e, s.inputSample)
		s.stream.record(line)
		s.opt.Metrics.Event(e.Label)
		if err == nil {
			err = s.out.send(line)
		}
	}
	if err == nil && failed != nil {
		err = newError(http.StatusInternalServerError, "model", "%v", failed)
	}
	return err
}

// inputSample returns the client's sample at the time of a sample of the model.
func (s *session) inputSample(n int64) int64 {
	return report.InputSample(n, s.stream.SampleRate, s.recognizer.SampleRate(), s.stream.Samples)
}

// end flushes the stream and sends its last lines.
func (s *session) end() error {
	d := s.stream.detector
	if s.stream.resampler != nil {
		if err := s.emit(d.Process(s.stream.resampler.Flush(nil))); err != nil {
			return err
		}
	}
	if err := s.emit(d.Flush()); err != nil {
		return err
	}
	line := report.End{
		Type: "end", Samples: s.stream.Samples, Seconds: float64(s.stream.Samples) / s.stream.SampleRate,
		Block: s.times.Block(s.block), Truncated: s.truncated != nil && s.truncated(),
	}
	if line.Seconds > 0 {
		line.RealTimeFactor = s.stream.Busy.Seconds() / line.Seconds
	}
	s.stream.End = &line
	return s.out.send(line)
}

// abort saves the stream, sends the client an error line and returns the error.
func (s *session) abort(err error) error {
	position := s.stream.Samples
	saved := s.streams.release(s.stream, true)
	if errors.Is(err, errGone) {
		why := "gone"
		if err == errSlow {
			why = "slow"
			s.opt.Metrics.Reject(why)
		}
		s.logEnd("interrupted", why)
		return err
	}
	e := s.asAPIError(err)
	s.logEnd("interrupted", e.code)
	line := report.Error{Type: "error", Code: e.code, Error: e.text}
	if saved {
		line.Stream, line.Samples = s.stream.ID, &position
	}
	s.out.send(line)
	return e
}
