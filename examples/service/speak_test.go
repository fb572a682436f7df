package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// complete checks a session that heard all of the audio.
func complete(t *testing.T, name string, got transcript, pcm []byte) {
	t.Helper()
	if want := expected(t, pcm); fmt.Sprint(got.events) != fmt.Sprint(want) || len(want) == 0 {
		t.Errorf("%s: events %v, want %v", name, got.events, want)
	}
	if got.end == nil || got.end.Samples != int64(len(pcm)/2) || got.end.Seconds != float64(len(pcm)/2)/tonemodel.SampleRate || got.end.RealTimeFactor <= 0 {
		t.Errorf("%s: ends with %+v, %+v; want %d samples", name, got.end, got.err, len(pcm)/2)
	}
}

// A body gives its events, in every format; WAV by default.
func TestUpload(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	pcm := encode(tonemodel.Words().Samples)
	var file bytes.Buffer
	samples := make([]float32, len(pcm)/2)
	raw, _ := audio.NewRawReader(bytes.NewReader(pcm), audio.S16LE)
	raw.Read(samples)
	if err := audio.WriteWAV(&file, tonemodel.SampleRate, samples); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string][]byte{
		"/v1/streams":                               file.Bytes(),
		"/v1/streams/mine":                          file.Bytes(),
		"/v1/streams?format=s16le":                  pcm,
		"/v1/streams/mine?format=s16le&rate=8000":   pcm,
		"/v1/streams/mine?format=s16le&rate=8000.0": pcm,
	} {
		for _, method := range []string{"POST", "PUT"} {
			status, answer := in.request(method, path, bytes.NewReader(body))
			if status != http.StatusOK {
				t.Fatalf("%s: status %d: %s", path, status, answer)
			}
			got := read(t, answer)
			complete(t, path, got, pcm)
			if strings.Contains(path, "mine") && got.start.Stream != "mine" || got.start.Stream == "" || *got.start.Samples != 0 || got.start.Model != "tones" {
				t.Errorf("%s: start line %+v", path, got.start)
			}
			if got.end != nil && got.end.Block.Samples != 80 {
				t.Errorf("%s: block %+v", path, got.end.Block)
			}
		}
	}
	status, answer := in.post("/v1/streams", bytes.NewReader(file.Bytes()[:file.Len()-1001]))
	if got := read(t, answer); status != http.StatusOK || got.end == nil || !got.end.Truncated {
		t.Errorf("a WAV that ends early: status %d, %s", status, answer)
	}
}

// The answer to a chunked body comes while the body does: a word's event before the audio goes on.
func TestUploadAnswersAtOnce(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	s := tonemodel.Words()
	pcm := encode(s.Samples)
	r, w := io.Pipe()
	request, err := http.NewRequest("POST", "http://"+in.address+"/v1/streams?format=s16le", r)
	if err != nil {
		t.Fatal(err)
	}
	settled := 2 * int(s.Tones[0].End+tonemodel.SampleRate*3/10)
	go w.Write(pcm[:settled]) // and nothing more
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Stream-Id") == "" {
		t.Error("no Stream-Id")
	}
	dec := json.NewDecoder(answer.Body)
	var line report.Event
	for range 2 {
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
	}
	if want := expected(t, pcm)[0]; line != want {
		t.Errorf("%+v, want %+v", line, want)
	}
	w.Write(pcm[settled:])
	w.Close()
	rest, err := io.ReadAll(io.MultiReader(dec.Buffered(), answer.Body))
	if err != nil || strings.Count(string(rest), `"event"`) != len(s.Tones)-1 {
		t.Errorf("the rest is %s, %v", rest, err)
	}
}

