package studio

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
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

// writeError answers a request with {"error": text}. Other errors than apiError are logged.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var e *apiError
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &e):
	case errors.As(err, &big):
		e = &apiError{http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", big.Limit)}
	default:
		if r.Context().Err() == nil {
			s.cfg.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		e = &apiError{http.StatusInternalServerError, err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(map[string]string{"error": e.text})
}

// writeJSON answers a request.
func writeJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the client may be gone
	return nil
}

// maxJSON is the largest body of a request in JSON, in bytes.
const maxJSON = 4 << 10

// readJSON reads the body of a request.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJSON))
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

// The token is in this header or, for a WebSocket, which a page cannot give headers, in an offered
// subprotocol that begins with tokenProtocol.
const (
	tokenHeader   = "X-Studio-Token"
	liveProtocol  = "s4d-fast.studio"
	tokenProtocol = "token."
)

// authorized rejects requests without the token.
func (s *Server) authorized(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get(tokenHeader)
		if given == "" {
			for offered := range strings.SplitSeq(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
				if token, ok := strings.CutPrefix(strings.TrimSpace(offered), tokenProtocol); ok {
					given = token
				}
			}
		}
		got := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			s.writeError(w, r, fail(http.StatusUnauthorized, "wrong token: open the address that s4d-fast studio printed"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
