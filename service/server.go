// Package service recognises words in audio that clients stream over HTTP or WebSocket, and
// responds with the JSON lines of package report. It limits its clients, saves their streams, and
// resumes them. A Server is an http.Handler. Server.Serve also limits the connections, and ends
// the streams when its context ends. The README.md of examples/service describes the protocol.
package service

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// Server is one model and its clients.
type Server struct {
	opt        Options
	start      report.Start // without the fields that depend on the stream
	recognizer *events.Recognizer
	modelRate  float64 // sampling rate for which the model was trained, in Hz
	streams    *streams
	processors *scheduler
	mux        *http.ServeMux
	origins    http.CrossOriginProtection
}

// New returns a server. An invalid value in detect or opt is an *OptionError. All other errors
// concern the folder of the snapshots, for example that another server uses it. The Server locks
// the folder until Close, or a Serve whose ctx is cancelled, has ended all streams.
func New(m *model.Model, detect events.Options, opt Options) (*Server, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	r, err := events.New(m, detect)
	if err != nil {
		return nil, &OptionError{"", err}
	}
	opt.complete()
	s := &Server{
		opt: opt, recognizer: r, modelRate: m.Meta.SampleRate, processors: newScheduler(runtime.GOMAXPROCS(0)), mux: http.NewServeMux(),
		start: report.Start{
			Type: "start", Model: opt.Model, Task: m.Meta.Task, Labels: m.Meta.Labels, Level: level.Current(), Emit: "events",
		},
	}
	for _, origin := range opt.Origins {
		if err := s.origins.AddTrustedOrigin(origin); err != nil {
			return nil, &OptionError{"Origins", err}
		}
	}
	var st *store
	if opt.Snapshots != "" {
		if st, err = openStore(atomicfile.Files{FS: opt.files}, opt.Snapshots, opt.Keep, opt.MaxStore, opt.MaxPerClient, opt.Log); err != nil {
			return nil, err
		}
	}
	s.streams = newStreams(r, opt, st)
	for _, path := range []string{"/v1/streams", "/v1/streams/{id}"} {
		s.mux.HandleFunc("POST "+path, s.upload)
		s.mux.HandleFunc("PUT "+path, s.upload)
		s.mux.HandleFunc("GET "+path, s.socket)
	}
	s.mux.HandleFunc("DELETE /v1/streams/{id}", s.forget)
	s.mux.HandleFunc("GET /healthz", s.health)
	return s, nil
}

// ServeHTTP responds without waiting for the request's body, of which a handler reads what it
// needs. It closes the connection of a request with a body: the unread rest must not be taken for
// another request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex() // an error means HTTP/2, which is always full duplex
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		// net/http must not read the rest. connection.Close does.
		defer control.SetReadDeadline(time.Unix(1, 0))
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	preflight := s.allowPage(w, r)
	if err := s.check(r); err != nil {
		w.Header().Set("Connection", "close")
		s.writeError(w, err)
		return
	}
	if preflight {
		allowRequests(w)
		return
	}
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	rec := statusRecorder{ResponseWriter: w}
	h.ServeHTTP(&rec, r)
	// A redirect leads to the clean form of the path, which does not exist either.
	if rec.status < http.StatusBadRequest {
		rec.status = http.StatusNotFound
		w.Header().Del("Location")
	}
	s.writeError(w, newError(rec.status, "request", "%s %.64s: %s", r.Method, r.URL.Path, http.StatusText(rec.status)))
}

// statusRecorder records a response's status and drops its text. A switch of protocols is passed
// on.
type statusRecorder struct {
	http.ResponseWriter
	status int
	conn   net.Conn // after a switch of protocols
}

func (r *statusRecorder) WriteHeader(status int) {
	if r.status = status; status == http.StatusSwitchingProtocols {
		r.ResponseWriter.WriteHeader(status)
	}
}

// Hijack implements http.Hijacker.
func (r *statusRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(r.ResponseWriter).Hijack()
	r.conn = conn
	return conn, buf, err
}

func (r *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// health responds with 503 if the server does not accept new streams.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.streams.draining() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

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

// writeError responds with an error line.
func (s *Server) writeError(w http.ResponseWriter, err error) {
	e := s.asAPIError(err)
	w.Header().Set("Content-Type", "application/json")
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(report.Error{Type: "error", Code: e.code, Error: e.text})
}

// asAPIError returns the error that the client receives, and counts it. It logs errors that clients
// are not shown.
func (s *Server) asAPIError(err error) *apiError {
	e := &apiError{http.StatusInternalServerError, "internal", "internal error"}
	if !errors.As(err, &e) {
		s.opt.Log.Error("internal", "error", err)
	}
	s.opt.Metrics.Reject(e.code)
	s.opt.Log.Debug("rejected", "why", e.code, "error", clean(e.text))
	return e
}

// forget deletes a stream that is not connected.
func (s *Server) forget(w http.ResponseWriter, r *http.Request) {
	if err := s.streams.forget(r.PathValue("id"), s.client(r)); err != nil {
		s.writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// blockSeconds is the most audio that is processed at a time.
const blockSeconds = 0.1

// clean replaces characters of a client that must not be in a log: control characters and others
// that are not printed.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '?'
	}, text)
}

// errorLog returns the log of net/http.
func (s *Server) errorLog() *log.Logger { return log.New(logWriter{s.opt.Log}, "", 0) }

type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	w.log.Warn("http", "error", clean(strings.TrimSpace(string(line))))
	return len(line), nil
}
