package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/service"
)

// startNATS starts a NATS server with JetStream on a free port, and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("nats-server")
	if err != nil {
		t.Skip("nats-server is not installed (Debian package nats-server): ", err)
	}
	cmd := exec.Command(program, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", t.TempDir())
	log := must.Get(cmd.StderrPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	address := ""
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, found, is := strings.Cut(lines.Text(), "client connections on "); is {
			address = found
		}
		if strings.Contains(lines.Text(), "Server is ready") {
			go func() { // the server waits when the pipe is full
				for lines.Scan() {
				}
			}()
			return "nats://" + address
		}
	}
	t.Fatal("nats-server ends before it is ready")
	return ""
}

// openTestBucket opens a bucket.
func openTestBucket(t *testing.T, url string) *bucket {
	t.Helper()
	return must.Get(openBucket(url, "", "s4d-streams", time.Hour))(t)
}

// A bucket has the revisions that service.Store describes, also for a stream that was deleted, and
// for another connection.
func TestBucket(t *testing.T) {
	url, ctx := startNATS(t), t.Context()
	b := openTestBucket(t, url)
	for range 2 {
		for _, stream := range []string{"mine", ".a..b-_9."} {
			_, revision, err := b.Get(ctx, stream)
			must.Do(t, err)
			must.Equal(t, revision, 0, "revision of a stream without a snapshot")
			first := must.Get(b.Put(ctx, stream, []byte("one"), 0))(t)
			must.Reject(b.Put(ctx, stream, []byte("late"), 0))(t, service.ErrRevision)
			other := openTestBucket(t, url)
			second := must.Get(other.Put(ctx, stream, []byte("two"), first))(t)
			must.Reject(b.Put(ctx, stream, []byte("late"), first))(t, service.ErrRevision)
			must.Fail(t, b.Delete(ctx, stream, first), service.ErrRevision)
			snapshot, revision, err := b.Get(ctx, stream)
			must.Do(t, err)
			must.Equal(t, string(snapshot), "two", "snapshot")
			must.Equal(t, revision, second, "revision")
			list := must.Get(b.List(ctx))(t)
			if len(list) != 1 || list[0].Stream != stream || list[0].Revision != second || time.Since(list[0].Saved).Abs() > time.Minute {
				t.Errorf("list %+v, expected %s with revision %d", list, stream, second)
			}
			must.Do(t, b.Delete(ctx, stream, second))
			must.Equal(t, len(must.Get(b.List(ctx))(t)), 0, "streams after DELETE")
			must.Reject(b.Put(ctx, stream, []byte("late"), second))(t, service.ErrRevision)
		}
	}
	must.Reject(openBucket("nats://127.0.0.1:1", "", "a", time.Hour))(t, "connect")
	must.Reject(openBucket(url, "", "a bucket", time.Hour))(t, `"a bucket"`)
}

// client sends a stream to one instance of the service after another, as README.md describes.
type client struct {
	t    *testing.T
	name string
	pcm  []byte
	half chan struct{} // closed when the second half of the audio may be sent

	got      []report.Event
	sessions int
	resumed  int64 // sample at which the last session began
	repeated int
	ended    bool
}

// connect resumes the stream, or starts it. If the service has forgotten events that the client has
// received, it resumes without their number.
func (c *client) connect(ctx context.Context, address string) (*websocket.Conn, error) {
	path := "ws://" + address + "/v1/streams/" + c.name
	conn, response, err := websocket.Dial(ctx, fmt.Sprintf("%s?format=s16le&events=%d", path, len(c.got)), nil)
	if err != nil && response != nil && response.StatusCode == 410 {
		conn, _, err = websocket.Dial(ctx, path+"?format=s16le", nil)
	}
	return conn, err
}

// play sends the audio to an instance and receives lines until the stream or the connection ends.
func (c *client) play(ctx context.Context, address string) {
	conn, err := c.connect(ctx, address)
	if err != nil {
		c.t.Errorf("%s: %v", c.name, err)
		return
	}
	c.sessions++
	var sending sync.WaitGroup
	defer sending.Wait()
	defer conn.CloseNow() // ends the sending
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var line struct {
			report.Event
			Samples int64
		}
		must.Do(c.t, json.Unmarshal(text, &line))
		switch n := len(c.got); {
		case line.Type == "start":
			c.resumed = line.Samples
			sending.Go(func() { c.send(ctx, conn) })
		case line.Type == "event" && (n == 0 || line.Onset > c.got[n-1].Onset):
			c.got = append(c.got, line.Event)
		case line.Type == "event":
			c.repeated++
		case line.Type == "end":
			c.ended = true
		default:
			c.t.Errorf("%s: %s", c.name, text)
		}
	}
}

