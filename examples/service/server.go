package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
)

// config is what flags say.
type config struct {
	Model        string // as named
	Dir          string // of snapshots, or none
	Keep         time.Duration
	MaxStore     int64
	MaxStreams   int
	MaxPerClient int
	MaxMessage   int64
	Idle, Slow   time.Duration
	TokenHeader  string
	Log          *slog.Logger
}

func defaults() config {
	return config{
		Keep: 10 * time.Minute, MaxStore: 1 << 30, MaxStreams: 2000, MaxPerClient: 32, MaxMessage: 1 << 16,
		Idle: 2 * time.Minute, Slow: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
}

func (c *config) validate() error {
	for _, v := range []struct {
		name     string
		value    any
		positive bool
	}{
		{"keep", c.Keep, c.Keep > 0},
		{"max-store", c.MaxStore, c.MaxStore > 0},
		{"max-streams", c.MaxStreams, c.MaxStreams > 0},
		{"max-per-client", c.MaxPerClient, c.MaxPerClient > 0},
		{"max-message", c.MaxMessage, c.MaxMessage > 0},
		{"idle", c.Idle, c.Idle > 0},
		{"slow", c.Slow, c.Slow > 0},
	} {
		if !v.positive {
			return fmt.Errorf("-%s %v: expected more than 0", v.name, v.value)
		}
	}
	return nil
}

// usage is an error of a flag's value.
type usageError struct{ error }

// server is one model and its clients.
type server struct {
	cfg        config
	start      report.Start // but for the format and the stream
	recognizer *events.Recognizer
	streams    *streams
	metrics    *metrics
	processors chan struct{} // a place for each processor: who hears a block holds one
	mux        *http.ServeMux
}

func newServer(m *model.Model, opt events.Options, cfg config) (*server, error) {
	if err := cfg.validate(); err != nil {
		return nil, usageError{err}
	}
	f, err := events.New(m, opt)
	if err != nil {
		return nil, usageError{err}
	}
	s := &server{
		cfg: cfg, recognizer: f, processors: make(chan struct{}, runtime.GOMAXPROCS(0)), mux: http.NewServeMux(),
		start: report.Start{
			Type: "start", SampleRate: f.SampleRate(), Model: cfg.Model, Task: m.Meta.Task, Labels: m.Meta.Labels,
			Level: recurrent.Level(), Emit: "events",
		},
	}
	if f.SampleRate() != m.Meta.SampleRate {
		s.start.ModelSampleRate = m.Meta.SampleRate
	}
	var kept *store
	if cfg.Dir != "" {
		if kept, err = openStore(cfg.Dir, cfg.Keep, cfg.MaxStore, cfg.MaxPerClient, cfg.Log); err != nil {
			return nil, err
		}
	}
	s.streams = newStreams(f, cfg, kept)
	s.metrics = newMetrics(s, m.Meta.Labels)
	for _, path := range []string{"/v1/streams", "/v1/streams/{id}"} {
		s.mux.HandleFunc("POST "+path, s.upload)
		s.mux.HandleFunc("PUT "+path, s.upload)
		s.mux.HandleFunc("GET "+path, s.socket)
	}
	s.mux.HandleFunc("DELETE /v1/streams/{id}", s.forget)
	s.mux.Handle("GET /metrics", s.metrics.handler())
	s.mux.HandleFunc("GET /healthz", s.health)
	return s, nil
}

// linger is how long a client whose body nobody reads any more may go on sending it, to be told why.
const linger = time.Second

// ServeHTTP answers without waiting for the request's body, of which handlers read what they want. A connection that had one is not used
// again, so that no rest of it is ever taken for a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex() // HTTP/2 does so anyway, and says that it knows no such thing
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	if h, pattern := s.mux.Handler(r); pattern == "" {
		v := statusRecorder{w, 0}
		h.ServeHTTP(&v, r)
		if v.status < http.StatusBadRequest { // to the clean form of a path that is not there either
			v.status = http.StatusNotFound
			w.Header().Del("Location")
		}
		s.writeError(w, newError(v.status, "request", "%s %.64s: %s", r.Method, r.URL.Path, http.StatusText(v.status)))
	} else {
		s.mux.ServeHTTP(w, r)
	}
	control.SetReadDeadline(time.Now().Add(linger))
}

// statusRecorder takes an answer's status and header, and drops its text.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (v *statusRecorder) WriteHeader(status int)      { v.status = status }
func (v *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }

// health says whether new streams are welcome.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if s.streams.draining() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// client returns who asks: by the header that a proxy sets, else by address; hashed, for it is written to disk.
func (s *server) client(r *http.Request) string {
	who := ""
	if s.cfg.TokenHeader != "" {
		who = r.Header.Get(s.cfg.TokenHeader)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	sum := sha256.Sum256([]byte(cmp.Or(who, "address "+host)))
	return hex.EncodeToString(sum[:16])
}

// apiError is an error that a client receives. The code is for programs and labels the metric of rejections.
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
func (s *server) writeError(w http.ResponseWriter, err error) {
	e := s.asAPIError(err)
	w.Header().Set("Content-Type", "application/json")
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(report.Error{Type: "error", Code: e.code, Error: e.text})
}

// asAPIError returns the error that the client receives, and counts it. It logs errors that clients are not shown.
func (s *server) asAPIError(err error) *apiError {
	e := &apiError{http.StatusInternalServerError, "internal", "internal error"}
	if !errors.As(err, &e) {
		s.cfg.Log.Error("internal", "error", err)
	}
	s.metrics.rejected.WithLabelValues(e.code).Inc()
	return e
}

// forget ends a stream that is not connected.
func (s *server) forget(w http.ResponseWriter, r *http.Request) {
	if err := s.streams.forget(r.PathValue("id"), s.client(r)); err != nil {
		s.writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// blockSeconds is the most audio that is heard in one go: nobody waits longer than for a block of each other stream.
const blockSeconds = 0.1

func (s *server) blockSize() int { return max(1, int(blockSeconds*s.recognizer.SampleRate())) }

// enter waits for a processor, in the order of arrival; who gets nil must leave.
func (s *server) acquireProcessor(ctx context.Context) error {
	select {
	case s.processors <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *server) releaseProcessor() { <-s.processors }
