package studio

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// apiError is an error that the client caused, or that it can do something about.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func fail(status int, format string, args ...any) error {
	return &apiError{status, fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return fail(http.StatusBadRequest, format, args...)
}

// writeError answers a request with {"error": text}. A file that does not exist, is outside the
// project, or is not a folder although one is expected, is an error of the client. Other errors
// than apiError are logged.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var e *apiError
	var big *http.MaxBytesError
	var file *fs.PathError
	if !errors.As(err, &e) {
		e = &apiError{http.StatusInternalServerError, err.Error()}
	}
	switch isFile := errors.As(err, &file); {
	case errors.As(err, &big):
		e = &apiError{http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", big.Limit)}
	case isFile && errors.Is(err, fs.ErrNotExist):
		e = &apiError{http.StatusNotFound, fmt.Sprintf("%q does not exist", file.Path)}
	case isFile && strings.HasSuffix(err.Error(), "not a directory"): // ENOTDIR, or the error of os.Root
		e = &apiError{http.StatusNotFound, fmt.Sprintf("%q is not a folder", file.Path)}
	case isFile && strings.Contains(err.Error(), "escapes from parent"):
		e = &apiError{http.StatusForbidden, fmt.Sprintf("%q is outside the folder", file.Path)}
	case e.status == http.StatusInternalServerError && r.Context().Err() == nil:
		s.cfg.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(map[string]string{"error": e.text})
}

// answer returns the handler that sends what another one returns: nothing, a value as JSON, or what
// a http.HandlerFunc writes.
func (s *Server) answer(h func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
		v, err := h(r)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		switch v := v.(type) {
		case nil:
			w.WriteHeader(http.StatusNoContent)
		case http.HandlerFunc:
			v(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(v) // the client may be gone
		}
	}
}

func readJSON(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if big := (*http.MaxBytesError)(nil); err == nil || errors.As(err, &big) {
		return err
	}
	return badRequest("the request's JSON: %v", err)
}

// policy allows the page to load its own files only, and to play the sounds that it fetched.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// local rejects requests that do not come from a page of this server. A page of another site
// reaches the loopback with its own Host if its name resolves to it (DNS rebinding), and with its
// own Origin otherwise.
func (s *Server) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "microphone=(self), camera=(), geolocation=()")
		h.Set("Cache-Control", "no-store")
		switch origin := r.Header.Get("Origin"); {
		case !IsLoopback(r.Host):
			s.writeError(w, r, fail(http.StatusMisdirectedRequest, "host %q: expected localhost or an address of the loopback", r.Host))
		case !utf8.ValidString(r.URL.Path): // without this case the status is 500
			s.writeError(w, r, badRequest("path %q: expected UTF-8", r.URL.Path))
		case origin != "" && origin != "http://"+r.Host:
			s.writeError(w, r, fail(http.StatusForbidden, "origin %q: expected http://%s", origin, r.Host))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// IsLoopback reports whether a host, with or without a port, is localhost or an IP address of the
// loopback.
func IsLoopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && ip.IsLoopback()
}

// tokenHeader has the token. A page cannot give headers to a WebSocket, so that has ?token=….
const tokenHeader = "X-Studio-Token"

// authorized rejects requests without the token.
func (s *Server) authorized(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(cmp.Or(r.Header.Get(tokenHeader), r.URL.Query().Get("token"))))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			s.writeError(w, r, fail(http.StatusUnauthorized, "wrong token: open the address that s4d-fast studio printed"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
