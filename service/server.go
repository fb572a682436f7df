// Package service recognises words in audio that clients stream over HTTP or WebSocket, and
// responds with the JSON lines of package report. It saves their streams in a Store, and resumes
// them. A Server is an http.Handler. The README.md of service/s4d-fast-serve describes the
// protocol.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// Server is one model and its clients.
type Server struct {
	opt        Options
	start      report.Start       // without the fields that depend on the stream
	recognizer *events.Recognizer // nil: no streams
	stateBytes int                // of a stream's detector
	streams    *streams
	mux        *http.ServeMux
	origins    http.CrossOriginProtection
	requests   chan struct{} // an element per Request in progress
}

// New returns a server. The caller ends it with Serve or Close.
func New(m *model.Model, detect events.Options, opt Options) (*Server, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	r, err := events.New(m, detect)
	if err != nil && opt.Requests == nil {
		return nil, err
	}
	stateBytes, paths := 0, []string(nil)
	if err == nil { // the model detects events
		stateBytes, paths = r.StateBytes(), []string{"/v1/streams", "/v1/streams/{name}"}
	}
	s := &Server{
		opt: opt, recognizer: r, stateBytes: stateBytes, mux: http.NewServeMux(), requests: make(chan struct{}, opt.MaxStreams),
		start: report.Start{
			Type: "start", Model: opt.Model, Task: m.Meta.Task, Labels: m.Meta.Labels, Level: level.Current(), Emit: "events",
		},
	}
	for _, origin := range opt.Origins {
		if err := s.origins.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("service: Origins: %w", err)
		}
	}
	s.streams = &streams{opt: opt, connected: map[string]*stream{}}
	s.streams.ctx, s.streams.cancel = context.WithCancelCause(context.Background())
	if opt.Store != nil {
		go s.streams.expireRegularly()
	}
	for pattern, serve := range opt.Requests {
		s.mux.HandleFunc(pattern, s.respond(serve))
	}
	for _, path := range paths {
		s.mux.HandleFunc("POST "+path, s.upload)
		s.mux.HandleFunc("PUT "+path, s.upload)
		s.mux.HandleFunc("GET "+path, s.socket)
	}
	s.mux.HandleFunc("DELETE /v1/streams/{name}", s.forget)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if s.streams.ctx.Err() != nil { // no new streams are accepted
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.writeError(w, newError(http.StatusNotFound, "request", "%s %.64s does not exist", r.Method, r.URL.Path))
	})
	return s, nil
}

// ServeHTTP responds without waiting for the request's body, of which a handler reads what it
// needs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex() // an error means HTTP/2, which is always full duplex
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		// The rest of the body is read for a while, so that the client receives the response.
		defer func() { control.SetReadDeadline(time.Now().Add(5 * time.Second)) }()
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := s.check(r); err != nil {
		s.writeError(w, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Serve serves the connections of a listener until ctx is cancelled or the listener fails. Then it
// closes the Server as Close does. The error is that of the listener, and that of Close.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{ // a response that takes longer than WriteTimeout sets its own deadlines
		Handler: s, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14,
		ErrorLog: slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	err = errors.Join(err, s.Close())
	end, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	h.Shutdown(end) // sends the ends of responses
	h.Close()
	return err
}

// Close rejects new streams, saves the connected ones and informs their clients, which takes at
// most Options.Grace. It is an error if streams were not saved.
func (s *Server) Close() error { return s.streams.close() }

// apiError is an error that a client receives. The code is for programs and labels the metric of
// rejections.
type apiError struct {
	status int
	code   string
	text   string
}

func (e *apiError) Error() string { return e.text }

func newError(status int, code, format string, args ...any) *apiError {
	return &apiError{status, code, fmt.Sprintf(format, args...)}
}

// line returns the line that the client receives.
func (e *apiError) line() report.Error {
	return report.Error{Type: "error", Code: e.code, Error: e.text}
}

func (s *Server) writeError(w http.ResponseWriter, err error) {
	e := s.asAPIError(err)
	w.Header().Set("Content-Type", "application/json")
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(e.line())
}

// asAPIError returns the error that the client receives, and counts it. It logs errors that clients
// are not shown.
func (s *Server) asAPIError(err error) *apiError {
	e := &apiError{http.StatusInternalServerError, "internal", "internal error"}
	if !errors.As(err, &e) {
		s.opt.Log.Error("internal", "error", err)
	}
	if e != errGone {
		s.opt.Metrics.Reject(e.code)
	}
	return e
}

// forget deletes a stream that is not connected.
func (s *Server) forget(w http.ResponseWriter, r *http.Request) {
	if err := s.streams.forget(r.Context(), r.PathValue("name")); err != nil {
		s.writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
