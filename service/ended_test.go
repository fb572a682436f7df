package service

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
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
		first := in.playMine(pcm)
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

// playMine sends a whole stream with the name mine, and returns its lines.
func (in *instance) playMine(pcm []byte) transcript {
	in.t.Helper()
	_, body := in.post("/v1/streams/mine?format=s16le", bytes.NewReader(pcm))
	all := parse(in.t, body)
	checkComplete(in.t, "mine", all, pcm)
	return all
}

// checkKept resumes the stream mine, which has ended, and compares its lines with the first ones.
func (in *instance) checkKept(after string, first transcript) {
	in.t.Helper()
	_, body := in.post("/v1/streams/mine?format=s16le&events=0", nil)
	got := parse(in.t, body)
	must.Equal(in.t, fmt.Sprint(got.events), fmt.Sprint(first.events), "%s: events afterwards", after)
	if got.end == nil || *got.end != *first.end {
		in.t.Errorf("%s: end line %+v, expected %+v", after, got.end, first.end)
	}
}

// A request with a malformed query is rejected. If the server dropped the parameter events, the
// request would start a new stream in place of one whose last lines the client has not confirmed.
func TestMalformedQuery(t *testing.T) {
	var cases counter
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		first := in.playMine(pcm)
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
			in.checkKept(query, first)
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

// A request that is rejected leaves the last lines of a stream that has ended, and the name.
func TestRejectedRequestKeepsEnd(t *testing.T) {
	var cases counter
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		first := in.playMine(pcm)
		for _, c := range []struct {
			method, query, body string
			status              int
			header              []string
		}{
			{"POST", "?format=s16le&rate=9999", "", 400, nil},
			{"POST", "", strings.Repeat("no WAV ", 10), 400, nil},
			{"POST", "?format=s16le", "audio", 415, []string{"Content-Encoding", "gzip"}},
			{"GET", "", "", 400, []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
			{"GET", "?rate=9999", "", 400, []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
		} {
			status, _ := in.request(c.method, "/v1/streams/mine"+c.query, strings.NewReader(c.body), c.header...)
			must.Equal(t, status, c.status, "%s %s: status", c.method, c.query)
			in.checkKept(c.method+" "+c.query, first)
			cases.add(t)
		}
	})
	must.Tally(t, promiseEnd, cases.tried, cases.held)
}

// A close frame that a client has sent before it can have received the last lines confirms nothing.
func TestEarlyCloseFrame(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = dir })
		conn := in.handshake("/v1/streams/mine")
		must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t) // and the start line
		go conn.Write(slices.Concat(frame(opBinary, make([]byte, 1600)), frame(opText, []byte(`{"type":"end"}`)), frame(0x88, []byte{0x03, 0xe8})))
		synctest.Wait() // the service waits until it can send the last line
		go io.Copy(io.Discard, conn)
		time.Sleep(time.Minute)
		conn.Close()
		synctest.Wait()
		must.Equal(t, len(filesIn(t, dir)), 1, "snapshots")
		_, body := in.post("/v1/streams/mine?events=0", nil)
		if got := parse(t, body); got.end == nil || got.end.Samples != 800 {
			t.Errorf("the last lines are %q, expected an end after 800 samples", body)
		}
		cases.add(t)
	})
	must.Tally(t, promiseEnd, cases.tried, cases.held)
}
