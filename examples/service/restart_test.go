package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// client sends a stream to one process of the service after another, as README.md describes.
type client struct {
	t      *testing.T
	name   string
	upload bool // by PUT; otherwise over a WebSocket
	recording
	random *rand.Rand
	// File operations of the service fail: it may reject the stream, or not save it again. The next
	// process then resumes it at the sample least or later.
	faulty bool
	least  int64

	got       []report.Event
	sent      int   // bytes, from the beginning of the stream
	announced int64 // position in the error line of the last session, or −1
	resumed   int   // sessions that began after sample 0
	repeated  int   // events that a service sent again after a kill
	ended     bool
}

// recording is audio and its events.
type recording struct {
	pcm  []byte
	want []report.Event
}

// recordings returns 48 recordings, no two of which have the same events.
func recordings(t *testing.T) []recording {
	m := must.Get(tonemodel.New())(t)
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	words := tonemodel.Words().Samples
	all := make([]recording, 48)
	different := map[string]bool{}
	for i := range all {
		c := &all[i]
		// More events than the service remembers.
		c.pcm = encode(slices.Concat(words[i%16*100:], words, words[:len(words)-i%3*8000]))
		x := make([]float32, len(c.pcm)/2)
		audio.DecodeS16LE(x, c.pcm)
		for _, e := range must.Get(r.Recognize(x))(t) {
			c.want = append(c.want, report.NewEvent(e, func(n int64) int64 { return n }))
		}
		if len(c.want) <= 16 {
			t.Fatalf("%d events, expected more", len(c.want))
		}
		different[fmt.Sprint(c.want)] = true
	}
	must.Equal(t, len(different), len(all), "recordings with different events")
	return all
}

// newClients returns the clients of n streams.
func newClients(t *testing.T, n int) []*client {
	all, streams := make([]*client, n), recordings(t)
	for i := range all {
		all[i] = &client{
			t: t, name: fmt.Sprint("stream", i), upload: i%2 == 1, recording: streams[i%len(streams)],
			random: rand.New(rand.NewPCG(uint64(i), 1)), announced: -1,
		}
	}
	return all
}

// session is a connection of a client.
type session struct {
	lines io.Reader // as text
	write func([]byte) error
	end   func() // sends the end of the stream
	close func()
}

// connect resumes the stream, or starts it. If the service has forgotten events that the client has
// received, it resumes without their number. It returns nil if the service has ended.
func (c *client) connect(address string) *session {
	for _, query := range []string{fmt.Sprintf("?format=s16le&events=%d", len(c.got)), "?format=s16le"} {
		s, status := connect(c.t.Context(), c.upload, address+"/v1/streams/"+c.name+query)
		switch {
		case s != nil:
			return s
		case status == 0 || status == http.StatusServiceUnavailable || c.faulty && status != http.StatusGone:
			return nil
		case status != http.StatusGone:
			c.t.Errorf("%s: status %d", c.name, status)
			return nil
		}
	}
	c.t.Errorf("%s: status 410 without events", c.name)
	return nil
}

// connect starts a session by PUT or over a WebSocket. Without one it returns the status, or 0.
func connect(ctx context.Context, upload bool, path string) (*session, int) {
	if upload {
		return put(ctx, path)
	}
	conn, response, err := websocket.Dial(ctx, "ws://"+path, nil)
	switch {
	case err != nil && response == nil:
		return nil, 0
	case err != nil:
		return nil, response.StatusCode
	}
	r, w := io.Pipe()
	go func() {
		for {
			_, line, err := conn.Read(ctx)
			if err != nil {
				w.CloseWithError(io.EOF)
				return
			}
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}()
	return &session{
		lines: r,
		write: func(b []byte) error { return conn.Write(ctx, websocket.MessageBinary, b) },
		end:   func() { conn.Write(ctx, websocket.MessageText, []byte(`{"type":"end"}`)) },
		close: func() {
			conn.CloseNow()
			r.Close()
		},
	}, http.StatusOK
}

func put(ctx context.Context, path string) (*session, int) {
	address, path, _ := strings.Cut(path, "/")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, 0
	}
	if end, ok := ctx.Deadline(); ok {
		conn.SetDeadline(end)
	}
	fmt.Fprintf(conn, "PUT /%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", path)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		conn.Close()
		if err != nil {
			return nil, 0
		}
		return nil, response.StatusCode
	}
	return &session{
		lines: response.Body,
		write: func(b []byte) error { _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(b), b); return err },
		end:   func() { io.WriteString(conn, "0\r\n\r\n") },
		close: func() { conn.Close() },
	}, http.StatusOK
}

