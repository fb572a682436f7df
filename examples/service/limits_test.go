package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// Streams are bounded, in all and of each client; who leaves makes room.
func TestMaxStreams(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.MaxStreams, c.MaxPerClient, c.TokenHeader = 3, 2, "Token" })
	connect := func(token string) (*websocket.Conn, int) {
		conn, answer, _ := websocket.Dial(t.Context(), "ws://"+in.address+"/v1/streams", &websocket.DialOptions{HTTPHeader: http.Header{"Token": {token}}})
		return conn, answer.StatusCode
	}
	first, status := connect("a")
	for i, want := range []struct {
		token  string
		status int
	}{{"a", 101}, {"a", 429}, {"b", 101}, {"b", 503}, {"", 503}} {
		if status != 101 {
			t.Fatalf("the first: status %d", status)
		}
		conn, status := connect(want.token)
		if status != want.status {
			t.Errorf("stream %d, of client %q: status %d, want %d", i, want.token, status, want.status)
		}
		if conn != nil {
			defer conn.CloseNow()
		}
	}
	status, answer := in.post("/v1/streams?format=s16le", nil, "Token", "a")
	refused(t, "the client's third", status, answer, 429, "client", "2 streams")
	status, answer = in.post("/v1/streams?format=s16le", nil, "Token", "c")
	refused(t, "the fourth", status, answer, 503, "streams", "3 streams")
	if got := in.metric(`s4d_rejected_total{why="client"}`); got != 2 {
		t.Errorf("%v refused for their client, want 2", got)
	}
	if got := in.metric(`s4d_rejected_total{why="streams"}`); got != 3 {
		t.Errorf("%v refused for their number, want 3", got)
	}
	first.CloseNow()
	until(t, "room again", func() bool {
		status, _ := in.post("/v1/streams?format=s16le", nil, "Token", "a")
		return status == 200
	})
}

// A stream has one connection at a time.
func TestBusy(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir = t.TempDir() })
	in.dial("/v1/streams/mine").line()
	status, answer := in.post("/v1/streams/mine?format=s16le", nil)
	refused(t, "second connection", status, answer, 409, "busy", "mine")
	status, answer = in.request("DELETE", "/v1/streams/mine", nil)
	refused(t, "DELETE", status, answer, 409, "busy", "mine")
}

// A message over the limit ends the session; one at the limit does not.
func TestMaxMessage(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.MaxMessage = 5000 })
	c := in.dial("/v1/streams")
	c.say(make([]byte, 5000), 5000)
	c.say(make([]byte, 5002), 5002)
	got, status := c.rest()
	if got.err == nil || got.err.Code != "message" || status != websocket.StatusMessageTooBig {
		t.Errorf("%+v, closed with %v", got.err, status)
	}
}

// Who says nothing is disconnected, over both transports, but not who goes on slowly.
func TestIdle(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Idle = 400 * time.Millisecond })
	c := in.dial("/v1/streams")
	for range 4 {
		c.say(make([]byte, 160), 160)
		time.Sleep(150 * time.Millisecond)
	}
	got, status := c.rest()
	if got.err == nil || got.err.Code != "idle" || status != websocket.StatusPolicyViolation {
		t.Errorf("%+v, closed with %v", got.err, status)
	}
	if n := in.metric("s4d_samples_total"); n != 4*80 {
		t.Errorf("%v samples heard before, want %d", n, 4*80)
	}
	r, w := io.Pipe()
	defer w.Close()
	go w.Write(make([]byte, 1600))
	_, answer := in.post("/v1/streams?format=s16le", r)
	if got := read(t, answer); got.err == nil || got.err.Code != "idle" {
		t.Errorf("a silent body gives %s", answer)
	}
}

// narrow makes connections that take some bytes, and then no more, as when the other side reads nothing and the system's buffers are full.
type narrow struct{ net.Listener }

const narrowBytes = 4000

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	return &narrowConn{Conn: c, closed: make(chan bool)}, err
}

type narrowConn struct {
	net.Conn
	mu       sync.Mutex
	written  int
	deadline time.Time
	once     sync.Once
	closed   chan bool
}

