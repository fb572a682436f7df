package service

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// With a token, requests without it get 401, except those for the health.
func TestBearerToken(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Token = "correct-horse" })
		for value, allowed := range map[string]bool{
			"Bearer correct-horse": true, "bearer correct-horse": true,
			"": false, "Bearer": false, "Bearer ": false, "Bearer correct-hors": false, "Bearer correct-horse2": false,
			"Bearer  correct-horse": false, "Bearer Correct-Horse": false, "Basic correct-horse": false, "correct-horse": false,
		} {
			for _, c := range []struct {
				method, path string
				status       int
			}{
				{"POST", "/v1/streams?format=s16le", 200}, {"GET", "/v1/streams", 426}, {"DELETE", "/v1/streams/mine", 404},
				{"GET", "/nowhere", 404}, {"OPTIONS", "/v1/streams", 405},
				{"PUT", "/v1/streams/mine?format=s16le", 200}, {"POST", "/v1/streams/healthz?format=s16le", 200}, {"GET", "/healthz/mine", 404},
			} {
				status, body := in.request(c.method, c.path, nil, "Authorization", value)
				if c.method != "OPTIONS" { // this header makes only OPTIONS a preflight
					status, body = in.request(c.method, c.path, nil, "Authorization", value, "Access-Control-Request-Method", "POST")
				}
				if allowed {
					must.Equal(t, status, c.status, "%s %s with %q: status", c.method, c.path, value)
				} else {
					checkError(t, value, status, body, 401, "token", "Authorization: Bearer")
				}
				cases.add(t)
			}
			if status, _ := in.request("GET", "/healthz", nil, "Authorization", value); status != 200 {
				t.Errorf("/healthz with %q: status %d", value, status)
			}
			status, body := in.options("Host: localhost", "Authorization: "+value)
			if allowed {
				checkError(t, "OPTIONS *", status, body, 404, "request", "OPTIONS *")
			} else {
				checkError(t, "OPTIONS * with "+value, status, body, 401, "token")
			}
			cases.add(t)
			opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: header("Authorization", value)}
			conn, response, _ := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
			if (conn != nil) != allowed || !allowed && response.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("WebSocket with %q: %+v", value, response)
			}
			cases.add(t)
			if conn != nil {
				conn.CloseNow()
			}
		}
	})
	must.Tally(t, promiseAccess, cases.tried, cases.held)
	for _, token := range []string{"two words", "a\nb", "ü"} {
		opt := Defaults()
		opt.Token = token
		must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, "Token")
	}
}

// Pages of allowed origins can send audio, read the response and open a WebSocket.
func TestAllowedOrigins(t *testing.T) {
	const app = "https://app.example"
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Origins, c.Token = []string{app}, "t" })
		send := func(method, path string, pairs ...string) *http.Response {
			t.Helper()
			r := must.Get(http.NewRequest(method, "http://localhost"+path, nil))(t)
			r.Header = header(pairs...)
			response := must.Get(in.client.Do(r))(t)
			response.Body.Close()
			return response
		}
		for _, c := range []struct {
			origin, site, token string
			status              int
			readable            string
		}{
			{app, "cross-site", "Bearer t", 200, app},
			{app, "cross-site", "", 401, app}, // the page can read why
			{"https://evil.example", "cross-site", "Bearer t", 403, ""},
			{"http://app.example", "", "Bearer t", 403, ""},
			{"https://app.example.evil.example", "cross-site", "Bearer t", 403, ""},
			{"null", "cross-site", "Bearer t", 403, ""},
			{"http://localhost", "same-origin", "Bearer t", 200, ""},
		} {
			r := send("POST", "/v1/streams?format=s16le", "Origin", c.origin, "Sec-Fetch-Site", c.site, "Authorization", c.token)
			must.Equal(t, r.StatusCode, c.status, "%s with %q: status", c.origin, c.token)
			must.Equal(t, r.Header.Get("Access-Control-Allow-Origin"), c.readable, "%s: who may read the response", c.origin)
			// A preflight has no token.
			r = send("OPTIONS", "/v1/streams/mine", "Origin", c.origin, "Access-Control-Request-Method", "PUT")
			must.Equal(t, r.StatusCode == http.StatusNoContent, c.readable != "", "%s: preflight", c.origin)
			must.Equal(t, strings.Contains(r.Header.Get("Access-Control-Allow-Methods"), "PUT"), c.readable != "", "%s: PUT allowed", c.origin)
			opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: header("Origin", c.origin, "Authorization", c.token)}
			conn, _, err := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
			must.Equal(t, err == nil, c.status == 200, "%s with %q: WebSocket accepted", c.origin, c.token)
			cases.add(t)
			if conn != nil {
				conn.CloseNow()
			}
		}
		r := must.Get(http.NewRequest("OPTIONS", "http://localhost/v1/streams", nil))(t)
		r.Host, r.Header = "evil.example", header("Origin", app, "Access-Control-Request-Method", "POST")
		response := must.Get(in.client.Do(r))(t)
		response.Body.Close()
		must.Equal(t, response.StatusCode, http.StatusMisdirectedRequest, "preflight for another host: status")
		cases.add(t)
	})
	must.Tally(t, promiseAccess, cases.tried, cases.held)
	opt := Defaults()
	opt.Origins = []string{"app.example"}
	must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, "Origins", "app.example")
}

