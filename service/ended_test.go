package service

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A client that has lost the last lines of its stream receives them when it resumes the stream,
// whatever number of events it has received.
func TestLostEnd(t *testing.T) {
	var cases counter
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		keep := func(c *Options) { c.Snapshots = dir }
		in := startService(t, toneModel(t, 0), keep)
		_, body := in.post("/v1/streams/mine?format=s16le", bytes.NewReader(pcm))
		first := parse(t, body)
		checkComplete(t, "first", first, pcm)
		must.Do(t, in.stop())
		in = startService(t, toneModel(t, 0), keep)
		for n := range len(first.events) + 1 {
			for _, query := range []string{"", "&format=s16le"} { // the default is WAV, of which there is no header
				_, body := in.post(fmt.Sprintf("/v1/streams/mine?events=%d%s", n, query), nil)
				got := parse(t, body)
				must.Equal(t, *got.start.Samples, int64(len(pcm)/2), "samples that were processed")
				must.Equal(t, fmt.Sprint(got.events), fmt.Sprint(first.events[n:]), "events after %d", n)
				if got.end == nil || *got.end != *first.end {
					t.Errorf("end line %+v, expected %+v", got.end, first.end)
				}
				cases.add(t)
			}
		}
		status, body := in.post("/v1/streams/mine?format=s16le&events=100", nil)
		checkError(t, "too many events", status, body, 410, "events", "events=100")
		// Without events the name starts a new stream.
		_, body = in.post("/v1/streams/mine?format=s16le", bytes.NewReader(pcm))
		checkComplete(t, "second", parse(t, body), pcm)
	})
	must.Tally(t, promiseEnd, cases.tried, cases.held)
}

// A request with a malformed query is rejected. If the server dropped the parameter events, the
// request would start a new stream in place of one whose last lines the client has not confirmed.
func TestMalformedQuery(t *testing.T) {
	var cases counter
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		_, body := in.post("/v1/streams/mine?format=s16le", bytes.NewReader(pcm))
		first := parse(t, body)
		checkComplete(t, "first", first, pcm)
		for _, query := range []string{
			"events=%zz&format=s16le", "format=s16le&events=0%", "format=s16le;events=0", "format=s16le&events=0;",
			"format=s16le&events=0&events=1", "format=s16le&format=s16le",
		} {
			status, body := in.post("/v1/streams/mine?"+query, nil)
			checkError(t, query, status, body, 400, "request", "query", query)
			opt := &websocket.DialOptions{HTTPClient: in.client}
			conn, response, _ := websocket.Dial(t.Context(), "ws://localhost/v1/streams/mine?"+query, opt)
			if conn != nil {
				conn.CloseNow()
			}
			must.Equal(t, response.StatusCode, 400, "%s: status of a WebSocket", query)
			_, body = in.post("/v1/streams/mine?format=s16le&events=0", nil)
			got := parse(t, body)
			must.Equal(t, fmt.Sprint(got.events), fmt.Sprint(first.events), "%s: events afterwards", query)
			if got.end == nil || *got.end != *first.end {
				t.Errorf("%s: end line %+v, expected %+v", query, got.end, first.end)
			}
			cases.add(t)
		}
	})
	must.Tally(t, promiseEnd, cases.tried, cases.held)
}

// The end of a WebSocket confirms that the client has received the last lines. Without it the
// stream is kept.
func TestConfirmedEnd(t *testing.T) {
	var cases counter
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = dir })
		files := func(want int, when string) {
			t.Helper()
			synctest.Wait()
			must.Equal(t, len(filesIn(t, dir)), want, "snapshots %s", when)
			cases.add(t)
		}
		c := in.dial("/v1/streams/mine")
		c.sendAudio(pcm, 1600)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkComplete(t, "confirmed", got, pcm)
		files(0, "after a confirmed end")

		conn, _, err := websocket.Dial(t.Context(), "ws://localhost/v1/streams/mine", &websocket.DialOptions{HTTPClient: in.client})
		must.Do(t, err)
		must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"end"}`)))
		files(0, "of a stream without audio")
		conn.CloseNow()
		time.Sleep(time.Minute)

		silent := in.handshake("/v1/streams/mine") // it reads, but does not reply to the close frame
		go io.Copy(io.Discard, silent)
		for block := range slices.Chunk(pcm, 1600) {
			silent.Write(frame(opBinary, block))
		}
		silent.Write(frame(opText, []byte(`{"type":"end"}`)))
		time.Sleep(time.Minute)
		silent.Close()
		files(1, "after a lost end")
		c = in.dial("/v1/streams/mine?events=3")
		c.sendText(`{"type":"end"}`)
		again, status := c.rest()
		must.Equal(t, status, websocket.StatusNormalClosure, "closed with")
		must.Equal(t, fmt.Sprint(again.events), fmt.Sprint(got.events[3:]), "events after 3")
		files(0, "after the confirmation")
	})
	must.Tally(t, promiseEnd, cases.tried, cases.held)
}

// Streams that have ended are dropped before those that were interrupted.
func TestEndedStreamsAreDroppedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots, c.MaxPerClient = t.TempDir(), 2 })
		in.interrupt("mine")
		for _, id := range []string{"a", "b", "c"} {
			time.Sleep(time.Second)
			in.post("/v1/streams/"+id+"?format=s16le", bytes.NewReader(make([]byte, 1600)))
		}
		must.Equal(t, in.server.Stats().Snapshots, 2, "saved streams")
		must.Equal(t, in.position("mine"), 800, "resumes at sample")
	})
}