// send sends the audio from the sample at which the session began.
func (c *client) send(ctx context.Context, conn *websocket.Conn) {
	for at := 2 * int(c.resumed); at < len(c.pcm); {
		if at >= len(c.pcm)/2 {
			select {
			case <-c.half:
			case <-ctx.Done():
				return
			}
		}
		n := min(1600, len(c.pcm)-at)
		if conn.Write(ctx, websocket.MessageBinary, c.pcm[at:at+n]) != nil {
			return
		}
		at += n
	}
	conn.Write(ctx, websocket.MessageText, []byte(`{"type":"end"}`))
}

// awaitSnapshots returns when the bucket has n streams with audio.
func awaitSnapshots(t *testing.T, url string, n int) {
	t.Helper()
	w := must.Get(openTestBucket(t, url).WatchAll(t.Context()))(t)
	defer w.Stop()
	for streams := map[string]bool{}; len(streams) < n; {
		e := <-w.Updates()
		if e == nil { // the following ones are new
			continue
		}
		var header struct{ Samples int64 }
		line, _, _ := strings.Cut(string(e.Value()), "\n")
		if e.Operation() == jetstream.KeyValuePut && json.Unmarshal([]byte(line), &header) == nil && header.Samples > 0 {
			streams[e.Key()] = true
		}
	}
}

// recordings returns audio and its events. No two recordings have the same events.
func recordings(t *testing.T) (pcm [][]byte, want [][]report.Event) {
	t.Helper()
	m := must.Get(tonemodel.New())(t)
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	words := tonemodel.Words()
	for i := range 10 {
		x := words.Samples[i*300 : words.Tones[4].Onset]
		var list []report.Event
		for _, e := range must.Get(r.Recognize(decode(encode(x))))(t) {
			list = append(list, report.NewEvent(e))
		}
		if len(list) < 3 || slices.ContainsFunc(want, func(other []report.Event) bool { return slices.Equal(other, list) }) {
			t.Fatalf("recording %d has the events %v", i, list)
		}
		pcm, want = append(pcm, encode(x)), append(want, list)
	}
	return pcm, want
}

// decode returns the samples of s16le audio.
func decode(pcm []byte) []float32 {
	x := make([]float32, len(pcm)/2)
	for i := range x {
		x[i] = float32(int16(uint16(pcm[2*i])|uint16(pcm[2*i+1])<<8)) / (1 << 15)
	}
	return x
}

// When one of two instances is killed, its clients resume their streams at the other one and have
// every event once. The clients of the other one notice nothing.
func TestKilledInstance(t *testing.T) {
	url, path := startNATS(t), saveToneModel(t)
	var instances [2]*process
	for i := range instances {
		instances[i] = startProcess(t, "-nats", url, "-model", path, "-save-every", "1ms")
		instances[i].drain()
	}
	pcm, want := recordings(t)
	const n = 200
	half := make(chan struct{})
	clients := make([]*client, n)
	var all sync.WaitGroup
	for i := range clients {
		c := &client{t: t, name: fmt.Sprint("stream.", i), pcm: pcm[i%len(pcm)], half: half}
		clients[i] = c
		all.Go(func() {
			c.play(t.Context(), instances[i%2].address)
			if i%2 == 0 {
				c.play(t.Context(), instances[1].address)
			}
		})
	}
	awaitSnapshots(t, url, n)
	must.Do(t, instances[0].cmd.Process.Kill())
	instances[0].cmd.Wait()
	close(half)
	all.Wait()
	repeated := 0
	for i, c := range clients {
		repeated += c.repeated
		if !c.ended || !slices.Equal(c.got, want[i%len(want)]) {
			t.Errorf("%s: ended %v, events %v, expected %v", c.name, c.ended, c.got, want[i%len(want)])
		}
		must.Equal(t, c.sessions, 2-i%2, "%s: sessions", c.name)
		must.Equal(t, c.resumed > 0, i%2 == 0, "%s: was resumed at a later sample", c.name)
	}
	t.Logf("%d events were repeated", repeated)
	instances[1].terminate()
	must.Do(t, instances[1].cmd.Wait())
}
