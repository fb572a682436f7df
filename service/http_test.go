package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// checkComplete checks a session that has processed all of the audio.
func checkComplete(t *testing.T, name string, got transcript, pcm []byte) {
	t.Helper()
	want := expectedEvents(t, pcm)
	if len(want) == 0 {
		t.Fatal("the audio has no events")
	}
	must.Equal(t, fmt.Sprint(got.events), fmt.Sprint(want), "%s: events", name)
	if got.end == nil {
		t.Fatalf("%s: no end line, but %+v", name, got.err)
	}
	must.Equal(t, got.end.Samples, int64(len(pcm)/2), "%s: samples", name)
	must.Equal(t, got.end.Seconds, float64(len(pcm)/2)/tonemodel.SampleRate, "%s: seconds", name)
}

// An upload returns its events in every format; WAV is the default.
func TestUpload(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	var file bytes.Buffer
	must.Do(t, audio.WriteWAV(&file, tonemodel.SampleRate, decodePCM(pcm)))
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for path, body := range map[string][]byte{
			"/v1/streams":                               file.Bytes(),
			"/v1/streams/mine":                          file.Bytes(),
			"/v1/streams?format=s16le":                  pcm,
			"/v1/streams/mine?format=s16le&rate=8000.0": pcm,
		} {
			for _, method := range []string{"POST", "PUT"} {
				status, text := in.request(method, path, bytes.NewReader(body))
				if status != http.StatusOK {
					t.Fatalf("%s: status %d: %s", path, status, text)
				}
				got := parse(t, text)
				checkComplete(t, path, got, pcm)
				if strings.Contains(path, "mine") != (got.start.Stream == "mine") || got.start.Stream == "" {
					t.Errorf("%s: stream %q", path, got.start.Stream)
				}
				must.Equal(t, *got.start.Samples, 0, "%s: starts at sample", path)
				must.Equal(t, got.start.Model, "tones", "%s: model", path)
				must.Equal(t, got.end.Block.Samples, 80, "%s: samples of a block", path)
			}
		}
		status, text := in.post("/v1/streams", bytes.NewReader(file.Bytes()[:file.Len()-1001]))
		if got := parse(t, text); status != http.StatusOK || got.end == nil || !got.end.Truncated {
			t.Errorf("truncated WAV: status %d, %s", status, text)
		}
	})
}

// The line of an event arrives while the body is still being sent.
func TestUploadStreamsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		s := tonemodel.Words()
		pcm := encode(s.Samples)
		r, w := io.Pipe()
		settled := 2 * int(s.Tones[0].End+tonemodel.SampleRate*3/10)
		go w.Write(pcm[:settled]) // and nothing more
		response := must.Get(in.client.Post("http://localhost/v1/streams?format=s16le", "", r))(t)
		defer response.Body.Close()
		if response.Header.Get("Stream-Id") == "" {
			t.Error("no header Stream-Id")
		}
		dec := json.NewDecoder(response.Body)
		var line report.Event
		for range 2 {
			must.Do(t, dec.Decode(&line))
		}
		must.Equal(t, line, expectedEvents(t, pcm)[0], "first event")
		go func() {
			w.Write(pcm[settled:])
			w.Close()
		}()
		rest := must.Get(io.ReadAll(io.MultiReader(dec.Buffered(), response.Body)))(t)
		must.Equal(t, strings.Count(string(rest), `"event"`), len(s.Tones)-1, "more events")
	})
}

// Messages of any length give the same events, each as soon as it is settled.
func TestWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		s := tonemodel.Words()
		pcm := encode(s.Samples)
		for _, size := range []int{2, 1601, 1 << 16} {
			c := in.dial("/v1/streams")
			c.sendAudio(pcm[:8000], size)
			c.sendAudio(pcm[8000:], max(size, 1000))
			c.sendText(`{"type":"end"}`)
			got, status := c.rest()
			checkComplete(t, fmt.Sprint("messages of ", size), got, pcm)
			must.Equal(t, status, websocket.StatusNormalClosure, "messages of %d: closed with", size)
		}
		c := in.dial("/v1/streams/mine?rate=8000")
		c.line()
		c.sendAudio(pcm[:2*(s.Tones[0].End+tonemodel.SampleRate*3/10)], 1600)
		var line report.Event
		decode(t, c.line(), &line)
		must.Equal(t, line, expectedEvents(t, pcm)[0], "first event")
	})
}

