package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// TestMain lets a test run this program as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("SERVICE_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// instance is a running service.
type instance struct {
	t       *testing.T
	server  *server
	address string
	stop    func() // as SIGTERM does; may be called twice
}

// tones returns a model that hears two tones; a bias other than 0 makes it another model.
func tones(t *testing.T, bias float32) *model.Model {
	t.Helper()
	m, err := tonemodel.New()
	if err != nil {
		t.Fatal(err)
	}
	m.Weights.DecoderBias[0] += bias
	return m
}

// start runs a service on a socket until the test ends.
func start(t *testing.T, m *model.Model, change func(*config)) *instance {
	t.Helper()
	return startOn(t, m, change, func(l net.Listener) net.Listener { return l })
}

func startOn(t *testing.T, m *model.Model, change func(*config), wrap func(net.Listener) net.Listener) *instance {
	t.Helper()
	cfg := defaults()
	cfg.Model = "tones"
	if change != nil {
		change(&cfg)
	}
	s, err := newServer(m, events.Defaults(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, wrap(l), 5*time.Second) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return &instance{t, s, l.Addr().String(), stop}
}

// encode returns samples as s16le.
func encode(samples []float32) (b []byte) {
	for _, v := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*(1<<15))))
	}
	return b
}

// expected returns the events that a detector finds in s16le audio.
func expected(t *testing.T, audio []byte) (all []report.Event) {
	t.Helper()
	f, err := events.New(tones(t, 0), events.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(audio)/2)
	for i := range x {
		x[i] = float32(int16(binary.LittleEndian.Uint16(audio[2*i:]))) / (1 << 15)
	}
	found, err := f.Recognize(x)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		all = append(all, report.NewEvent(e, func(n int64) int64 { return n }))
	}
	return all
}

// post sends a body and returns status and answer.
func (in *instance) post(path string, body io.Reader, header ...string) (int, string) {
	in.t.Helper()
	return in.request("POST", path, body, header...)
}

func (in *instance) request(method, path string, body io.Reader, header ...string) (int, string) {
	in.t.Helper()
	r, err := http.NewRequest(method, "http://"+in.address+path, body)
	if err != nil {
		in.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		in.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}

// transcript is what a session said.
type transcript struct {
	start  report.Start
	events []report.Event
	end    *report.End
	err    *report.Error
}

// read checks lines against the schema and takes them apart.
func read(t *testing.T, lines string) (s transcript) {
	t.Helper()
	all := reporttest.Lines(t, lines)
	for i, line := range all {
		var kind struct{ Type string }
		decode(t, line, &kind)
		if (i == 0) != (kind.Type == "start") || (i == len(all)-1) != (kind.Type == "end" || kind.Type == "error") {
			t.Errorf("line %d of %d is %s", i, len(all), line)
		}
		switch kind.Type {
		case "start":
			decode(t, line, &s.start)
		case "event":
			var e report.Event
			decode(t, line, &e)
			s.events = append(s.events, e)
		case "end":
			s.end = &report.End{}
			decode(t, line, s.end)
		case "error":
			s.err = &report.Error{}
			decode(t, line, s.err)
		}
	}
	return s
}

func decode(t *testing.T, line string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// refused checks an answer that is one error line.
func refused(t *testing.T, name string, status int, answer string, wantStatus int, why string, words ...string) {
	t.Helper()
	var e report.Error
	decode(t, reporttest.Lines(t, answer)[0], &e)
	if status != wantStatus || e.Code != why {
		t.Errorf("%s: status %d, %s; want %d, %q", name, status, answer, wantStatus, why)
	}
	for _, word := range words {
		if !strings.Contains(e.Error, word) {
			t.Errorf("%s: %q does not say %q", name, e.Error, word)
		}
	}
}

// metric returns a metric's value, by its name with labels.
func (in *instance) metric(name string) float64 {
	in.t.Helper()
	_, text := in.request("GET", "/metrics", nil)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if rest, is := strings.CutPrefix(lines.Text(), name+" "); is {
			var v float64
			fmt.Sscan(rest, &v)
			return v
		}
	}
	in.t.Errorf("there is no metric %s", name)
	return -1
}

// until waits for something that soon becomes true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %s", what)
		}
	}
}

// caller is a WebSocket client.
type caller struct {
	t     *testing.T
	conn  *websocket.Conn
	lines bytes.Buffer
}

func (in *instance) dial(path string) *caller {
	in.t.Helper()
	conn, _, err := websocket.Dial(in.t.Context(), "ws://"+in.address+path, nil)
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { conn.CloseNow() })
	return &caller{t: in.t, conn: conn}
}

// say sends audio in messages of some bytes.
func (c *caller) say(audio []byte, size int) {
	c.t.Helper()
	for len(audio) > 0 {
		n := min(size, len(audio))
		if err := c.conn.Write(c.t.Context(), websocket.MessageBinary, audio[:n]); err != nil {
			c.t.Fatal(err)
		}
		audio = audio[n:]
	}
}

func (c *caller) text(s string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(s)); err != nil {
		c.t.Fatal(err)
	}
}

// line waits for the next line.
func (c *caller) line() string {
	c.t.Helper()
	kind, b, err := c.conn.Read(c.t.Context())
	if err != nil || kind != websocket.MessageText {
		c.t.Fatalf("message %v, %v", kind, err)
	}
	c.lines.Write(append(b, '\n'))
	return string(b)
}

// rest reads to the connection's end and returns all lines, and how it ended.
func (c *caller) rest() (transcript, websocket.StatusCode) {
	c.t.Helper()
	for {
		_, b, err := c.conn.Read(c.t.Context())
		if err != nil {
			return read(c.t, c.lines.String()), websocket.CloseStatus(err)
		}
		c.lines.Write(append(b, '\n'))
	}
}

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// count returns how many lines say something.
func (j *journal) count(what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), what)
}
