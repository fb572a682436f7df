package studio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// FuzzRequest serves arbitrary bytes as a request of a page with the token, in a folder with one
// project. The response is never an error of the server. An error has a text. Nothing is written
// outside the folder, and the projects and words that a request makes have valid names.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ target, body string }{
		{"GET /api/projects", ""}, {"POST /api/projects", `{"name":"my words"}`}, {"POST /api/projects", `{"name":"../p"}`},
		{"GET /api/projects/p", ""}, {"GET /api/projects/p/status", ""},
		{"POST /api/projects/p/words", `{"name":"stöp"}`}, {"POST /api/projects/p/words", `{"Name":"UP"} {}`}, {"DELETE /api/projects/p/words/up", ""},
		{"POST /api/projects/p/sounds/up?take=loudest", string(wav(f, tones(500, 1)[:3*rate/2]))}, {"POST /api/projects/p/sounds/_background", "RIFF"},
		{"GET /api/projects/p/sounds/up/clip-001.wav", ""}, {"PUT /api/projects/p/sounds/up/%00.wav", "RIFF"}, {"DELETE /api/projects/p/sounds/..%2fup/a.wav", ""},
		{"POST /api/projects/p/training", `{"from":"commands"}`}, {"DELETE /api/projects/p/training", ""},
		{"GET /api/projects/p/model", ""}, {"GET /api/projects/p/live?format=s16le&rate=16000", ""}, {"GET /", ""},
	} {
		f.Add([]byte(fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", seed.target, len(seed.body), seed.body)))
	}
	f.Add([]byte("POST /api/projects HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"nam\r\n6\r\ne\":\"ä\"}\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		outer := t.TempDir()
		s := must.Get(New(Config{Dir: filepath.Join(outer, "projects")}))(t)
		defer func() { must.Do(t, s.Close()) }()
		must.Do(t, os.MkdirAll(filepath.Join(outer, "projects", "p", "up"), 0o777))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a live session ends
		r.Host = "localhost"
		r.Header.Del("Origin")
		r.Header.Set(tokenHeader, s.Token())
		w := httptest.NewRecorder()
		must.Allocates(t, 256*len(text)+16<<20, func() { s.ServeHTTP(w, r.WithContext(ctx)) }, "a request of %d bytes", len(text))
		if w.Code >= 500 {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
		if w.Code >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			var e struct{ Error string }
			must.Do(t, json.Unmarshal(w.Body.Bytes(), &e))
			if strings.TrimSpace(e.Error) == "" {
				t.Errorf("%s %s: %d %s: no text", r.Method, r.URL, w.Code, w.Body)
			}
		}
		must.Equal(t, len(must.Get(os.ReadDir(outer))(t)), 1, "%s %s: folders", r.Method, r.URL)
		for _, project := range must.Get(os.ReadDir(s.dir))(t) {
			if project.Name() == lockFile {
				continue
			}
			must.Do(t, checkName("project", project.Name()))
			for _, folder := range must.Get(os.ReadDir(filepath.Join(s.dir, project.Name())))(t) {
				must.Do(t, checkName("folder", strings.TrimLeft(folder.Name(), "_")))
			}
		}
	})
}
