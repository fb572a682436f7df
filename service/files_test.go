package service

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// form is a form with files, as curl -F file=@NAME sends it, and its content type.
func form(t *testing.T, files ...[]byte) (body []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	must.Do(t, w.WriteField("comment", "RIFF"))
	for i, file := range files {
		part := must.Get(w.CreateFormFile("file", fmt.Sprint(i, ".wav")))(t)
		must.Get(part.Write(file))(t)
	}
	must.Do(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

// The service reads the formats that the command reads, which their first bytes state: in a body,
// in a form, and in the messages of a WebSocket of any size.
func TestFiles(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	var file bytes.Buffer
	must.Do(t, audio.WriteWAV(&file, tonemodel.SampleRate, decodePCM(pcm)))
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		body, kind := form(t, file.Bytes())
		status, text := in.post("/v1/streams", bytes.NewReader(body), "Content-Type", kind)
		must.Equal(t, status, http.StatusOK, "status of a form")
		checkComplete(t, "form", parse(t, text), pcm)
		body, kind = form(t)
		status, text = in.post("/v1/streams", bytes.NewReader(body), "Content-Type", kind)
		checkError(t, "a form without a file", status, text, 400, "request", "curl -F file=@NAME")

		for name, rate := range map[string]int{"mono.flac": 24000, "tag.mp3": 32000, "mono.ogg": 16000} {
			b := must.Get(os.ReadFile("../audio/testdata/" + name))(t)
			status, text := in.post("/v1/streams?resample=true&format="+strings.TrimPrefix(filepath.Ext(name), "."), bytes.NewReader(b))
			got := parse(t, text)
			if status != http.StatusOK || got.end == nil || got.start.SampleRate != float64(rate) {
				t.Errorf("%s: status %d: %s", name, status, text)
			}
		}
		for _, size := range []int{3, 1000, 1 << 16} {
			c := in.dial("/v1/streams?format=auto")
			c.sendAudio(file.Bytes()[:3000], size)
			c.sendAudio(file.Bytes()[3000:], 1<<14)
			c.sendText(`{"type":"end"}`)
			got, closed := c.rest()
			checkComplete(t, "file in messages", got, pcm)
			must.Equal(t, got.start.Format, "wav", "format")
			must.Equal(t, closed, websocket.StatusNormalClosure, "close status")
		}
		for name, c := range map[string][2]string{
			"samples without a format": {"auto", string(pcm[8000:24000])}, "WebM": {"auto", "\x1a\x45\xdf\xa3" + string(pcm[:4000])},
			"declared samples that are WAV": {"s16le", string(file.Bytes()[:4000])}, "nothing": {"auto", ""}, "a header": {"auto", string(file.Bytes()[:30])},
		} {
			ws := in.dial("/v1/streams?format=" + c[0])
			ws.conn.Write(t.Context(), websocket.MessageBinary, []byte(c[1]))
			ws.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"end"}`)) // which may be closed
			last := ""
			for line := range ws.received {
				last = line
			}
			if !strings.HasPrefix(last, `{"type":"error","why":"audio","error":"`) {
				t.Errorf("%s: the last line is %s", name, last)
			}
			must.Equal(t, ws.status, websocket.StatusPolicyViolation, "%s: close status", name)
		}
		_, text = in.post("/v1/streams?format=f32le", strings.NewReader("\x1a\x45\xdf\xa3 and more bytes"))
		checkLine(t, "a file that is declared as samples", parse(t, text).err, "audio", "begins as WebM or Matroska does", "omit format")
		synctest.Wait()
		must.Equal(t, in.server.streams.count(), 0, "streams that are left")
	})
}

// Recordings of browsers are decoded by ffmpeg: in a body, and in messages as they arrive.
func TestFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed")
	}
	m := toneModel(t, 0)
	opt := Defaults()
	opt.Model, opt.FFmpeg = "tones", true
	s := must.Get(New(m, events.DefaultsFor(m), opt))(t)
	server := httptest.NewServer(s)
	defer server.Close()
	file := must.Get(os.ReadFile("../audio/testdata/ffmpeg/rec.webm"))(t)
	post := func(body []byte) string {
		response := must.Get(http.Post(server.URL+"/v1/streams?resample=true", "", bytes.NewReader(body)))(t)
		defer response.Body.Close()
		var b bytes.Buffer
		must.Get(b.ReadFrom(response.Body))(t)
		return b.String()
	}
	want := parse(t, post(file))
	if want.end == nil || want.start.Format != "ffmpeg" || want.end.Seconds < 0.6 || want.end.Seconds > 0.7 {
		t.Errorf("%+v, %+v", want.start, want.end)
	}
	conn, _, err := websocket.Dial(t.Context(), server.URL+"/v1/streams?resample=true", nil)
	must.Do(t, err)
	for at := 0; at < len(file); at += 1000 {
		must.Do(t, conn.Write(t.Context(), websocket.MessageBinary, file[at:min(at+1000, len(file))]))
	}
	must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"end"}`)))
	var lines []string
	for {
		_, b, err := conn.Read(t.Context())
		if err != nil {
			break
		}
		lines = append(lines, string(b))
	}
	got := parse(t, strings.Join(lines, "\n"))
	if got.end == nil || got.end.Samples != want.end.Samples {
		t.Errorf("over a WebSocket: %q, expected %d samples", lines, want.end.Samples)
	}
	// A client that leaves ends its process.
	conn, _, err = websocket.Dial(t.Context(), server.URL+"/v1/streams?resample=true", nil)
	must.Do(t, err)
	must.Do(t, conn.Write(t.Context(), websocket.MessageBinary, file[:1000]))
	conn.CloseNow()
	for began := time.Now(); s.Stats().Streams > 0 && time.Since(began) < 10*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	must.Equal(t, s.Stats().Streams, 0, "streams that are left")
}
