package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
)

// query holds the parameters of a request for a stream.
type query struct {
	format   string
	events   int64   // number that the client has received, −1 if it is not given
	rate     float64 // of raw audio, in Hz; for WAV 0 if it is not given
	resample bool
}

// open acquires the stream that a request names. The first of the formats is the default. If there
// is an error, open writes the response and returns nil.
func (s *Server) open(w http.ResponseWriter, r *http.Request, formats ...string) (*stream, query) {
	q, err := s.parseQuery(r.URL.RawQuery, formats)
	if err != nil {
		s.writeError(w, err)
		return nil, q
	}
	st, err := s.streams.acquire(r.Context(), r.PathValue("name"), q.events)
	if err != nil {
		s.writeError(w, err)
		return nil, q
	}
	w.Header().Set("Stream-Id", st.Stream)
	return st, q
}

// prepare makes the detector of a stream, and the stream this server's own.
func (s *Server) prepare(st *stream, rate float64, resample bool) error {
	if err := st.setRate(s.recognizer, rate, resample); err != nil {
		return err
	}
	return s.streams.claim(st)
}

// parseQuery also rejects a query that is partly malformed or repeats a parameter. If the server
// ignored that part, the request could change its meaning: without the parameter events, it starts
// a new stream in place of one that has ended.
func (s *Server) parseQuery(raw string, formats []string) (query, error) {
	q := query{format: formats[0], events: -1}
	parameters, err := url.ParseQuery(raw)
	if err != nil {
		return q, newError(http.StatusBadRequest, "request", "query %.80q: %v: expected NAME=VALUE pairs separated by &", raw, err)
	}
	for key, values := range parameters {
		if len(values) > 1 {
			return q, newError(http.StatusBadRequest, "request", "query %.80q: parameter %.20q occurs %d times, expected once", raw, key, len(values))
		}
		value := values[0]
		var err error
		switch key {
		case "format":
			if q.format = value; !slices.Contains(formats, value) {
				err = fmt.Errorf("format=%.20q: expected %s", value, strings.Join(formats, ", "))
			}
		case "events":
			if q.events, err = strconv.ParseInt(value, 10, 64); err != nil || q.events < 0 {
				err = fmt.Errorf("events=%.20q: expected the number of events that the client has received", value)
			}
		case "rate":
			if q.rate, err = strconv.ParseFloat(value, 64); err != nil || !(q.rate > 0) {
				err = fmt.Errorf("rate=%.20q: expected a number in Hz", value)
			}
		case "resample":
			if q.resample, err = strconv.ParseBool(value); err != nil {
				err = fmt.Errorf("resample=%.20q: expected true or false", value)
			}
		default:
			err = fmt.Errorf("parameter %.20q: expected format, rate, resample or events", key)
		}
		if err != nil {
			return q, newError(http.StatusBadRequest, "request", "%v", err)
		}
	}
	if q.format != "wav" {
		q.rate = cmp.Or(q.rate, s.recognizer.SampleRate())
	}
	return q, nil
}

// upload serves a request whose body is audio, while the body arrives.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	st, q := s.open(w, r, "wav", string(audio.S16LE), string(audio.S16BE), string(audio.F32LE), string(audio.U8))
	if st == nil {
		return
	}
	defer s.streams.leave(st)
	control := http.NewResponseController(w)
	session := &session{Server: s, stream: st, out: &responseSink{w, control, s.opt.Slow}}
	in := &bodyReader{in: r.Body, control: control, ctx: st.ctx, idle: s.opt.Idle}
	defer context.AfterFunc(in.ctx, in.wake)()
	var src *bodySource // nil for a stream that has ended
	if st.End == nil {
		var err error
		if src, err = newBodySource(in, q); err == nil {
			err = s.prepare(st, src.rate, q.resample)
		}
		if err != nil {
			s.writeError(w, err)
			return
		}
		src.buf = make([]float32, max(1, int(frameSeconds*src.rate)))
		session.block, session.truncated = len(src.buf), src.truncated
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	session.run(q.format, src)
}

// responseSink sends lines in the body of a response.
type responseSink struct {
	w       http.ResponseWriter
	control *http.ResponseController
	slow    time.Duration
}

func (a *responseSink) send(line any) error {
	a.control.SetWriteDeadline(time.Now().Add(a.slow))
	err := json.NewEncoder(a.w).Encode(line)
	if err == nil {
		err = a.control.Flush()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	}
	return errGone
}

// bodySource is the audio in a request's body.
type bodySource struct {
	reader *bodyReader
	rate   float64 // Hz
	cut    bool    // a WAV has ended before its header states
	source audio.Source
	buf    []float32
}

const (
	frameSeconds = 0.01 // longest audio of an upload that is processed at a time
	maxChannels  = 8
)

// newBodySource returns the source of a body, without its buffer. It reads a WAV's header.
func newBodySource(r *bodyReader, q query) (*bodySource, error) {
	b := &bodySource{reader: r, rate: q.rate}
	if q.format != "wav" {
		var err error
		b.source, err = audio.NewRawReader(r, audio.Encoding(q.format))
		return b, err
	}
	wav, err := audio.OpenWAV(r)
	if err != nil {
		if err = b.classify(err); err == errGone { // or the body is invalid, and the client can read why
			err = newError(http.StatusBadRequest, "request", "the body ends within the header of a WAV file, or its encoding is invalid")
		}
		return nil, err
	}
	f := wav.Format
	b.source, b.rate = audio.Mono(wav), float64(f.SampleRate)
	switch {
	case f.Channels > maxChannels:
		return nil, errAudio(fmt.Errorf("audio with %d channels: expected at most %d", f.Channels, maxChannels))
	case f.Channels > 1 && !q.resample:
		return nil, errAudio(fmt.Errorf("audio with %d channels: expected 1, or resample=true for their mean", f.Channels))
	case q.rate != 0 && q.rate != b.rate:
		return nil, errAudio(fmt.Errorf("a WAV at %g Hz, but rate=%g", b.rate, q.rate))
	}
	return b, nil
}

func (b *bodySource) truncated() bool { return b.cut }

// next implements source. The bodyReader observes the context.
func (b *bodySource) next(context.Context) ([]float32, error) {
	n, err := b.source.Read(b.buf)
	if errors.Is(err, audio.ErrTruncated) && b.reader.err == nil {
		b.cut, err = true, io.EOF
	}
	if err != nil {
		err = b.classify(err)
	}
	return b.buf[:n], err
}

// classify distinguishes the end of the audio, an error of the bodyReader and invalid audio.
func (b *bodySource) classify(err error) error {
	switch {
	case b.reader.err != nil:
		return b.reader.err
	case err == io.EOF:
		return err
	}
	return errAudio(err)
}

// bodyReader reads a request's body. It waits at most idle for the next bytes.
type bodyReader struct {
	in      io.Reader
	control *http.ResponseController
	ctx     context.Context
	idle    time.Duration
	err     error // the first error other than io.EOF
}

// wake interrupts a Read.
func (r *bodyReader) wake() { r.control.SetReadDeadline(time.Unix(1, 0)) }

func (r *bodyReader) Read(b []byte) (int, error) {
	r.control.SetReadDeadline(time.Now().Add(r.idle))
	if r.ctx.Err() != nil { // after SetReadDeadline, which may have replaced the deadline of wake
		r.err = context.Cause(r.ctx)
		return 0, r.err
	}
	n, err := r.in.Read(b)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case r.ctx.Err() != nil:
		r.err = context.Cause(r.ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.err = errIdle
	default:
		r.err = errGone
	}
	return n, r.err
}
