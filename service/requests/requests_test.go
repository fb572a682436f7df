package requests

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/service"
)

// start serves a model and returns the address.
func start(t *testing.T, m *model.Model, most int) string {
	t.Helper()
	opt := service.Defaults()
	opt.Model, opt.MaxStreams = "m", most
	opt.Requests = must.Get(Handlers(m, events.DefaultsFor(m), opt))(t)
	s := must.Get(service.New(m, events.DefaultsFor(m), opt))(t)
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.Close(); must.Do(t, s.Close()) })
	return server.URL
}

// post sends a body and returns the status and the lines of the response.
func post(t *testing.T, url, kind string, body io.Reader) (int, string) {
	t.Helper()
	r := must.Get(http.Post(url, kind, body))(t)
	defer r.Body.Close()
	text := must.Get(io.ReadAll(r.Body))(t)
	return r.StatusCode, string(text)
}

// A clip has the label of its sound, whether the network labels frames or clips.
func TestClassify(t *testing.T) {
	for name, make := range map[string]func() (*model.Model, error){"frames": tonemodel.New, "clips": tonemodel.NewClips} {
		url := start(t, must.Get(make())(t), 9) + "/v1/classify"
		for _, label := range []string{"low", "high"} {
			sound := &tonemodel.Sound{}
			sound.Tone(label, 0.5)
			var wav, form bytes.Buffer
			must.Do(t, audio.WriteWAV(&wav, tonemodel.SampleRate, sound.Samples))
			w := multipart.NewWriter(&form)
			must.Get(must.Get(w.CreateFormFile("file", "a.wav"))(t).Write(wav.Bytes()))(t)
			must.Do(t, w.Close())
			_, text := post(t, url, "audio/wav", bytes.NewReader(wav.Bytes()))
			must.Equal(t, strings.Contains(text, fmt.Sprintf(`{"type":"class","label":%q,"scores":{"high":`, label)), true, "%s, %s: %s", name, label, text)
			reporttest.Lines(t, text)
			_, same := post(t, url, w.FormDataContentType(), &form)
			must.Equal(t, same, text, "%s: a form", name)
			status, text := post(t, url+"?channel=1", "", bytes.NewReader(wav.Bytes()))
			must.Equal(t, status == 400 && strings.Contains(text, `"why":"input"`) && strings.Contains(text, "no channel 1"), true, "%s: %d %s", name, status, text)
		}
		status, text := post(t, url, "", strings.NewReader("a text"))
		must.Equal(t, status == 400 && strings.Contains(text, "unknown format") && !strings.Contains(text, "--"), true, "%s: %d %s", name, status, text)
	}
}

// persistence returns a model of rows whose forecast is the present value.
func persistence(t *testing.T) *model.Model {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 1, 2, 1
	c.Norm, c.Mixing, c.Pool = model.NormNone, model.MixingNone, model.PoolNone
	m := must.Get(model.New(c, 1))(t)
	m.Weights.Zero()
	m.Weights.EncoderWeight[0], m.Weights.EncoderWeight[3], m.Weights.DecoderWeight[0] = 1, 1, 1
	m.Meta = model.Meta{Series: &model.Series{Mode: model.SeriesForecast, Columns: []string{"x", "y"}, Targets: []string{"x"}, Horizon: 1}}
	return m
}

// Rows have the lines of the command, while they arrive. An invalid row is the last line, and how
// the table was read is a note.
func TestRows(t *testing.T) {
	url := start(t, persistence(t), 1)
	in, body := io.Pipe()
	response := make(chan *http.Response)
	go func() {
		r, err := http.Post(url+"/v1/rows?id=id", "text/csv", in)
		if err != nil {
			t.Error(err)
		}
		response <- r
	}()
	must.Get(io.WriteString(body, "id;y;x\na;1;2,5\n"))(t)
	r := <-response // the rest of the body has not been sent
	defer r.Body.Close()
	status, text := post(t, url+"/v1/rows", "", strings.NewReader("x,y\n1,2\n"))
	must.Equal(t, status == 503 && strings.Contains(text, `"why":"streams"`), true, "a second request: %d %s", status, text)
	must.Get(io.WriteString(body, "b;1;3\na;1;4\n"))(t)
	must.Do(t, body.Close())
	lines := strings.Split(strings.TrimSpace(string(must.Get(io.ReadAll(r.Body))(t))), "\n")
	must.Equal(t, len(lines), 6, "lines")
	for _, line := range lines {
		reporttest.Lines(t, line)
	}
	want := []string{`"columns":["x","y"]`, `"row":1,"id":"a","forecast":[2.5]`, `"row":1,"id":"b","forecast":[3]`, `"row":2,"id":"a","forecast":[4]`, `decimal comma`, `"rows":3,"series":2`}
	for i, line := range lines {
		must.Equal(t, strings.Contains(line, want[i]), true, "line %s", line)
	}
	_, text = post(t, url+"/v1/rows", "", strings.NewReader("x,y\n1,2\n3,high\n"))
	must.Equal(t, strings.Contains(text, `"forecast":[1]`) && strings.Contains(text, `body:3: column \"y\": \"high\" is not a number`), true, "%s", text)
	for query, want := range map[string]string{"?hop=0": "hop=", "?id=no": "no column"} {
		status, text = post(t, url+"/v1/rows"+query, "", strings.NewReader("x,y\n1,2\n"))
		must.Equal(t, status == 400 && strings.Contains(text, want), true, "%s: %d %s", query, status, text)
	}
	status, _ = post(t, url+"/v1/streams", "", nil)
	must.Equal(t, status, 404, "status of a stream of audio")
}
