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
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// config holds the values of the flags.
type config struct {
	Model        string // as the start line names it
	Dir          string // of the snapshots; empty for none
	Keep         time.Duration
	MaxStore     int64
	Connections  int
	MaxStreams   int
	MaxPerClient int
	MaxMessage   int64
	Idle, Slow   time.Duration
	TokenHeader  string
	Hosts        []string // names of this server in lower case, in addition to localhost
	Log          *slog.Logger
}

func defaults() config {
	c := config{
		Keep: 10 * time.Minute, MaxStore: 1 << 30, MaxStreams: 2000, MaxPerClient: 32, MaxMessage: 1 << 16,
		Idle: 2 * time.Minute, Slow: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	c.Connections = min(c.MaxStreams+256, maxConnections())
	return c
}

func (c *config) validate() error {
	switch n := maxConnections(); {
	case n < 1:
		return fmt.Errorf("the process may open %d files, expected more than %d: raise the limit with ulimit -n",
			n+reservedFiles, reservedFiles)
	case c.Connections > n:
		return fmt.Errorf("-connections %d: expected at most %d, as the process may open %d files; raise that limit with ulimit -n",
			c.Connections, n, n+reservedFiles)
	}
	for _, v := range []struct {
		name     string
		value    any
		positive bool
	}{
		{"keep", c.Keep, c.Keep > 0},
		{"max-store", c.MaxStore, c.MaxStore > 0},
		{"connections", c.Connections, c.Connections > 0},
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

// usageError is an error in the value of a flag.
type usageError struct{ error }

// server is one model and its clients.
type server struct {
	cfg        config
	start      report.Start // without the fields that depend on the stream
	recognizer *events.Recognizer
	modelRate  float64 // sampling rate for which the model was trained, in Hz
	streams    *streams
	metrics    *metrics
	processors chan struct{} // has an element for each block that is being processed
	mux        *http.ServeMux
	origins    http.CrossOriginProtection
}

func newServer(m *model.Model, opt events.Options, cfg config) (*server, error) {
	if err := cfg.validate(); err != nil {
		return nil, usageError{err}
	}
	r, err := events.New(m, opt)
	if err != nil {
		return nil, usageError{err}
	}
	s := &server{
		cfg: cfg, recognizer: r, modelRate: m.Meta.SampleRate, processors: make(chan struct{}, runtime.GOMAXPROCS(0)), mux: http.NewServeMux(),
		start: report.Start{
			Type: "start", Model: cfg.Model, Task: m.Meta.Task, Labels: m.Meta.Labels, Level: level.Current(), Emit: "events",
		},
	}
	var st *store
	if cfg.Dir != "" {
		if st, err = openStore(cfg.Dir, cfg.Keep, cfg.MaxStore, cfg.MaxPerClient, cfg.Log); err != nil {
			return nil, err
		}
	}
	s.streams = newStreams(r, cfg, st)
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

// ServeHTTP responds without waiting for the request's body, of which a handler reads what it
// needs. It closes the connection of a request with a body: the unread rest must not be taken for
// another request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex() // an error means HTTP/2, which is always full duplex
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		// net/http must not read the rest. connection.Close does.
		defer control.SetReadDeadline(time.Unix(1, 0))
	}
	if err := s.check(r); err != nil {
		w.Header().Set("Connection", "close")
		s.writeError(w, err)
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

// check rejects requests over too many connections, requests for other hosts and requests of other
// sites' pages.
func (s *server) check(r *http.Request) error {
	if rejected, _ := r.Context().Value(rejectedKey{}).(bool); rejected {
		return newError(http.StatusServiceUnavailable, "connections", "%d connections are open, the maximum", s.cfg.Connections)
	}
	if !s.servesHost(r.Host) {
		return newError(http.StatusMisdirectedRequest, "host", "host %.80q: expected an IP address, localhost or a name that -host allows", r.Host)
	}
	write := *r
	write.Method = http.MethodPost // GET upgrades to WebSocket, which writes too
	if (r.Method != http.MethodGet || r.Header.Get("Upgrade") != "") && s.origins.Check(&write) != nil {
		if origin := r.Header.Get("Origin"); origin != "" {
			return newError(http.StatusForbidden, "origin", "Origin %.80q: expected this server's own", origin)
		}
		return newError(http.StatusForbidden, "origin", "Sec-Fetch-Site %.20q: expected same-origin or none", r.Header.Get("Sec-Fetch-Site"))
	}
	return nil
}

// servesHost reports whether a Host header names this server. With DNS rebinding a page makes the
// browser send the name of the page's own site, so IP addresses are safe.
func (s *server) servesHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(s.cfg.Hosts, host)
}

// statusRecorder records a response's status and drops its text. A switch of protocols is passed
// on.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	if r.status = status; status == http.StatusSwitchingProtocols {
		r.ResponseWriter.WriteHeader(status)
	}
}
func (r *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// health responds with 503 if the server does not accept new streams.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if s.streams.draining() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// client identifies the client of a request, by the header that a proxy sets or by address. The
// result is a hash, as snapshots contain it.
func (s *server) client(r *http.Request) string {
	token := ""
	if s.cfg.TokenHeader != "" {
		token = r.Header.Get(s.cfg.TokenHeader)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	sum := sha256.Sum256([]byte(cmp.Or(token, "address "+host)))
	return hex.EncodeToString(sum[:16])
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
func (s *server) writeError(w http.ResponseWriter, err error) {
	e := s.asAPIError(err)
	w.Header().Set("Content-Type", "application/json")
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(report.Error{Type: "error", Code: e.code, Error: e.text})
}

// asAPIError returns the error that the client receives, and counts it. It logs errors that clients
// are not shown.
func (s *server) asAPIError(err error) *apiError {
	e := &apiError{http.StatusInternalServerError, "internal", "internal error"}
	if !errors.As(err, &e) {
		s.cfg.Log.Error("internal", "error", err)
	}
	s.metrics.rejected.WithLabelValues(e.code).Inc()
	return e
}

// forget deletes a stream that is not connected.
func (s *server) forget(w http.ResponseWriter, r *http.Request) {
	if err := s.streams.forget(r.PathValue("id"), s.client(r)); err != nil {
		s.writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// blockSeconds is the most audio that is processed at a time. A block waits for at most one block
// of every other stream.
const blockSeconds = 0.1

// acquireProcessor waits for a processor, in the order of the calls. After nil the caller calls
// releaseProcessor.
func (s *server) acquireProcessor(ctx context.Context) error {
	select {
	case s.processors <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *server) releaseProcessor() { <-s.processors }
