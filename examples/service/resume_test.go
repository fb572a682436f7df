package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// A stream that is cut by the server's end, wherever, goes on with another server, and its events are those of an uncut one.
func TestResume(t *testing.T) {
	audio := encode(tonemodel.Words().Samples)
	want := fmt.Sprint(expected(t, audio))
	dir := t.TempDir()
	keep := func(c *config) { c.Dir = dir }
	for i, cut := range []int{2, 8000, 9474, 40002, len(audio) - 2} {
		for _, transport := range []string{"http", "websocket"} {
			id := fmt.Sprint(transport, i)
			in := start(t, tones(t, 0), keep)
			var got transcript
			if transport == "http" {
				r, w := io.Pipe()
				heard := make(chan string)
				go func() {
					_, answer := in.post("/v1/streams/"+id+"?format=s16le", r)
					heard <- answer
				}()
				w.Write(audio[:cut])
				until(t, "heard", func() bool {
					return in.server.streams.count() == 1 && in.server.metrics.samples.Load() >= int64(cut/2)-80
				})
				in.stop()
				got = read(t, <-heard)
				w.Close()
			} else {
				c := in.dial("/v1/streams/" + id)
				c.say(audio[:cut], 3200)
				until(t, "heard", func() bool { return in.server.metrics.samples.Load() == int64(cut/2) })
				stopped := make(chan bool)
				go func() {
					in.stop()
					close(stopped)
				}()
				var status websocket.StatusCode
				got, status = c.rest()
				<-stopped
				if status != websocket.StatusServiceRestart {
					t.Errorf("%s: closed with %v", id, status)
				}
			}
			if got.err == nil || got.err.Code != "shutdown" || got.start.Stream != id {
				t.Fatalf("%s: %+v", id, got)
			}
			all, at := got.events, int64(0)
			if got.err.Samples != nil { // nothing heard, nothing kept
				at = *got.err.Samples
			}
			if at > int64(cut/2) || at < int64(cut/2)-80 {
				t.Errorf("%s: heard %d samples of %d", id, at, cut/2)
			}

			in = start(t, tones(t, 0), keep)
			_, answer := in.post(fmt.Sprintf("/v1/streams/%s?format=s16le&events=%d", id, len(all)), bytes.NewReader(audio[2*at:]))
			got = read(t, answer)
			if *got.start.Samples != at {
				t.Errorf("%s: goes on from sample %d, was left at %d", id, *got.start.Samples, at)
			}
			if all = append(all, got.events...); fmt.Sprint(all) != want || got.end == nil || got.end.Samples != int64(len(audio)/2) {
				t.Errorf("%s, cut at %d: %v, %+v; want %s", id, cut/2, all, got.end, want)
			}
			in.stop()
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("streams have ended, and %d snapshots are left", len(files))
	}
}

// A client that loses its connection gets the events that it has missed, and no event twice.
func TestLostConnection(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir = t.TempDir() })
	audio := encode(tonemodel.Words().Samples)
	want := expected(t, audio)
	const cut = 80000
	c := in.dial("/v1/streams/mine")
	c.say(audio[:cut], 1600)
	until(t, "heard", func() bool { return in.server.metrics.samples.Load() == cut/2 })
	c.conn.CloseNow() // and nothing was read
	until(t, "kept", func() bool { return in.server.streams.count() == 0 })
	c = in.dial("/v1/streams/mine?events=1")
	var begin report.Start
	decode(t, c.line(), &begin)
	if begin.Stream != "mine" || *begin.Samples != cut/2 {
		t.Fatalf("start line %+v, want %d samples", begin, cut/2)
	}
	c.say(audio[cut:], 1600)
	c.text(`{"type":"end"}`)
	if got, _ := c.rest(); fmt.Sprint(got.events) != fmt.Sprint(want[1:]) || got.end == nil || got.end.Samples != int64(len(audio)/2) {
		t.Errorf("events %v, want %v", got.events, want[1:])
	}
}

// More events than are remembered are not made up: who lacks more is told so, and may go on without them.
func TestForgottenEvents(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir = t.TempDir() })
	audio := encode(tonemodel.Words().Samples)
	c := in.dial("/v1/streams/mine")
	for range 3 {
		c.say(audio, 16000)
	}
	until(t, "heard", func() bool { return in.server.metrics.samples.Load() == int64(3*len(audio)/2) })
	c.conn.CloseNow()
	until(t, "kept", func() bool { return in.server.streams.count() == 0 })
	status, answer := in.post("/v1/streams/mine?format=s16le&events=0", nil)
	refused(t, "events=0", status, answer, 410, "events", "16")
	_, answer = in.post("/v1/streams/mine?format=s16le", nil)
	if got := read(t, answer); got.end == nil || *got.start.Samples != int64(3*len(audio)/2) || len(got.events) != 0 {
		t.Errorf("without events: %s", answer)
	}
}

// abandon leaves a stream that has heard something.
func (in *instance) abandon(id string, header ...string) {
	in.t.Helper()
	r, w := io.Pipe()
	before := in.server.metrics.samples.Load()
	go func() {
		w.Write(make([]byte, 1600))
		until(in.t, "heard", func() bool { return in.server.metrics.samples.Load() == before+800 })
		w.CloseWithError(io.ErrClosedPipe)
	}()
	request, err := http.NewRequest("POST", "http://"+in.address+"/v1/streams/"+id+"?format=s16le", r)
	if err != nil {
		in.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	if answer, err := http.DefaultClient.Do(request); err == nil {
		io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	until(in.t, "kept", func() bool { return in.server.streams.count() == 0 })
}

// heardBefore returns where a stream goes on, and ends it.
func (in *instance) heardBefore(id string, header ...string) int64 {
	in.t.Helper()
	status, answer := in.post("/v1/streams/"+id+"?format=s16le", nil, header...)
	if status != 200 {
		in.t.Fatalf("%s: status %d, %s", id, status, answer)
	}
	return *read(in.t, answer).start.Samples
}

// A server that is going down takes nobody in, and says so.
func TestShutdownRefuses(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	in.server.streams.drain()
	status, answer := in.post("/v1/streams?format=s16le", nil)
	refused(t, "stream", status, answer, 503, "shutdown", "going down")
	if status, _ := in.request("GET", "/healthz", nil); status != 503 {
		t.Errorf("healthz: status %d", status)
	}
}

// The samples before a bad one are heard, and the stream goes on from there.
func TestHeardBeforeBad(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir = t.TempDir() })
	_, answer := in.post("/v1/streams/mine?format=f32le", strings.NewReader(strings.Repeat("\x00", 4*100)+"\xff\xff\x7f\x7f"))
	if got := read(t, answer); got.err == nil || got.err.Samples == nil || *got.err.Samples != 100 || !strings.Contains(got.err.Error, "after sample 100:") {
		t.Errorf("%s; want an error after sample 100", answer)
	}
	if n := in.heardBefore("mine"); n != 100 {
		t.Errorf("goes on from sample %d, want 100", n)
	}
}