func (c *narrowConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *narrowConn) SetDeadline(t time.Time) error {
	c.SetWriteDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

func (c *narrowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *narrowConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.written += len(b)
	full := c.written > narrowBytes
	c.mu.Unlock()
	if !full {
		return c.Conn.Write(b)
	}
	for tick := time.Tick(5 * time.Millisecond); ; {
		select {
		case <-c.closed:
			return 0, net.ErrClosed
		case <-tick:
			c.mu.Lock()
			over := !c.deadline.IsZero() && time.Now().After(c.deadline)
			c.mu.Unlock()
			if over {
				return 0, os.ErrDeadlineExceeded
			}
		}
	}
}

// A client that sends without end and reads nothing is no longer heard when its lines are not taken, and then is disconnected: nothing piles up.
func TestSlowReader(t *testing.T) {
	in := startOn(t, tones(t, 0), func(c *config) { c.Slow = 300 * time.Millisecond }, func(l net.Listener) net.Listener { return narrow{l} })
	words := encode(tonemodel.Words().Samples)
	for i, speak := range []func(c net.Conn) error{
		func(c net.Conn) error {
			fmt.Fprintf(c, "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n", in.address)
			for {
				if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(words), words); err != nil {
					return err
				}
			}
		},
		func(c net.Conn) error {
			fmt.Fprintf(c, "GET /v1/streams HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", in.address)
			for { // messages of 16000 bytes, masked with 0
				for b := words; len(b) >= 16000; b = b[16000:] {
					if _, err := fmt.Fprintf(c, "\x82\xfe\x3e\x80\x00\x00\x00\x00%s", b[:16000]); err != nil {
						return err
					}
				}
			}
		},
	} {
		before := in.server.metrics.samples.Load()
		conn, err := net.Dial("tcp", in.address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(60 * time.Second))
		if err := speak(conn); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("client %d was never disconnected: %v", i, err)
		}
		conn.Close()
		until(t, "without streams", func() bool { return in.server.streams.count() == 0 })
		w := httptest.NewRecorder() // a socket of this service is too narrow
		in.server.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if want := fmt.Sprintf(`s4d_rejected_total{why="slow"} %d`, i+1); !strings.Contains(w.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
		// It was heard until its lines, of some 90 bytes and one a second, had filled the buffers.
		if heard := in.server.metrics.samples.Load() - before; heard < 8*tonemodel.SampleRate || heard > 2*narrowBytes/90*tonemodel.SampleRate {
			t.Errorf("client %d was heard for %d s", i, heard/tonemodel.SampleRate)
		}
	}
}

// By default one client cannot take all streams.
func TestMaxPerClient(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	for range 32 {
		in.dial("/v1/streams").line()
	}
	status, answer := in.post("/v1/streams?format=s16le", nil)
	refused(t, "the 33rd", status, answer, 429, "client", "32 streams")
}

// Wrong limits are named.
func TestConfig(t *testing.T) {
	for want, change := range map[string]func(*config){
		"-max-streams 0":  func(c *config) { c.MaxStreams = 0 },
		"-idle -1":        func(c *config) { c.Idle = -1 },
		"-max-message -5": func(c *config) { c.MaxMessage = -5 },
	} {
		cfg := defaults()
		change(&cfg)
		if _, err := newServer(tones(t, 0), events.Defaults(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if _, err := newServer(tones(t, 0), events.Defaults().WithThreshold(2), defaults()); err == nil || !strings.Contains(err.Error(), "threshold") {
		t.Errorf("error %v, want one that names the threshold", err)
	}
}

// At another rate than the model's the model's steps are scaled, and both rates are told.
func TestRate(t *testing.T) {
	opt := events.Defaults()
	opt.SampleRate = 2 * tonemodel.SampleRate
	s, err := newServer(tones(t, 0), opt, defaults())
	if err != nil {
		t.Fatal(err)
	}
	if s.start.SampleRate != 2*tonemodel.SampleRate || s.start.ModelSampleRate != tonemodel.SampleRate || s.blockSize() != 1600 {
		t.Errorf("start line %+v, blocks of %d", s.start, s.blockSize())
	}
	var b bytes.Buffer
	fmt.Fprint(&b, s.otherRate(8000))
	if !strings.Contains(b.String(), "16000 Hz") {
		t.Errorf("%s names no 16000 Hz", b.String())
	}
}

// Who is refused, or told an error, hears so at once and is soon disconnected, whether it sends nothing more or goes on without end; and so is
// who sends a body where none is wanted.
func TestRefusedBodies(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	in.dial("/v1/streams/mine").line()
	var all sync.WaitGroup
	for _, c := range []struct {
		name, request string
		body          string
		status        int
		word          string
	}{
		{"parameter", "POST /v1/streams?foo=1", "", 400, `"request"`},
		{"no WAV", "PUT /v1/streams", strings.Repeat("no WAV", 8), 400, `"audio"`},
		{"NaN", "POST /v1/streams?format=f32le", strings.Repeat("\x00\x00\xc0\x7f", 80), 200, `"audio"`}, // a frame
		{"busy", "POST /v1/streams/mine?format=s16le", "", 409, `"busy"`},
		{"GET", "GET /v1/streams", "", 426, `"request"`},
		{"DELETE", "DELETE /v1/streams/nobody", "", 404, `"unknown"`},
		{"path", "POST /", "", 404, `"request"`},
		{"health", "GET /healthz", "", 200, ""},
	} {
		for _, endless := range []bool{false, true} {
			all.Go(func() {
				conn, err := net.Dial("tcp", in.address)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(8 * time.Second)) // before net/http has had enough at this pace, 256 KiB
				if endless {
					fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", c.request)
					go sendForever(conn, c.body)
				} else {
					fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n%s", c.request, c.body)
				}
				r := bufio.NewReader(conn)
				answer, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Errorf("%s, endless %v: no answer: %v", c.name, endless, err)
					return
				}
				b, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != c.status || !strings.Contains(string(b), c.word) {
					t.Errorf("%s, endless %v: status %d, %s, %v; want %d, %s", c.name, endless, answer.StatusCode, b, err, c.status, c.word)
				}
				if _, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s, endless %v: still connected after the answer: %v", c.name, endless, err)
				}
			})
		}
	}
	all.Wait()
}

// sendForever sends a body's chunks, some bytes and then silence at the pace of a microphone, until nobody takes it.
func sendForever(conn net.Conn, body string) {
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		if body == "" {
			body = strings.Repeat("\x00", 320)
		}
		if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(body), body); err != nil {
			return
		}
		body = ""
	}
}
