package main

import (
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

// query is what a client says beside its audio.
type query struct {
	format string
	events int64 // that it has already, −1 where it does not say
}

// open acquires the stream that a request asks for, in one of some formats, of which the first is the default. Without one it has answered why.
func (s *server) open(w http.ResponseWriter, r *http.Request, formats ...string) (*stream, query) {
	q, err := s.query(r.URL.Query(), formats)
	if err != nil {
		s.writeError(w, err)
		return nil, q
	}
	st, err := s.streams.acquire(r.PathValue("id"), s.client(r), q.events)
	if err != nil {
		s.writeError(w, err)
		return nil, q
	}
	w.Header().Set("Stream-Id", st.ID)
	return st, q
}

func (s *server) query(v url.Values, formats []string) (query, error) {
	q := query{format: formats[0], events: -1}
	for key := range v {
		value := v.Get(key)
		var err error
		switch key {
		case "format":
			if q.format = value; !slices.Contains(formats, value) {
				err = fmt.Errorf("format=%.20q: want %s", value, strings.Join(formats, ", "))
			}
		case "events":
			if q.events, err = strconv.ParseInt(value, 10, 64); err != nil || q.events < 0 {
				err = fmt.Errorf("events=%q: want the number of events that you have", value)
			}
		case "rate":
			rate, e := strconv.ParseFloat(value, 64)
			if e != nil {
				err = fmt.Errorf("rate=%q: want a number of samples a second", value)
			} else if rate != s.recognizer.SampleRate() {
				err = s.otherRate(rate)
			}
		default:
			err = fmt.Errorf("%q means nothing here; format, rate and events do", key)
		}
		if err != nil {
			return q, newError(http.StatusBadRequest, "request", "%v", err)
		}
	}
	return q, nil
}

func (s *server) otherRate(rate float64) error {
	return fmt.Errorf("the audio has a rate of %g Hz; the model expects %g Hz", rate, s.recognizer.SampleRate())
}

// upload answers a request whose body is audio, while it comes.
func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	st, q := s.open(w, r, "wav", string(audio.S16LE), string(audio.S16BE), string(audio.F32LE), string(audio.U8))
	if st == nil {
		return
	}
	defer s.streams.handlers.Done()
	control := http.NewResponseController(w)
	in := &bodyReader{in: r.Body, control: control, ctx: s.streams.ctx, idle: s.cfg.Idle}
	defer context.AfterFunc(in.ctx, in.wake)()
	src, err := s.newBodySource(in, q.format)
	if err != nil {
		s.streams.release(st, true)
		s.writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	session := newSession(s, st, &responseSink{w, control, s.cfg.Slow}, q.events, len(src.buf))
	session.truncated = src.truncated
	session.run(s.streams.ctx, q.format, src)
}

// response sends lines in the body of an answer.
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

// body is the audio in a request's body.
type bodySource struct {
	reader *bodyReader
	wav    *audio.WAVReader // or nil
	source audio.Source
	buf    []float32
}

// newBodySource reads a WAV's header; raw audio has none.
func (s *server) newBodySource(p *bodyReader, format string) (*bodySource, error) {
	b := &bodySource{reader: p, buf: make([]float32, s.recognizer.Frame())}
	var err error
	if format != "wav" {
		b.source, err = audio.NewRawReader(p, audio.Encoding(format))
		return b, err
	}
	if b.wav, err = audio.NewWAVReader(p); err != nil {
		return nil, b.why(err)
	}
	b.source = b.wav
	switch f := b.wav.Format; {
	case f.Channels != 1:
		return nil, newError(http.StatusBadRequest, "audio", "the audio has %d channels; the model expects 1", f.Channels)
	case float64(f.SampleRate) != s.recognizer.SampleRate():
		return nil, errAudio(s.otherRate(float64(f.SampleRate)))
	}
	return b, nil
}

func (b *bodySource) truncated() bool { return b.wav != nil && b.wav.Truncated }

// next implements source; bodyReader knows of ctx.
func (b *bodySource) next(context.Context) ([]float32, error) {
	n, err := b.source.Read(b.buf)
	if err != nil {
		err = b.why(err)
	}
	return b.buf[:n], err
}

// why tells apart the ends of a body: of the audio, of the client, and of our patience.
func (b *bodySource) why(err error) error {
	switch p := b.reader; {
	case p.err != nil:
		return p.err
	case err == io.EOF:
		return err
	}
	return errAudio(err)
}

// bodyReader reads a body, and waits for its next bytes as long as idle.
type bodyReader struct {
	in      io.Reader
	control *http.ResponseController
	ctx     context.Context
	idle    time.Duration
	err     error // other than the end
}

// wake ends a Read under way.
func (p *bodyReader) wake() { p.control.SetReadDeadline(time.Unix(1, 0)) }

func (p *bodyReader) Read(b []byte) (int, error) {
	p.control.SetReadDeadline(time.Now().Add(p.idle))
	if p.ctx.Err() != nil { // after the deadline was set: it must not undo the one that wakes us
		p.err = context.Cause(p.ctx)
		return 0, p.err
	}
	n, err := p.in.Read(b)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case p.ctx.Err() != nil:
		p.err = context.Cause(p.ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.err = errIdle
	default:
		p.err = errGone
	}
	return n, p.err
}