// An invalid request gets a status and one error line.
func TestInvalidRequests(t *testing.T) {
	file := func(rate int, change func([]byte) []byte) []byte {
		var b bytes.Buffer
		must.Do(t, audio.WriteWAV(&b, rate, make([]float32, 100)))
		return change(b.Bytes())
	}
	same := func(b []byte) []byte { return b }
	stereo := func(b []byte) []byte { b[22], b[32] = 2, 4; return b }
	const post, get, put, del = "POST", "GET", "PUT", "DELETE"
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for _, c := range []struct {
			name, method, path string
			body               []byte
			status             int
			why                string
			words              []string
		}{
			{"rate of a WAV", post, "/v1/streams", file(44100, same), 400, "audio", []string{"44100 Hz", "8000 Hz"}},
			{"unusual rate", post, "/v1/streams?format=s16le&rate=12345&resample=true", nil, 400, "audio", []string{"12345 Hz", "44100"}},
			{"resample", post, "/v1/streams?resample=maybe", nil, 400, "request", []string{"resample", "maybe"}},
			{"rate that is not a number", post, "/v1/streams?rate=NaN", nil, 400, "request", []string{"NaN"}},
			{"stereo", post, "/v1/streams", file(8000, stereo), 400, "audio", []string{"2 channels"}},
			{"no WAV", post, "/v1/streams", []byte("these are no samples at all"), 400, "audio", []string{"unknown format"}},
			{"empty", post, "/v1/streams", nil, 400, "audio", []string{"truncated"}},
			{"format", post, "/v1/streams?format=aiff", nil, 400, "request", []string{"aiff", "auto, wav, flac, mp3, ogg, s16le"}},

			{"name", post, "/v1/streams/a%20b", nil, 400, "request", []string{"letters"}},
			{"long name", post, "/v1/streams/" + strings.Repeat("a", 65), nil, 400, "request", []string{"64"}},
			{"events", post, "/v1/streams?events=-1", nil, 400, "request", []string{"events"}},
			{"parameter", post, "/v1/streams?loud=1", nil, 400, "request", []string{"loud"}},
			{"malformed escape", post, "/v1/streams?format=s16le&events=%zz", nil, 400, "request", []string{"query", "events=%zz", "&"}},
			{"semicolon", post, "/v1/streams?format=s16le;events=1", nil, 400, "request", []string{"query", "format=s16le;events=1", "semicolon"}},
			{"repeated parameter", post, "/v1/streams?format=s16le&format=evil", nil, 400, "request", []string{"s16le&evil", "once"}},
			{"no upgrade", get, "/v1/streams", nil, 426, "request", []string{"WebSocket"}},
			{"unknown stream", del, "/v1/streams/nobody", nil, 404, "unknown", []string{"nobody"}},
			{"path", put, "/v2/streams", nil, 404, "request", []string{"PUT /v2/streams"}},
			{"method", del, "/healthz", nil, 404, "request", []string{"DELETE /healthz"}},
		} {
			status, text := in.request(c.method, c.path, bytes.NewReader(c.body))
			checkError(t, c.name, status, text, c.status, c.why, c.words...)
		}
		for _, query := range []string{"format=aiff", "events=%zz", "rate=8000;events=1", "rate=8000&rate=8000"} {
			_, response, err := in.websocket("/v1/streams?" + query)
			if err == nil || response == nil || response.StatusCode != 400 {
				t.Errorf("WebSocket with %s: %v, %+v; expected status 400", query, err, response)
			}
		}
		must.Equal(t, in.server.streams.count(), 0, "streams that are left")
	})
}

// Invalid audio ends a stream with an error line.
func TestInvalidAudio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for _, c := range []struct {
			name, path, body, word string
		}{
			{"odd", "/v1/streams?format=s16le", "\x01\x00\x07", "1 bytes into a sample of 2"},
			{"NaN", "/v1/streams?format=f32le", "\x00\x00\xc0\x7f", "NaN"},
			{"too loud", "/v1/streams?format=f32le", "\x00\x00\x00\x00\xff\xff\x7f\x7f", "after sample 1: events: a sample is 3.4028235e+38"},
		} {
			status, text := in.post(c.path, strings.NewReader(c.body))
			must.Equal(t, status, 200, "%s: status", c.name)
			checkLine(t, c.name, parse(t, text).err, "audio", c.word)
		}
		for _, c := range []struct {
			name, why, word string
			send            func(c *wsClient)
		}{
			{"half a sample", "audio", "1 bytes into a sample of 2", func(c *wsClient) {
				c.sendAudio([]byte{1, 2, 3}, 3)
				c.sendText(`{"type":"end"}`)
			}},
			{"text", "request", "text message", func(c *wsClient) { c.sendText("hello") }},
			{"other type", "request", `"end"`, func(c *wsClient) { c.sendText(`{"type":"pause"}`) }},
		} {
			client := in.dial("/v1/streams")
			c.send(client)
			got, status := client.rest()
			checkLine(t, c.name, got.err, c.why, c.word)
			must.Equal(t, status, websocket.StatusPolicyViolation, "%s: closed with", c.name)
		}
		synctest.Wait()
		must.Equal(t, in.server.streams.count(), 0, "streams that are left")
	})
}

// The metrics count what happens.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		pcm := encode(tonemodel.Words().Samples)
		c := in.dial("/v1/streams")
		c.line()
		want := Stats{Streams: 1, StreamBytes: in.server.recognizer.StateBytes()}
		must.Equal(t, in.server.Stats(), want, "while a stream is connected")
		c.sendAudio(pcm, 1600)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkComplete(t, "messages", got, pcm)
		synctest.Wait()
		in.post("/v1/streams?format=aiff", nil)
		want.Streams = 0
		must.Equal(t, in.server.Stats(), want, "after its end")
		labels := map[string]int64{}
		for _, e := range got.events {
			labels[e.Label]++
		}
		for name, want := range map[string]int64{
			"samples":          int64(len(pcm) / 2),
			"events low":       labels["low"],
			"events high":      labels["high"],
			"rejected request": 1,
			"blocks":           int64(len(pcm)+159) / 160, // of at most 10 ms
			"busy":             0,                         // no time passes in a synctest bubble
		} {
			must.Equal(t, in.count(name), want, "%s", name)
		}
	})
}

// A model whose output is NaN ends the stream with an error.
func TestModelError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, float32(math.NaN())))
		status, body := in.post("/v1/streams?format=s16le", bytes.NewReader(encode(tonemodel.Words().Samples)))
		must.Equal(t, status, 200, "status")
		checkLine(t, "NaN", parse(t, body).err, "model", `output for label "low" is NaN`)
	})
}