// Compressed bodies are rejected.
func TestContentEncoding(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		for _, encoding := range []string{"gzip", "deflate, gzip", "zstd", "identity, gzip"} {
			status, body := in.post("/v1/streams?format=s16le", strings.NewReader("\x1f\x8b"), "Content-Encoding", encoding)
			checkError(t, encoding, status, body, 415, "encoding", encoding)
			cases.add(t)
		}
		for _, first := range []string{"", " identity"} { // of two lines
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			fmt.Fprintf(conn, "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nContent-Encoding:%s\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab", first)
			response := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
			must.Equal(t, response.StatusCode, 415, "two lines, the first with %q: status", first)
			conn.Close()
			cases.add(t)
		}
		status, _ := in.post("/v1/streams?format=s16le", nil, "Content-Encoding", "Identity")
		must.Equal(t, status, 200, "identity: status")
		cases.add(t)
	})
	must.Tally(t, "a body with a Content-Encoding is rejected, unless the encoding is identity", cases.tried, cases.held)
}

// An address identifies a client without its port. Of an IPv6 address, the network does.
func TestClientAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:80": "192.0.2.7", "192.0.2.7:81": "192.0.2.7", "[::ffff:192.0.2.7]:80": "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:3::9]:80": "2001:db8:1:3::/64", "[fe80::1%eth0]:80": "fe80::/64", "[::1]:80": "::/64",
		"pipe": "pipe", "": "", "host:80": "host",
	} {
		must.Equal(t, clientAddress(remote), want, "client of %s", remote)
	}
}

// The service serves HTTP/1.1 and WebSockets over TLS.
func TestTLS(t *testing.T) {
	var cases counter
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
			NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		}
		der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
		in := startService(t, toneModel(t, 0), func(c *Options) {
			c.Connections = 2
			c.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		})
		roots := x509.NewCertPool()
		roots.AddCert(must.Get(x509.ParseCertificate(der))(t))
		transport := in.client.Transport.(*http.Transport)
		transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: roots}, true
		response := must.Get(in.client.Post("https://localhost/v1/streams?format=s16le", "", strings.NewReader(string(pcm))))(t)
		body := must.Get(io.ReadAll(response.Body))(t)
		response.Body.Close()
		must.Equal(t, response.Proto, "HTTP/1.1", "protocol")
		checkComplete(t, "upload", parse(t, string(body)), pcm)

		transport.ForceAttemptHTTP2 = false
		in.client.CloseIdleConnections()
		time.Sleep(time.Minute) // the connection has ended
		var open []*websocket.Conn
		for i := range 3 { // one more than the limit
			conn, response, _ := websocket.Dial(t.Context(), "wss://localhost/v1/streams", &websocket.DialOptions{HTTPClient: in.client})
			must.Equal(t, response.StatusCode, []int{101, 101, 503}[i], "WebSocket %d: status", i)
			if conn != nil {
				open = append(open, conn)
			}
		}
		for _, conn := range open {
			conn.CloseNow()
		}
		plain := must.Get(in.listener.Dial(t.Context()))(t) // not TLS
		defer plain.Close()
		io.WriteString(plain, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, _ := io.ReadAll(plain)
		if strings.Contains(string(answer), "200 OK") {
			t.Errorf("without TLS: %q", answer)
		}
		cases.add(t)
	})
	must.Tally(t, promiseAccess, cases.tried, cases.held)
}