// Messages of any even length give the same events; each as soon as it is settled.
func TestWebSocket(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	s := tonemodel.Words()
	pcm := encode(s.Samples)
	for _, size := range []int{2, 1600, 1602, 1 << 16} {
		c := in.dial("/v1/streams")
		if size == 2 {
			c.say(pcm[:8000], size)
			c.say(pcm[8000:], 8000)
		} else {
			c.say(pcm, size)
		}
		c.text(`{"type":"end"}`)
		got, status := c.rest()
		complete(t, fmt.Sprint("messages of ", size), got, pcm)
		if status != websocket.StatusNormalClosure {
			t.Errorf("messages of %d: closed with %v", size, status)
		}
	}
	c := in.dial("/v1/streams/mine?rate=8000")
	c.line()
	c.say(pcm[:2*(s.Tones[0].End+tonemodel.SampleRate*3/10)], 1600)
	var line report.Event
	decode(t, c.line(), &line)
	if want := expected(t, pcm)[0]; line != want {
		t.Errorf("%+v, want %+v", line, want)
	}
}

// Many at once hear what one hears.
func TestTogether(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	pcm := encode(tonemodel.Words().Samples)
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			if i%2 == 0 {
				_, answer := in.post("/v1/streams?format=s16le", bytes.NewReader(pcm))
				complete(t, "body", read(t, answer), pcm)
				return
			}
			c := in.dial("/v1/streams")
			c.say(pcm, 1600)
			c.text(`{"type":"end"}`)
			got, _ := c.rest()
			complete(t, "messages", got, pcm)
		})
	}
	all.Wait()
	if n := in.server.streams.count(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

// What is wrong is named, by a status before the first line and by an error line behind it.
func TestBadInput(t *testing.T) {
	in := start(t, tones(t, 0), nil)
	file := func(rate int, change func([]byte) []byte) []byte {
		var b bytes.Buffer
		if err := audio.WriteWAV(&b, rate, make([]float32, 100)); err != nil {
			t.Fatal(err)
		}
		return change(b.Bytes())
	}
	same := func(b []byte) []byte { return b }
	for _, c := range []struct {
		name, path string
		body       []byte
		status     int
		why        string
		words      []string
	}{
		{"rate", "/v1/streams?format=s16le&rate=16000", nil, 400, "request", []string{"16000 Hz", "8000 Hz"}},
		{"rate of a WAV", "/v1/streams", file(44100, same), 400, "audio", []string{"44100 Hz", "8000 Hz"}},
		{"rate that is none", "/v1/streams?rate=fast", nil, 400, "request", []string{"fast"}},
		{"stereo", "/v1/streams", file(8000, func(b []byte) []byte { b[22], b[32] = 2, 4; return b }), 400, "audio", []string{"2 channels"}},
		{"no WAV", "/v1/streams", []byte("these are no samples at all"), 400, "audio", []string{"not a RIFF/WAVE"}},
		{"half a header", "/v1/streams", file(8000, func(b []byte) []byte { return b[:30] }), 400, "audio", []string{"truncated"}},
		{"empty", "/v1/streams", nil, 400, "audio", []string{"truncated"}},
		{"format", "/v1/streams?format=mp3", nil, 400, "request", []string{"mp3", "s16le"}},
		{"name", "/v1/streams/a%20b", nil, 400, "request", []string{"letters"}},
		{"long name", "/v1/streams/" + strings.Repeat("a", 65), nil, 400, "request", []string{"64"}},
		{"events", "/v1/streams?events=-1", nil, 400, "request", []string{"events"}},
		{"parameter", "/v1/streams?loud=1", nil, 400, "request", []string{"loud"}},
	} {
		status, answer := in.post(c.path, bytes.NewReader(c.body))
		refused(t, c.name, status, answer, c.status, c.why, c.words...)
	}
	for _, c := range []struct {
		name, path string
		body       []byte
		word       string
	}{
		{"odd", "/v1/streams?format=s16le", []byte{1, 0, 7}, "1 bytes into a sample of 2"},
		{"NaN", "/v1/streams?format=f32le", []byte{0, 0, 0xc0, 0x7f}, "NaN"},
		{"too loud", "/v1/streams?format=f32le", []byte{0, 0, 0, 0, 0xff, 0xff, 0x7f, 0x7f}, "after sample 1: events: a sample is 3.4028235e+38"},
	} {
		status, answer := in.post(c.path, bytes.NewReader(c.body))
		got := read(t, answer)
		if status != 200 || got.err == nil || got.err.Code != "audio" || !strings.Contains(got.err.Error, c.word) {
			t.Errorf("%s: status %d, %s; want an error that says %q", c.name, status, answer, c.word)
		}
	}
	status, answer := in.request("GET", "/v1/streams", nil)
	refused(t, "GET", status, answer, 426, "request", "WebSocket")
	status, answer = in.request("DELETE", "/v1/streams/nobody", nil)
	refused(t, "DELETE", status, answer, 404, "unknown", "nobody")
	status, answer = in.request("PUT", "/v2/streams", nil)
	refused(t, "path", status, answer, 404, "request", "PUT /v2/streams")
	status, answer = in.request("GET", "/foo//bar", nil)
	refused(t, "unclean path", status, answer, 404, "request", "GET /foo//bar: Not Found")
	status, answer = in.request("DELETE", "/metrics", nil)
	refused(t, "method", status, answer, 405, "request", "DELETE /metrics")
	for name, path := range map[string]string{"format": "/v1/streams?format=wav", "rate": "/v1/streams?rate=44100"} {
		_, answer, err := websocket.Dial(t.Context(), "ws://"+in.address+path, nil)
		if err == nil || answer == nil || answer.StatusCode != 400 {
			t.Errorf("%s: %v, %+v", name, err, answer)
		}
	}
	for name, speak := range map[string]func(c *caller){
		"a sample has 2": func(c *caller) { c.say([]byte{1, 2, 3}, 3) },
		"text message":   func(c *caller) { c.text("hello") },
		`"end"`:          func(c *caller) { c.text(`{"type":"pause"}`) },
	} {
		c := in.dial("/v1/streams")
		speak(c)
		got, status := c.rest()
		if got.err == nil || !strings.Contains(got.err.Error, name) || status != websocket.StatusPolicyViolation {
			t.Errorf("%s: %+v, closed with %v", name, got.err, status)
		}
	}
	if n := in.server.streams.count(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

// Metrics have their names and count.
func TestMetrics(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir = t.TempDir() })
	pcm := encode(tonemodel.Words().Samples)
	c := in.dial("/v1/streams")
	c.line()
	if n := in.metric("s4d_streams"); n != 1 {
		t.Errorf("%v streams, want 1", n)
	}
	c.say(pcm, 1600)
	c.text(`{"type":"end"}`)
	got, _ := c.rest()
	complete(t, "messages", got, pcm)
	until(t, "without streams", func() bool { return in.metric("s4d_streams") == 0 })
	in.post("/v1/streams?format=mp3", nil)
	counts := map[string]float64{}
	for _, e := range got.events {
		counts[e.Label]++
	}
	for name, want := range map[string]float64{
		"s4d_samples_total":                 float64(len(pcm) / 2),
		`s4d_events_total{label="low"}`:     counts["low"],
		`s4d_events_total{label="high"}`:    counts["high"],
		`s4d_rejected_total{why="request"}`: 1,
		"s4d_stream_bytes":                  float64(in.server.recognizer.StateBytes()),
		"s4d_block_seconds_count":           math.Ceil(float64(len(pcm)) / 1600),
		"s4d_snapshots":                     0,
		"s4d_snapshot_bytes":                0,
	} {
		if got := in.metric(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	busy, factor := in.metric("s4d_busy_seconds_total"), in.metric("s4d_real_time_factor")
	if want := busy / (float64(len(pcm)/2) / tonemodel.SampleRate); busy <= 0 || math.Abs(factor/want-1) > 1e-6 {
		t.Errorf("real-time factor %v, want %v", factor, want)
	}
	if in.metric("s4d_processors") < 1 || in.metric("process_resident_memory_bytes") < 1e6 || in.metric("go_goroutines") < 1 {
		t.Error("the process has no processors, memory or goroutines")
	}
}

// A model whose output is NaN ends the stream with an error.
func TestModelFault(t *testing.T) {
	in := start(t, tones(t, float32(math.NaN())), nil)
	status, body := in.post("/v1/streams?format=s16le", bytes.NewReader(encode(tonemodel.Words().Samples)))
	got := read(t, body)
	if status != 200 || got.err == nil || got.err.Code != "model" || !strings.Contains(got.err.Error, `output for label "low" is NaN`) {
		t.Errorf("status %d, %s; expected an error of the model", status, body)
	}
}
