package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// toneModel returns a model that recognises two tones. A bias other than 0 makes it a different
// model.
func toneModel(t testing.TB, bias float32) *model.Model {
	t.Helper()
	m := must.Get(tonemodel.New())(t)
	m.Weights.DecoderBias[0] += bias
	return m
}

func newRecognizer(t testing.TB) *events.Recognizer {
	t.Helper()
	return must.Get(events.New(toneModel(t, 0), events.Defaults()))(t)
}

// instance is a running service and an HTTP client connected to it.
type instance struct {
	t        *testing.T
	server   *Server
	listener *memoryListener
	client   *http.Client
	address  string
	stop     func() error // shuts the service down as SIGTERM does; the second call does nothing
	fails    bool         // stop is expected to return an error
	counters expvar.Map
}

// startService serves in memory until the test ends. Tests call it in a synctest bubble.
func startService(t *testing.T, m *model.Model, changes ...func(*Options)) *instance {
	t.Helper()
	opt := Defaults()
	in := &instance{t: t, address: "localhost"}
	opt.Model, opt.Metrics = "tones", in.metrics()
	for _, change := range changes {
		change(&opt)
	}
	s := must.Get(New(m, events.DefaultsFor(m), opt))(t)
	l := listenInMemory()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	in.server, in.listener, in.client = s, l, l.client()
	in.stop = sync.OnceValue(func() error {
		cancel()
		in.client.CloseIdleConnections()
		err := <-done
		if f, is := opt.Store.(*Folder); is {
			must.Do(t, f.Close())
		}
		return err
	})
	t.Cleanup(func() {
		if err := in.stop(); (err != nil) != in.fails {
			t.Errorf("the service ended with error %v", err)
		}
	})
	return in
}

// inFolder saves the streams of a service in a folder.
func inFolder(t *testing.T, dir string) func(*Options) {
	return func(o *Options) { o.Store = must.Get(OpenFolder(dir))(t) }
}

// saved returns the number of snapshots.
func (in *instance) saved() int {
	in.t.Helper()
	return len(must.Get(in.server.opt.Store.List(in.t.Context()))(in.t))
}

// encode returns samples as s16le.
func encode(samples []float32) (b []byte) {
	for _, v := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*(1<<15))))
	}
	return b
}

// decodePCM returns the samples of s16le audio.
func decodePCM(pcm []byte) []float32 {
	x := make([]float32, len(pcm)/2)
	for i := range x {
		x[i] = float32(int16(binary.LittleEndian.Uint16(pcm[2*i:]))) / (1 << 15)
	}
	return x
}

// expectedEvents returns the events that a detector finds in s16le audio.
func expectedEvents(t *testing.T, pcm []byte) (all []report.Event) {
	t.Helper()
	found := must.Get(newRecognizer(t).Recognize(decodePCM(pcm)))(t)
	for _, e := range found {
		all = append(all, report.NewEvent(e))
	}
	return all
}

// post sends a body and returns the response's status and body.
func (in *instance) post(path string, body io.Reader, pairs ...string) (int, string) {
	in.t.Helper()
	return in.request("POST", path, body, pairs...)
}

func (in *instance) request(method, path string, body io.Reader, pairs ...string) (int, string) {
	in.t.Helper()
	r, err := http.NewRequest(method, "http://"+in.address+path, body)
	if err != nil {
		in.t.Fatal(err)
	}
	r.Header = headers(pairs...)
	r.Host = cmp.Or(r.Header.Get("Host"), in.address)
	response, err := in.client.Do(r)
	if err != nil {
		in.t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		in.t.Error(err)
	}
	return response.StatusCode, string(b)
}

// serves checks that a service has no streams left and serves a client.
func (in *instance) serves(pcm []byte) {
	in.t.Helper()
	synctest.Wait()
	must.Equal(in.t, in.server.Stats().Streams, 0, "streams that are left")
	status, body := in.post("/v1/streams?format=s16le", bytes.NewReader(pcm))
	if end := fmt.Sprintf(`"samples":%d`, len(pcm)/2); status != 200 || !strings.Contains(body, end) {
		in.t.Errorf("another client: status %d, %q, expected %s", status, body, end)
	}
}

// upload starts a POST whose body the test writes. result returns the response's body when it is
// complete.
func (in *instance) upload(path string) (body *io.PipeWriter, result func() string) {
	r, w := io.Pipe()
	response := make(chan string, 1)
	go func() {
		_, text := in.post(path, r)
		response <- text
	}()
	return w, func() string { return <-response }
}

// transcript is the parsed response of a session.
type transcript struct {
	start  report.Start
	events []report.Event
	end    *report.End
	err    *report.Error
}

// parse checks lines against the schema and their order, and decodes them.
func parse(t *testing.T, lines string) (s transcript) {
	t.Helper()
	all := reporttest.Lines(t, lines)
	for i, line := range all {
		var kind struct{ Type string }
		decode(t, line, &kind)
		if (i == 0) != (kind.Type == "start") {
			t.Errorf("line %d of %d is %s; expected start first, and only there", i, len(all), line)
		}
		if last := kind.Type == "end" || kind.Type == "error"; (i == len(all)-1) != last {
			t.Errorf("line %d of %d is %s; expected end or error last, and only there", i, len(all), line)
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

// checkError checks a response whose body is one error line.
func checkError(t *testing.T, name string, status int, body string, wantStatus int, why string, words ...string) {
	t.Helper()
	var e report.Error
	decode(t, reporttest.Lines(t, body)[0], &e)
	must.Equal(t, status, wantStatus, "%s: status of %s", name, body)
	checkLine(t, name, &e, why, words...)
}

// checkLine checks an error line.
func checkLine(t *testing.T, name string, e *report.Error, why string, words ...string) {
	t.Helper()
	if e == nil {
		t.Errorf("%s: no error line, expected why %q", name, why)
		return
	}
	must.Equal(t, e.Code, why, "%s: code of %s", name, e.Error)
	for _, word := range words {
		if !strings.Contains(e.Error, word) {
			t.Errorf("%s: %q does not contain %q", name, e.Error, word)
		}
	}
}

// metrics returns metrics that the instance counts.
func (in *instance) metrics() Metrics {
	return Metrics{
		Block: func(samples int, busy, _ time.Duration) {
			in.counters.Add("blocks", 1)
			in.counters.Add("samples", int64(samples))
			in.counters.Add("busy", int64(busy))
		},
		Event:  func(label string) { in.counters.Add("events "+label, 1) },
		Reject: func(code string) { in.counters.Add("rejected "+code, 1) },
	}
}

// count returns the value of a counter.
func (in *instance) count(name string) int64 {
	if n, is := in.counters.Get(name).(*expvar.Int); is {
		return n.Value()
	}
	return 0
}

// upgradeRequest is the handshake of a WebSocket client that a test writes itself.
const upgradeRequest = "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// interrupt starts a stream, sends audio and breaks the connection.
func (in *instance) interrupt(id string, pcm []byte) *wsClient {
	in.t.Helper()
	c := in.dial("/v1/streams/" + id)
	c.sendAudio(pcm, 1600)
	synctest.Wait()
	c.conn.CloseNow()
	synctest.Wait()
	return c
}

// position resumes a stream, ends it, and returns the sample at which it was resumed.
func (in *instance) position(id string) int64 {
	in.t.Helper()
	status, body := in.post("/v1/streams/"+id+"?format=s16le", nil)
	if status != http.StatusOK {
		in.t.Fatalf("%s: status %d, %s", id, status, body)
	}
	return *parse(in.t, body).start.Samples
}