// rawLog is a log that does not escape what it is given.
type rawLog struct {
	slog.Handler
	mu   sync.Mutex
	text strings.Builder
	n    int
}

func (l *rawLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *rawLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	l.text.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		l.text.WriteString(" " + a.Value.String())
		return true
	})
	return nil
}

// What clients send reaches the log without control characters.
func TestLogHasNoControlCharacters(t *testing.T) {
	tried, held := 0, 0
	const evil = "\x1b[2J\x00\u202e\u2028\x7f\u009b"
	escaped := "%1b%5B2J%00%0A%0Dlevel=ERROR%e2%80%ae%e2%80%a8%7f%c2%9b%ff"
	synctest.Test(t, func(t *testing.T) {
		log := &rawLog{}
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Log, c.Snapshots, c.TokenHeader = slog.New(log), t.TempDir(), "User" })
		for _, path := range []string{
			"/" + escaped, "/v1/streams/" + escaped, "/v1/streams/mine?format=" + escaped, "/v1/streams?" + escaped + "=1",
			"/v1/streams/mine?rate=" + escaped, "/v1/streams?events=" + escaped,
		} {
			for _, method := range []string{"POST", "PUT", "DELETE", "GET", "EVIL"} {
				in.request(method, path, strings.NewReader(evil))
				tried++
			}
		}
		for _, line := range []string{"Host: evil" + evil, "Origin: " + evil, "Sec-Fetch-Site: x" + evil, "Authorization: " + evil, "Content-Encoding: " + evil} {
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			fmt.Fprintf(conn, "POST /v1/streams HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", line)
			io.ReadAll(conn)
			conn.Close()
			tried++
		}
		for _, name := range []string{"Origin", "Sec-Fetch-Site", "Authorization", "Content-Encoding", "User", "User-Agent", "Referer"} {
			in.request("POST", "/v1/streams?format=s16le", nil, name, "\u202e\u2028\u009b\xff") // which net/http accepts
			tried++
		}
		c := in.dial("/v1/streams")
		c.sendText(`{"type":"` + evil + `"}`)
		c.rest()
		in.interrupt("mine")
		in.server.errorLog().Print("http: " + evil + "\nsecond line")
		synctest.Wait()
		log.mu.Lock()
		defer log.mu.Unlock()
		if log.n < 30 {
			t.Errorf("%d records, expected at least 30", log.n)
		}
		for _, r := range log.text.String() {
			if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				t.Fatalf("the log has the character %U: %q", r, log.text.String())
			}
		}
		held = tried
	})
	must.Tally(t, "no control character of a request reaches the log", tried, held)
}

// A user whose name a proxy sends is never the client at an address.
func TestUserIsNoAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.TokenHeader = "User" })
		r := httptest.NewRequest("GET", "/", nil)
		without := in.server.client(r)
		for _, user := range []string{"address 192.0.2.1", "address 192.0.2.1 ", "192.0.2.1"} { // the address of httptest
			r.Header.Set("User", user)
			if in.server.client(r) == without {
				t.Errorf("user %q is the client without a name", user)
			}
		}
	})
}
