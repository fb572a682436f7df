package service

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/memnet"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Only requests for this server's names are served, so that no page can reach it by DNS rebinding.
func TestHost(t *testing.T) {
	var cases counter
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
			cases.add(t)
		}
		status, body := in.post("/v1/streams?format=s16le", nil, "Host", "evil.example")
		checkError(t, "POST", status, body, 421, "host")
		cases.add(t)
		status, body = in.options("Host: evil.example")
		checkError(t, "OPTIONS *", status, body, 421, "host")
		cases.add(t)
	})
	must.Tally(t, promiseAccess, cases.tried, cases.held)
}

// Pages of other sites can neither write nor open a WebSocket. The response is JSON.
func TestOrigin(t *testing.T) {
	var cases counter
	upgrade := []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
	}
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
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
			cases.add(t)
		}
		opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: header("Origin", "http://localhost")}
		conn, _, err := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
		if err != nil {
			t.Fatalf("WebSocket of an own page: %v", err)
		}
		conn.CloseNow()
	})
	must.Tally(t, promiseAccess, cases.tried, cases.held)
}

// An invalid handshake gets an error line, like any other invalid request.
func TestInvalidHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		status, body := in.request("GET", "/v1/streams", nil, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13")
		checkError(t, "no key", status, body, 400, "request", "Sec-WebSocket-Key")
		status, body = in.request("GET", "/v1/streams", nil, "Upgrade", "websocket")
		checkError(t, "no Connection: Upgrade", status, body, 426, "request", "Connection")
	})
}

// Connections beyond the limit get 503, and a closed connection frees a place.
func TestMaxConnections(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Connections, c.Origins = 2, []string{"https://app.example"} })
		send := func(head string) (net.Conn, *http.Response) {
			t.Helper()
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			io.WriteString(conn, head+"\r\n\r\n")
			response := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
			return conn, response
		}
		request := func() (net.Conn, *http.Response) {
			t.Helper()
			return send("POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked")
		}
		var open []net.Conn
		for i := range 2 {
			conn, response := request()
			if open = append(open, conn); response.StatusCode != 200 {
				t.Errorf("connection %d: status %d", i, response.StatusCode)
			}
		}
		conn, response := request()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		checkError(t, "third connection", response.StatusCode, string(body), 503, "connections", "2 connections")
		if response.Header.Get("Retry-After") == "" {
			t.Error("no header Retry-After")
		}
		if !response.Close {
			t.Error("the rejected connection stays open")
		}
		conn.Close()
		conn, response = send("OPTIONS /v1/streams HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST")
		if response.StatusCode != 503 || !response.Close {
			t.Errorf("a preflight on a third connection has status %d, and its connection closes: %t", response.StatusCode, response.Close)
		}
		conn.Close()
		for range maxRejected {
			open = append(open, must.Get(in.listener.Dial(t.Context()))(t))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := in.listener.Dial(ctx); err == nil {
			t.Errorf("more than %d rejected connections are accepted", maxRejected)
		}
		cancel()
		for _, conn := range open[2:] {
			conn.Close()
		}
		open[0].Close()
		synctest.Wait()
		conn, response = request()
		if response.StatusCode != 200 {
			t.Errorf("after one was closed: status %d", response.StatusCode)
		}
		conn.Close()
		open[1].Close()
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// More connections than the process may open files are an error in the flag.
func TestMaxConnectionsOfProcess(t *testing.T) {
	opt := Defaults()
	opt.Connections = maxConnections() + 1
	must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, "Connections")
}

// A WebSocket client that does not reply to the close frame delays a shutdown only for as long as
// the service waits for that reply, 5 s, and for what the client still sends.
func TestSilentWebSocket(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		conn := in.handshake("/v1/streams")
		go io.Copy(io.Discard, conn)
		synctest.Wait()
		must.Equal(t, in.server.streams.count(), 1, "connected streams")
		began := time.Now()
		must.Do(t, in.stop())
		if took := time.Since(began); took > 5*time.Second+shutdownLinger {
			t.Errorf("the shutdown took %v, expected at most 6 s", took)
		}
		cases.add(t)
	})
	must.Tally(t, promiseStop, cases.tried, cases.held)
}

// Close of a Server saves the connected streams, informs their clients and rejects new ones.
func TestCloseServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		c := in.dial("/v1/streams/mine")
		c.sendAudio(make([]byte, 1600), 1600)
		synctest.Wait()
		must.Do(t, in.server.Close())
		got, status := c.rest()
		checkLine(t, "connected stream", got.err, "shutdown")
		must.Equal(t, got.err != nil && got.err.Samples != nil && *got.err.Samples == 800, true, "saved at sample 800")
		must.Equal(t, status, websocket.StatusServiceRestart, "closed with")
		code, body := in.post("/v1/streams?format=s16le", nil)
		checkError(t, "new stream", code, body, 503, "shutdown")
	})
}

// Close ends a Read, and a later deadline does not shorten the time for which the connection
// discards what the client sends.
func TestCloseEndsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		l := newLimitListener(listener, 1, 1)
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		client := must.Get(listener.Dial(t.Context()))(t)
		defer client.Close()
		conn := <-accepted
		read := make(chan error, 1)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		began := time.Now()
		must.Do(t, conn.Close())
		if err := <-read; err != net.ErrClosed {
			t.Errorf("Read returned %v, expected %v", err, net.ErrClosed)
		}
		must.Equal(t, time.Since(began), 0, "Read after Close took")
		conn.SetReadDeadline(time.Unix(1, 0))
		conn.SetDeadline(time.Unix(1, 0))
		_, err := conn.Read(make([]byte, 1))
		must.Equal(t, err, net.ErrClosed, "a later Read returned")
		synctest.Wait()
		if n, err := client.Write(make([]byte, 100)); err != nil {
			t.Errorf("the closed connection took %d of 100 bytes: %v", n, err)
		}
		l.wait(t.Context())
		must.Equal(t, time.Since(began), lingerTime, "the connection stays open for")
	})
}