// run sends audio up to a byte, and its end if that is the last one. It receives lines until the
// connection ends. It calls progress when the session has begun and when the audio was sent.
func (c *client) run(address string, upTo int, progress func()) {
	s := c.connect(address)
	if s == nil {
		return
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	defer s.close() // ends the sending
	lines := json.NewDecoder(s.lines)
	for {
		var line struct {
			report.Event
			Code    string `json:"why"`
			Samples *int64
		}
		if lines.Decode(&line) != nil {
			return
		}
		switch line.Type {
		case "start":
			at := *line.Samples
			if at < 0 || at > int64(c.sent/2) || c.announced >= 0 && at != c.announced {
				c.t.Errorf("%s: resumed at sample %d; %d were sent, %d announced", c.name, at, c.sent/2, c.announced)
				return
			}
			if at < c.least {
				c.t.Errorf("%s: resumed at sample %d, after it was resumed at %d", c.name, at, c.least)
			}
			if c.least = 0; c.faulty {
				c.least = at
			}
			if c.announced = -1; at > 0 {
				c.resumed++
			}
			progress()
			c.sent = max(c.sent, upTo)
			sending.Go(func() {
				c.send(s, int(2*at), upTo)
				progress()
			})
		case "event":
			if n := len(c.got); n == 0 || line.Onset > c.got[n-1].Onset {
				c.got = append(c.got, line.Event)
			} else if c.repeated++; !slices.Contains(c.got, line.Event) {
				c.t.Errorf("%s: event %+v after %+v", c.name, line.Event, c.got)
			}
		case "end":
			c.ended = true
			if *line.Samples != int64(len(c.pcm)/2) {
				c.t.Errorf("%s: ends after %d samples, expected %d", c.name, *line.Samples, len(c.pcm)/2)
			}
			return
		case "error":
			if line.Code != "shutdown" {
				c.t.Errorf("%s: error line %q", c.name, line.Code)
			}
			switch c.announced = 0; {
			case line.Samples != nil:
				c.announced = *line.Samples
			case c.faulty:
				c.announced = -1
			}
			return
		}
	}
}

// send sends audio in blocks of random sizes.
func (c *client) send(s *session, from, upTo int) {
	for at := from; at < upTo; {
		n := min(upTo-at, 2+2*c.random.IntN(1600))
		if s.write(c.pcm[at:at+n]) != nil {
			return
		}
		at += n
	}
	if upTo == len(c.pcm) {
		s.end()
	}
}

// overProcesses plays the clients' streams to processes of the service, one after another. It ends
// each but the last in the middle of the streams, at a random moment.
func overProcesses(t *testing.T, clients []*client, stops int, start func(i int) *process, stop func(i int, p *process)) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range stops + 1 {
		p := start(i)
		p.drain()
		live := 0
		events := make(chan bool, 2*len(clients))
		var all sync.WaitGroup
		for _, c := range clients {
			if c.ended {
				continue
			}
			live++
			upTo := min(len(c.pcm)-2, c.sent+2*c.random.IntN(len(c.pcm)/(stops+1)+1))
			if i >= stops-1 && (i == stops || c.random.IntN(2) == 0) {
				upTo = len(c.pcm)
			}
			all.Go(func() {
				left := 2
				progress := func() { events <- true; left-- }
				c.run(p.address, upTo, progress)
				for left > 0 { // the service has ended before
					progress()
				}
			})
		}
		if i < stops {
			for range random.IntN(2*live + 1) {
				<-events
			}
			stop(i, p)
		}
		all.Wait()
		if i == stops {
			p.terminate()
		}
		if err := p.cmd.Wait(); err != nil && (i == stops || p.cmd.ProcessState.ExitCode() >= 0) {
			t.Errorf("process %d ends with %v", i, err)
		}
	}
}

// tallyStreams tallies the streams that have ended with the right events.
func tallyStreams(t *testing.T, promise string, clients []*client, stops int) {
	held, resumed, repeated := 0, 0, 0
	for _, c := range clients {
		resumed, repeated = resumed+c.resumed, repeated+c.repeated
		if c.ended && slices.Equal(c.got, c.want) {
			held++
		} else {
			t.Errorf("%s: ended %v, events %v, expected %v", c.name, c.ended, c.got, c.want)
		}
	}
	t.Logf("%d streams over %d processes: resumed %d times, %d events repeated", len(clients), stops+1, resumed, repeated)
	if resumed == 0 {
		t.Error("no stream was resumed")
	}
	must.Tally(t, promise, len(clients), held)
}

// cases returns how many streams a test plays, and how many processes it ends.
func cases(longStreams, longStops int) (streams, stops int) {
	if must.RaceEnabled { // slower
		return 12, 3
	}
	return must.Cases(24, longStreams), must.Cases(4, longStops)
}

// Streams over restarts by SIGTERM continue where the service has announced, and have every event
// once. No process ends with an error.
func TestRestarts(t *testing.T) {
	dir, path := t.TempDir(), saveToneModel(t)
	n, stops := cases(480, 53)
	clients := newClients(t, n)
	overProcesses(t, clients, stops, func(i int) *process {
		every := []string{"30s", "1ns"}[i%2]
		return startProcess(t, "-snapshots", dir, "-model", path, "-max-per-client", "1000", "-grace", "10m", "-save-every", every)
	}, func(_ int, p *process) { p.terminate() })
	for _, c := range clients {
		must.Equal(t, c.repeated, 0, "%s: repeated events", c.name)
	}
	tallyStreams(t, "a stream has every event once over restarts of the service", clients, stops)
}

// A stream whose service is killed falls back to its last snapshot or its beginning. A client that
// sends the audio again from there, and takes each event once by its position, has every event.
func TestKills(t *testing.T) {
	dir, path := t.TempDir(), saveToneModel(t)
	n, stops := cases(192, 22)
	clients := newClients(t, n)
	overProcesses(t, clients, stops, func(i int) *process {
		every := "1ns" // a snapshot after each block, if the disk is not busy
		if i%2 == 1 {
			every = "0"
		}
		return startProcess(t, "-snapshots", dir, "-model", path, "-max-per-client", "1000", "-save-every", every)
	}, func(i int, p *process) {
		for polls := 0; i%2 == 0; polls++ { // the first block always gets a snapshot
			if polls > 20_000 {
				t.Error("no connected stream is saved")
				break
			}
			if _, text := p.get(p.metrics, "/metrics"); !strings.Contains(text, "\ns4d_snapshots 0\n") {
				break
			}
		}
		must.Do(t, p.cmd.Process.Kill())
	})
	tallyStreams(t, "a stream has every event once after kills of the service, if its client skips repeated events", clients, stops)
}
