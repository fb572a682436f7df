package service

import (
	"testing"
	"testing/synctest"

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
				{"GET", "/nowhere", 404}, {"POST", "/v1/streams/healthz?format=s16le", 200}, {"GET", "/healthz/mine", 404},
			} {
				status, body := in.request(c.method, c.path, nil, "Authorization", value)
				if allowed {
					must.Equal(t, status, c.status, "%s %s with %q: status", c.method, c.path, value)
				} else {
					checkError(t, value, status, body, 401, "token", "Authorization: Bearer")
				}
			}
			if status, _ := in.request("GET", "/healthz", nil, "Authorization", value); status != 200 {
				t.Errorf("/healthz with %q: status %d", value, status)
			}
			conn, response, _ := in.websocket("/v1/streams", "Authorization", value)
			if (conn != nil) != allowed || !allowed && response.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("WebSocket with %q: %+v", value, response)
			}
		}
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
	})
}

// Pages of other sites can neither write nor open a WebSocket. The response is JSON.
func TestOrigin(t *testing.T) {
	upgrade := []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
	}
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Origins = []string{"https://app.example"} })
		for _, c := range []struct {
			name, method string
			header       []string
			allowed      bool
		}{
			{"own page", "POST", []string{"Origin", "http://localhost"}, true},
			{"own page", "POST", []string{"Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"}, true},
			{"no page", "POST", nil, true},
			{"allowed origin", "POST", []string{"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site"}, true},
			{"another scheme", "POST", []string{"Origin", "http://app.example"}, false},
			{"null", "POST", []string{"Origin", "null"}, false},
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
				checkError(t, c.name, status, body, 403, "origin", c.header[1])
			}
		}
		if _, _, err := in.websocket("/v1/streams", "Origin", "http://localhost"); err != nil {
			t.Errorf("WebSocket of an own page: %v", err)
		}
	})
	opt := Defaults()
	opt.Origins = []string{"app.example"}
	must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, "Origins", "app.example")
}
