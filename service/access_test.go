package service

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// With a token, requests without it get 401, except those for the health.
func TestBearerToken(t *testing.T) {
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
				{"GET", "/nowhere", 404}, {"OPTIONS", "/v1/streams", 404},
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
			}
			if status, _ := in.request("GET", "/healthz", nil, "Authorization", value); status != 200 {
				t.Errorf("/healthz with %q: status %d", value, status)
			}
			status, body := in.options("Host: localhost", "Authorization: "+value)
			if allowed {
				must.Equal(t, status, 400, "OPTIONS *: status")
			} else {
				checkError(t, "OPTIONS * with "+value, status, body, 401, "token")
			}
			opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: headers("Authorization", value)}
			conn, response, _ := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
			if (conn != nil) != allowed || !allowed && response.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("WebSocket with %q: %+v", value, response)
			}
			if conn != nil {
				conn.CloseNow()
			}
		}
	})
	for _, token := range []string{"two words", "a\nb", "ü"} {
		opt := Defaults()
		opt.Token = token
		must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, "Token")
	}
}

// Pages of allowed origins can send audio, read the response and open a WebSocket.
func TestAllowedOrigins(t *testing.T) {
	const app = "https://app.example"
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Origins, c.Token = []string{app}, "t" })
		send := func(method, path string, pairs ...string) *http.Response {
			t.Helper()
			r := must.Get(http.NewRequest(method, "http://localhost"+path, nil))(t)
			r.Header = headers(pairs...)
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
			opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: headers("Origin", c.origin, "Authorization", c.token)}
			conn, _, err := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
			must.Equal(t, err == nil, c.status == 200, "%s with %q: WebSocket accepted", c.origin, c.token)
			if conn != nil {
				conn.CloseNow()
			}
		}
		r := must.Get(http.NewRequest("OPTIONS", "http://localhost/v1/streams", nil))(t)
		r.Host, r.Header = "evil.example", headers("Origin", app, "Access-Control-Request-Method", "POST")
		response := must.Get(in.client.Do(r))(t)
		response.Body.Close()
		must.Equal(t, response.StatusCode, http.StatusMisdirectedRequest, "preflight for another host: status")
	})
	opt := Defaults()
	opt.Origins = []string{"app.example"}
	must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, "Origins", "app.example")
}

// Compressed bodies are rejected.
func TestContentEncoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for _, encoding := range []string{"gzip", "deflate, gzip", "zstd", "identity, gzip"} {
			status, body := in.post("/v1/streams?format=s16le", strings.NewReader("\x1f\x8b"), "Content-Encoding", encoding)
			checkError(t, encoding, status, body, 415, "encoding", encoding)
		}
		for _, first := range []string{"", " identity"} { // of two lines
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			fmt.Fprintf(conn, "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nContent-Encoding:%s\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab", first)
			response := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
			must.Equal(t, response.StatusCode, 415, "two lines, the first with %q: status", first)
			conn.Close()
		}
		status, _ := in.post("/v1/streams?format=s16le", nil, "Content-Encoding", "Identity")
		must.Equal(t, status, 200, "identity: status")
	})
}

// Only requests for this server's names are served, so that no page can reach it by DNS rebinding.
func TestHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Hosts = []string{"words.example"} })
		for host, allowed := range map[string]bool{
			"localhost": true, "localhost:8080": true, "LOCALHOST.": true, "app.localhost:80": true,
			"127.0.0.1:8080": true, "[::1]:8080": true, "192.168.1.5": true,
			"words.example": true, "Words.Example:443": true,
			"evil.example": false, "words.example.evil.example:8080": false, "notlocalhost": false, "127.0.0.1.evil.example": false,
			"localhost.evil.example": false, "evilwords.example": false, "sub.words.example": false,
		} {
			status, body := in.request("GET", "/healthz", nil, "Host", host)
			if allowed && status != 200 {
				t.Errorf("%s: status %d, expected 200: %s", host, status, body)
			}
			if !allowed {
				checkError(t, host, status, body, 421, "host", host, "allowed names")
			}
		}
		status, body := in.post("/v1/streams?format=s16le", nil, "Host", "evil.example")
		checkError(t, "POST", status, body, 421, "host")
		status, body = in.options("Host: evil.example")
		checkError(t, "OPTIONS *", status, body, 421, "host")
	})
}

// Pages of other sites can neither write nor open a WebSocket. The response is JSON.
func TestOrigin(t *testing.T) {
	upgrade := []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
	}
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for _, c := range []struct {
			name, method string
			header       []string
			allowed      bool
		}{
			{"own page", "POST", []string{"Origin", "http://localhost"}, true},
			{"own page", "POST", []string{"Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"}, true},
			{"no page", "POST", nil, true},
			{"other origin", "POST", []string{"Origin", "http://evil.example"}, false},
			{"other port", "POST", []string{"Origin", "http://localhost:3000"}, false},
			{"other site", "POST", []string{"Sec-Fetch-Site", "cross-site"}, false},
			{"other origin", "PUT", []string{"Origin", "http://evil.example"}, false},
			{"other origin", "DELETE", []string{"Origin", "http://evil.example"}, false},
			{"WebSocket, other origin", "GET", append([]string{"Origin", "http://evil.example"}, upgrade...), false},
			{"WebSocket, other site", "GET", append([]string{"Sec-Fetch-Site", "cross-site"}, upgrade...), false},
		} {
			path := "/v1/streams/mine"
			if c.method == "POST" {
				path += "?format=s16le"
			}
			status, body := in.request(c.method, path, nil, c.header...)
			if c.allowed && status != 200 {
				t.Errorf("%s %v: status %d, expected 200: %s", c.method, c.header, status, body)
			}
			if !c.allowed {
				checkError(t, c.name, status, body, 403, "origin", c.header[:2]...)
			}
		}
		opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: headers("Origin", "http://localhost")}
		conn, _, err := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
		if err != nil {
			t.Fatalf("WebSocket of an own page: %v", err)
		}
		conn.CloseNow()
	})
}
