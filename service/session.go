package service

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// sink sends lines to a client, each at once.
type sink interface {
	send(line any) error
	reject(err error) error // sends and returns an error before the first line
}

// The reasons why a session ends before its stream does.
var (
	errShutdown = newError(http.StatusServiceUnavailable, "shutdown", "the server is shutting down")
	errMoved    = newError(http.StatusConflict, "moved", "the stream was resumed on another server, or deleted")
	errIdle     = newError(http.StatusRequestTimeout, "idle", "no audio arrived for too long")

	// The client cannot receive these, unless the encoding of its body is invalid.
	errGone = newError(http.StatusBadRequest, "gone", "the body ends too early, or its encoding is invalid")
	errSlow = newError(http.StatusRequestTimeout, "slow", "the client reads too slowly")
)

func errAudio(err error) error { return newError(http.StatusBadRequest, "audio", "%v", err) }

// session is a stream while it is connected.
type session struct {
	*Server
	stream *stream
	out    sink
	block  int // maximal number of samples that are processed at a time
	times  report.Times
}

// run sends lines until the stream ends or an error interrupts it. It returns the error that the
// client was sent. The source is not read if the stream has ended before. A stream that the client
// has named is kept after its end, as the last lines may get lost on the way.
func (s *session) run(format string, src audio.Source) error {
	err := s.begin(format)
	if err == nil && s.stream.End == nil {
		err = s.receive(src)
	}
	if err == nil {
		err = s.out.send(s.stream.End)
	}
	if err != nil {
		return s.abort(err)
	}
	s.streams.release(s.stream, s.stream.named)
	s.logEnd("ended", "")
	return nil
}

// receive processes the audio up to its end.
func (s *session) receive(src audio.Source) error {
	for x := make([]float32, s.block); ; {
		n, err := src.Read(x)
		if failed := s.process(x[:n]); failed != nil {
			return failed
		}
		switch truncated := errors.Is(err, audio.ErrTruncated); {
		case truncated || err == io.EOF:
			return s.end(truncated)
		case err != nil:
			return classify(fmt.Errorf("after sample %d: %w", s.stream.Samples, err))
		}
	}
}

// logEnd reports the end of a session.
func (s *session) logEnd(how, why string) {
	st := s.stream
	s.opt.Log.Info("stream "+how, "stream", st.Stream, "samples", st.Samples, "events", st.EventCount, "why", why)
}

// begin sends the start line and the events that the client lacks.
func (s *session) begin(format string) error {
	line, position := s.start, s.stream.Samples
	line.Format, line.Stream, line.Samples, line.SampleRate = format, s.stream.Stream, &position, s.stream.SampleRate
	if rate := s.recognizer.SampleRate(); rate != line.SampleRate {
		line.ModelSampleRate = rate
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

func (s *session) process(x []float32) error {
	if len(x) == 0 {
		return nil
	}
	began := time.Now()
	found, failed := s.stream.detector.Process(x)
	busy := time.Since(began)
	s.stream.Samples += int64(len(x))
	s.stream.Busy += busy
	err := s.emit(found, failed)
	lag := time.Since(began)
	s.times.Add(lag)
	s.opt.Metrics.Block(len(x), busy, lag)
	if err == nil {
		s.streams.save(s.stream)
	}
	return err
}

// emit records all events and sends them. The stream also keeps those that follow a failure to
// send. The error failed is the model's, or nil.
func (s *session) emit(found []events.Event, failed error) (err error) {
	for _, e := range found {
		line := report.NewEvent(e)
		s.stream.Recent = append(s.stream.Recent[max(0, len(s.stream.Recent)+1-maxRecent):], line)
		s.stream.EventCount++
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

// end flushes the stream and makes its last line. A truncated file ended before its header says.
func (s *session) end(truncated bool) error {
	if err := s.emit(s.stream.detector.Flush()); err != nil {
		return err
	}
	line := report.NewEnd(s.stream.Samples, s.stream.SampleRate, s.stream.Busy, report.Block{Samples: s.block, Quantiles: s.times.Quantiles()})
	line.Truncated = truncated
	s.stream.End = &line
	return nil
}

// abort saves the stream, sends the client an error line and returns the error.
func (s *session) abort(err error) error {
	saved := s.streams.release(s.stream, true)
	e := s.asAPIError(err)
	s.logEnd("interrupted", e.code)
	if e == errGone || e == errSlow {
		return e
	}
	line := e.line()
	if saved {
		line.Stream, line.Samples = s.stream.Stream, &s.stream.Samples
	}
	s.out.send(line)
	return e
}
