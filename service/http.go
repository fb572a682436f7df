package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
)

// open acquires the stream that a request names, and returns how its audio is read. If there is an
// error, open writes the response and returns nil.
func (s *Server) open(w http.ResponseWriter, r *http.Request) (st *stream, in audio.Input) {
	in, received, err := parseQuery(r.URL.RawQuery)
	if err == nil {
		st, err = s.streams.acquire(r.Context(), r.PathValue("name"), received)
	}
	if err != nil {
		s.writeError(w, err)
		return nil, in
	}
	w.Header().Set("Stream-Id", st.Stream)
	return st, in
}

// parseQuery returns how the audio of a stream is read, and the number of events that the client
// has received, or −1. It also rejects a query that is partly malformed or repeats a parameter. If
// the server ignored that part, the request could change its meaning: without the parameter events,
// it starts a new stream in place of one that has ended.
func parseQuery(raw string) (in audio.Input, received int64, err error) {
	in.Format, received = audio.AnyFile, -1
	in.Choose = "channel=N reads one, resample=true mixes them down"
	parameters, err := url.ParseQuery(raw)
	if err != nil {
		return in, 0, newError(http.StatusBadRequest, "request", "query %.80q: %v: expected NAME=VALUE pairs separated by &", raw, err)
	}
	for key, values := range parameters {
		var err error
		valid, expected := false, "one of the parameters format, rate, resample, channel and events"
		switch value := values[0]; key {
		case "format":
			in.Format, valid, expected = value, slices.Contains(audio.InputFormats, value), strings.Join(audio.InputFormats, ", ")
		case "events":
			received, err = strconv.ParseInt(value, 10, 64)
			valid, expected = err == nil && received >= 0, "the number of events that the client has received"
		case "rate":
			in.Rate, err = strconv.ParseFloat(value, 64)
			valid, expected = err == nil && in.Rate > 0, "a number in Hz"
		case "resample":
			in.Mix, err = strconv.ParseBool(value)
			valid, expected = err == nil, "true or false"
		case "channel":
			var n int
			n, err = strconv.Atoi(value)
			in.Channel, valid, expected = &n, err == nil && n >= 0, "the number of a channel of a file, from 0"
		}
		if !valid || len(values) > 1 {
			return in, 0, newError(http.StatusBadRequest, "request", "%.20s=%.20q: expected %s, once", key, strings.Join(values, "&"), expected)
		}
	}
	return in, received, nil
}

// upload serves a request whose body is audio, while the body arrives.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	st, in := s.open(w, r)
	if st == nil {
		return
	}
	defer s.streams.leave(st)
	control := http.NewResponseController(w)
	defer context.AfterFunc(st.ctx, func() { control.SetReadDeadline(time.Unix(1, 0)) })() // ends a Read
	body, err := s.body(st.ctx, control, r)
	if err != nil {
		s.writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	s.serve(st, in, body, &responseSink{s, w, control})
}

// respond returns the handler of a Request.
func (s *Server) respond(serve Request) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.requests <- struct{}{}:
			defer func() { <-s.requests }()
		default:
			s.writeError(w, newError(http.StatusServiceUnavailable, "streams", "%d requests are in progress, the maximum", cap(s.requests)))
			return
		}
		in, err := s.body(s.streams.ctx, http.NewResponseController(w), r)
		if err == nil {
			err = serve(w, r, in)
		}
		switch {
		case err == nil:
			return
		case !errors.As(err, new(*apiError)):
			err = newError(http.StatusBadRequest, "input", "%v", err)
		}
		if w.Header().Get("Content-Type") == "" {
			s.writeError(w, err)
		} else { // lines were sent
			json.NewEncoder(w).Encode(s.asAPIError(err).line())
		}
	}
}

// serve runs the session of a stream whose audio is read from body, and returns its error.
func (s *Server) serve(st *stream, in audio.Input, body io.Reader, out sink) error {
	session := &session{Server: s, stream: st, out: out}
	if st.End != nil {
		return session.run(string(audio.WAV), nil) // nothing is read of a stream that has ended
	}
	in.FFmpeg, in.Fallback, in.Check = s.opt.FFmpeg, s.recognizer.SampleRate(), events.Check
	in.Note = func(text string) { s.opt.Log.Warn(text) }
	in.Sniffed = func(format string) error {
		return fmt.Errorf("the audio begins as %s does, but the format declares samples without a header; omit format", format)
	}
	src, err := in.Open(body)
	if src.Format == string(audio.FFmpeg) {
		defer src.Close()
		defer st.cancel(nil) // before, because ffmpeg waits for the body
	}
	if err = classify(err); err == nil {
		err = st.setRate(s.recognizer, src.Rate, in.Mix)
	}
	if err == nil {
		err = s.streams.claim(st)
	}
	if err != nil {
		return out.reject(err)
	}
	session.block = max(1, int(blockSeconds*src.Rate))
	return session.run(src.Format, src)
}

// responseSink sends lines in the body of a response.
type responseSink struct {
	*Server
	w       http.ResponseWriter
	control *http.ResponseController
}

func (a *responseSink) reject(err error) error {
	a.writeError(a.w, err)
	return err
}

func (a *responseSink) send(line any) error {
	a.control.SetWriteDeadline(time.Now().Add(a.opt.Slow))
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

// body returns the reader of a request's body, or of the first file in a body that is a form. After
// the end of ctx, its error is the cause.
func (s *Server) body(ctx context.Context, control *http.ResponseController, r *http.Request) (io.Reader, error) {
	body := &bodyReader{r.Body, control, ctx, s.opt}
	kind, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return body, nil
	}
	for parts := multipart.NewReader(body, parameters["boundary"]); ; {
		part, err := parts.NextPart()
		switch {
		case err == io.EOF:
			return nil, newError(http.StatusBadRequest, "request", "a form without a file: expected one, as curl -F file=@NAME sends it")
		case err != nil:
			return nil, classify(err)
		case part.FileName() != "" || part.FormName() == "file":
			return part, nil
		}
	}
}

// blockSeconds is the longest audio that is processed at a time.
const blockSeconds = 0.01

// classify distinguishes an error of the connection from invalid audio.
func classify(err error) error {
	if err == nil || errors.As(err, new(*apiError)) {
		return err
	}
	return errAudio(err)
}

// bodyReader reads a request's body. It extends the deadlines of the request with each part.
type bodyReader struct {
	in      io.Reader
	control *http.ResponseController
	ctx     context.Context
	opt     Options
}

func (r *bodyReader) Read(b []byte) (int, error) {
	r.control.SetReadDeadline(time.Now().Add(r.opt.Idle))
	r.control.SetWriteDeadline(time.Now().Add(r.opt.Idle + r.opt.Slow))
	if r.ctx.Err() != nil { // after SetReadDeadline, which may have replaced the deadline of upload
		return 0, context.Cause(r.ctx)
	}
	n, err := r.in.Read(b)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case r.ctx.Err() != nil:
		return n, context.Cause(r.ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, errIdle
	}
	return n, errGone
}
