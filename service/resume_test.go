package service

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A stream that a shutdown interrupts at any sample resumes on another server, with the events of
// an uninterrupted stream.
func TestResume(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	for _, cut := range []int{2, 8000, 9474, 40002, len(pcm) - 2} {
		for name, transport := range map[string]func(*instance, []byte) transcript{
			"http": shutDownUpload, "websocket": shutDownWebSocket,
		} {
			t.Run(fmt.Sprint(name, "/", cut/2), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					keep := inFolder(t, t.TempDir())
					got := transport(startService(t, toneModel(t, 0), keep), pcm[:cut])
					checkLine(t, "interrupted", got.err, "shutdown")
					all, at := got.events, int64(0)
					if got.err.Samples != nil { // no snapshot is written before the first sample
						at = *got.err.Samples
					}
					if at > int64(cut/2) || at < int64(cut/2)-80 {
						t.Errorf("%d samples were processed, expected %d up to a frame", at, cut/2)
					}

					in := startService(t, toneModel(t, 0), keep)
					path := fmt.Sprintf("/v1/streams/mine?format=s16le&events=%d", len(all))
					_, body := in.post(path, bytes.NewReader(pcm[2*at:]))
					got = parse(t, body)
					must.Equal(t, *got.start.Samples, at, "resumes at sample")
					got.events = append(all, got.events...)
					checkComplete(t, "before and after", got, pcm)
					status, _ := in.request("DELETE", "/v1/streams/mine", nil)
					must.Equal(t, status, 204, "status of DELETE of the ended stream")
					must.Equal(t, in.saved(), 0, "snapshots of a deleted stream")
				})
			})
		}
	}
}

// shutDownUpload shuts the service down in the middle of an upload and returns the response.
func shutDownUpload(in *instance, pcm []byte) transcript {
	body, result := in.upload("/v1/streams/mine?format=s16le")
	body.Write(pcm)
	synctest.Wait()
	must.Do(in.t, in.stop())
	defer body.Close()
	return parse(in.t, result())
}

func shutDownWebSocket(in *instance, pcm []byte) transcript {
	c := in.dial("/v1/streams/mine")
	c.sendAudio(pcm, 3200)
	synctest.Wait()
	must.Do(in.t, in.stop())
	got, status := c.rest()
	must.Equal(in.t, status, websocket.StatusServiceRestart, "closed with")
	return got
}

// A client that loses its connection receives the events that it has missed, and none twice.
func TestLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		pcm := encode(tonemodel.Words().Samples)
		const cut = 80000
		in.interrupt("mine", pcm[:cut])
		c := in.dial("/v1/streams/mine?events=1")
		c.sendAudio(pcm[cut:], 1600)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		must.Equal(t, got.start.Stream, "mine", "stream")
		must.Equal(t, *got.start.Samples, cut/2, "resumes at sample")
		must.Equal(t, fmt.Sprint(got.events), fmt.Sprint(expectedEvents(t, pcm)[1:]), "events")
	})
}

// A client that lacks more events than the stream remembers gets 410, and may resume without them.
func TestForgottenEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		pcm := encode(tonemodel.Words().Samples)
		in.interrupt("mine", bytes.Repeat(pcm, 3))
		status, body := in.post("/v1/streams/mine?format=s16le&events=0", nil)
		checkError(t, "events=0", status, body, 410, "events", "16")
		_, body = in.post("/v1/streams/mine?format=s16le", nil)
		got := parse(t, body)
		must.Equal(t, *got.start.Samples, int64(3*len(pcm)/2), "without events: resumes at sample")
		must.Equal(t, len(got.events), 0, "without events: events")
	})
}

// A client that has received more events than the stream has had gets 410: its stream is a new one,
// or was last saved earlier. No event is withheld.
func TestTooManyEvents(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	for name, change := range map[string]func(*Options){"store": inFolder(t, t.TempDir()), "no store": func(*Options) {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := startService(t, toneModel(t, 0), change)
				for _, path := range []string{"/v1/streams", "/v1/streams/mine"} {
					status, body := in.post(path+"?format=s16le&events=2", bytes.NewReader(pcm))
					checkError(t, path, status, body, 410, "events", "is new", "events=2")
				}
				_, response, err := in.websocket("/v1/streams/mine?events=2")
				if err == nil || response == nil || response.StatusCode != 410 {
					t.Errorf("WebSocket: %v, %+v; expected status 410", err, response)
				}
				_, body := in.post("/v1/streams/mine?format=s16le&events=0", bytes.NewReader(pcm))
				checkComplete(t, "events=0", parse(t, body), pcm)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		in.interrupt("mine", make([]byte, 1600))
		status, body := in.post("/v1/streams/mine?format=s16le&events=1", nil)
		checkError(t, "1 of no events", status, body, 410, "events", "had 0 events", "events=1")
		events := len(in.interrupt("other", pcm).received) - 1 // without the start line
		status, body = in.post(fmt.Sprintf("/v1/streams/other?format=s16le&events=%d", events+1), nil)
		checkError(t, "one too many", status, body, 410, "events", fmt.Sprint(events, " events"))
		_, body = in.post(fmt.Sprintf("/v1/streams/other?format=s16le&events=%d", events-2), nil)
		must.Equal(t, len(parse(t, body).events), 2, "events that were missed")
	})
}

// A server that is shutting down rejects new streams.
func TestShutdownRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		must.Do(t, in.server.Close())
		status, body := in.post("/v1/streams?format=s16le", nil)
		checkError(t, "stream", status, body, 503, "shutdown")
		if status, _ := in.request("GET", "/healthz", nil); status != 503 {
			t.Errorf("/healthz: status %d, expected 503", status)
		}
	})
}

// A shutdown that cannot save all streams is an error, and is counted.
func TestUnsavedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in := startService(t, toneModel(t, 0), inFolder(t, dir))
		for range 3 {
			c := in.dial("/v1/streams")
			c.sendAudio(make([]byte, 1600), 1600)
		}
		in.dial("/v1/streams").line() // without audio there is nothing to save
		synctest.Wait()
		must.Do(t, os.RemoveAll(dir))
		in.fails = true
		err := in.stop()
		must.Fail(t, err, "streams were not saved: 3 failed")
		must.Equal(t, in.server.Stats().SnapshotErrors, 3, "snapshots that could not be written")
	})
}

// The samples before an invalid one are processed, and the stream resumes after them.
func TestResumeAfterInvalidSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		audio := io.MultiReader(bytes.NewReader(make([]byte, 4*100)), strings.NewReader("\xff\xff\x7f\x7f"))
		_, body := in.post("/v1/streams/mine?format=f32le", audio)
		got := parse(t, body)
		checkLine(t, "invalid sample", got.err, "audio", "after sample 100:")
		if got.err.Samples == nil || *got.err.Samples != 100 {
			t.Errorf("error line %s, expected 100 samples", body)
		}
		must.Equal(t, in.position("mine"), 100, "resumes at sample")
	})
}
