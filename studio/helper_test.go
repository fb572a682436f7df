package studio

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// client makes requests of a server, as the page does.
type client struct {
	*testing.T
	s    *Server
	host string
}

// serve returns a server in a temporary folder, with a tiny budget for training.
func serve(t *testing.T) *client {
	t.Helper()
	s := must.Get(New(Config{Dir: t.TempDir(), Workers: 2, Epochs: 2, Streams: 32}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	return &client{t, s, "localhost:8070"}
}

// request makes a request with the token and returns the answer.
func (c *client) request(method, path string, body any, headers ...string) *httptest.ResponseRecorder {
	c.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(b)
	case io.Reader:
		r = b
	default:
		r = bytes.NewReader(must.Get(json.Marshal(b))(c))
	}
	q := httptest.NewRequestWithContext(c.Context(), method, "/api/projects"+strings.ReplaceAll(path, " ", "%20"), r)
	q.Host = c.host
	q.Header.Set(tokenHeader, c.s.Token())
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, q)
	return w
}

// ok makes a request that must succeed, and decodes the answer.
func (c *client) ok(method, path string, body, answer any) {
	c.Helper()
	w := c.request(method, path, body)
	if w.Code >= 300 {
		c.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if answer != nil {
		must.Do(c, json.Unmarshal(w.Body.Bytes(), answer))
	}
}

// rejects makes a request that must fail with a status and with a text in its error.
func (c *client) rejects(status int, text, method, path string, body any, headers ...string) {
	c.Helper()
	w := c.request(method, path, body, headers...)
	var e struct{ Error string }
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != status || !strings.Contains(e.Error, text) {
		c.Errorf("%s %s: %d %s, expected %d with %q", method, path, w.Code, w.Body, status, text)
	}
}

// project makes a project with words.
func (c *client) project(name string, words ...string) {
	c.Helper()
	c.ok("POST", "", map[string]string{"name": name}, nil)
	for _, word := range words {
		c.ok("POST", "/"+name+"/words", map[string]string{"name": word}, nil)
	}
}

// upload adds a recording and returns the names of the clips.
func (c *client) upload(project, folder string, x []float32) []string {
	c.Helper()
	var answer struct{ Added, Skipped []string }
	c.ok("POST", "/"+project+"/sounds/"+folder, wav(c.T, x), &answer)
	return answer.Added
}

// listed returns the folders of a project by name.
func (c *client) listed(project string) map[string]folder {
	c.Helper()
	var answer struct{ Folders []folder }
	c.ok("GET", "/"+project, nil, &answer)
	list := map[string]folder{}
	for _, f := range answer.Folders {
		list[f.Name] = f
	}
	return list
}

// wait waits for a status of which good is true.
func (c *client) wait(project string, good func(status) bool) status {
	c.Helper()
	var st status
	for c.Context().Err() == nil {
		st = status{}
		if c.ok("GET", "/"+project+"/status", nil, &st); good(st) {
			return st
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.Fatal("the test ended")
	return st
}

// ended reports whether a training run has ended.
func ended(st status) bool {
	return st.Training.State == done || st.Training.State == failed || st.Training.State == cancelled
}

func wav(t testing.TB, x []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, audio.WriteWAV(&b, rate, x))
	return b.Bytes()
}

// tones returns n words of half a second, with pauses of 0.7 s: tones of a frequency in Hz that
// rise and fall. Every word is a little higher than the one before.
func tones(hz float64, n int) []float32 {
	var x []float32
	for i := range n {
		x = append(x, make([]float32, 7*rate/10)...)
		for k := range rate / 2 {
			time := float64(k) / rate
			x = append(x, float32(0.3*math.Sin(2*math.Pi*time)*math.Sin(2*math.Pi*hz*(1+0.02*float64(i))*time*(1+time))))
		}
	}
	return append(x, make([]float32, 7*rate/10)...)
}

// answerOf makes a request of the server itself, without the prefix and the token.
func (c *client) answerOf(method, target, host string, headers ...string) *http.Response {
	c.Helper()
	q := httptest.NewRequestWithContext(c.Context(), method, target, nil)
	q.Host = host
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, q)
	return w.Result()
}
