package studio

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// Only a page of the server itself, with the token, reaches the interface.
func TestGuard(t *testing.T) {
	c := serve(t)
	token := c.s.Token()
	for name, q := range map[string]struct {
		host    string
		headers []string
		want    int
	}{
		"the page":                         {"localhost:8070", []string{tokenHeader, token}, 200},
		"IPv4":                             {"127.0.0.1:8070", []string{tokenHeader, token, "Origin", "http://127.0.0.1:8070"}, 200},
		"IPv6":                             {"[::1]:8070", []string{tokenHeader, token, "Origin", "http://[::1]:8070"}, 200},
		"without a token":                  {"localhost:8070", nil, 401},
		"a wrong token":                    {"localhost:8070", []string{tokenHeader, token[1:]}, 401},
		"a name that resolves to loopback": {"evil.example:8070", []string{tokenHeader, token}, 421},
		"a name like localhost":            {"localhost.evil.example", []string{tokenHeader, token}, 421},
		"another address":                  {"192.168.1.7:8070", []string{tokenHeader, token}, 421},
		"no host":                          {"", []string{tokenHeader, token}, 421},
		"a page of another site":           {"localhost:8070", []string{tokenHeader, token, "Origin", "https://evil.example"}, 403},
		"a page on another port":           {"localhost:8070", []string{tokenHeader, token, "Origin", "http://localhost:80"}, 403},
		"a file":                           {"localhost:8070", []string{tokenHeader, token, "Origin", "null"}, 403},
	} {
		must.Equal(t, c.answerOf("GET", "/api/projects", q.host, q.headers...).StatusCode, q.want, "%s", name)
	}
	must.Equal(t, c.answerOf("GET", "/api/projects?token="+token, "localhost").StatusCode, 200, "the token of a WebSocket")
	must.Equal(t, c.answerOf("GET", "/api/projects?token="+token[1:], "localhost").StatusCode, 401, "a wrong one")
	must.Equal(t, c.answerOf("GET", "/", "evil.example").StatusCode, 421, "the page under another name")
}

// The page's files need no token, load nothing from elsewhere, and have no scripts or styles in
// them.
func TestStatic(t *testing.T) {
	c := serve(t)
	size := 0
	must.Do(t, fs.WalkDir(static, "static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text := string(must.Get(static.ReadFile(path))(t))
		size += len(text)
		for _, foreign := range []string{"http://", "https://", " style=", "<style", "innerHTML", "eval("} {
			if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), foreign) {
				t.Errorf("%s contains %q", path, foreign)
			}
		}
		r := c.answerOf("GET", strings.TrimPrefix(path, "static"), "localhost")
		if filepath.Base(path) != "index.html" {
			must.Equal(t, r.StatusCode, 200, "%s", path)
		}
		return nil
	}))
	if size > 150_000 {
		t.Errorf("the files have %d bytes, expected at most 150000", size)
	}
	r := c.answerOf("GET", "/", "localhost")
	must.Equal(t, r.StatusCode, 200, "page")
	for header, want := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	} {
		must.Equal(t, r.Header.Get(header), want, "%s", header)
	}
	must.Equal(t, c.answerOf("GET", "/server.go", "localhost").StatusCode, 404, "a file that is not the page's")
	must.Equal(t, c.answerOf("GET", "/%2e%2e%2fserver.go", "localhost").StatusCode, 404, "a path out of the files")
}

// Names that cannot be folders, or that are reserved, are errors.
func TestNames(t *testing.T) {
	for _, name := range []string{"lumo", "hey computer", "Größe", "don't", "日本", "a_b-c", "नमस्ते", strings.Repeat("x", maxName)} {
		must.Do(t, checkName("word", name))
	}
	for _, name := range []string{
		"", " x", "x ", ".", "..", "../x", "a/b", `a\b`, "a:b", "_other", "none", "None", ".hidden", "a\x00", "a\n", "-x",
		"<b>", "x*", strings.Repeat("x", maxName+1), "\xff", "a.", "x|y",
	} {
		if err := checkName("word", name); err == nil {
			t.Errorf("the word %q is accepted", name)
		}
	}
}

// No request leaves the folder of its project, not even through links.
func TestPaths(t *testing.T) {
	c := serve(t)
	c.project("a", "up")
	c.upload("a", "up", tones(500, 1))
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.wav")
	must.Do(t, os.WriteFile(secret, wav(t, tones(500, 1)), 0o666))
	must.Do(t, os.Symlink(secret, filepath.Join(c.s.dir, "a", "up", "link.wav")))
	must.Do(t, os.Symlink(outside, filepath.Join(c.s.dir, "a", "away")))
	must.Do(t, os.Symlink(outside, filepath.Join(c.s.dir, "a", "_background")))
	must.Do(t, os.Symlink(outside, filepath.Join(c.s.dir, "b")))
	sound := wav(t, tones(500, 1))
	for _, path := range []string{
		"/a/sounds/up/link.wav", "/a/sounds/up/..%2f..%2fx.wav", "/a/sounds/..%2fb/secret.wav", "/a/sounds/away/secret.wav", "/a/sounds/%2e%2e/x.wav",
		"/a/sounds/up/.studio.wav", "/..%2fa", "/%2e%2e/status", "/b", "/b/sounds/up/clip-001.wav", "/a/sounds/up/clip-001.json",
	} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			var body any
			if method == "PUT" {
				body = sound
			}
			if w := c.request(method, path, body); w.Code < 400 {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	for folder, status := range map[string]int{"away": 403, "_background": 403, "..%2fb": 400, "missing": 404} {
		c.rejects(status, "", "POST", "/a/sounds/"+folder, sound)
	}
	if w := c.request("DELETE", "/a/words/away", nil); w.Code < 400 {
		t.Errorf("deleting a link: %d", w.Code)
	}
	must.Equal(t, len(must.Get(os.ReadDir(outside))(t)), 1, "files outside")
	must.Equal(t, string(must.Get(os.ReadFile(secret))(t)), string(sound), "file outside")
	must.Equal(t, c.listed("a")["up"].Count, 1, "clips: the link is not one")

	inside := func(name string) string { return filepath.Join(c.s.dir, "a", filepath.FromSlash(name)) }
	must.Do(t, os.Symlink(secret, inside("up/clip-002.wav")))
	must.Equal(t, strings.Join(c.upload("a", "up", tones(500, 1)), " "), "clip-003.wav", "clip after a link with a clip's name")
	must.Do(t, os.Symlink(outside, inside(stateFolder)))
	c.upload("a", "up", tones(500, 3))
	p := must.Get(c.s.open("a"))(t)
	m := must.Get(pretrained.Load("commands"))(t)
	must.Reject(0, p.save(m, &detector{}))(t, "escapes")
	must.Do(t, os.Remove(inside(stateFolder)))
	must.Do(t, os.Symlink(filepath.Join(outside, "m"), inside(modelFile)))
	must.Reject(0, p.save(m, &detector{}))(t, "escapes")
	must.Equal(t, len(must.Get(os.ReadDir(outside))(t)), 1, "files outside, after writing")
	must.Equal(t, string(must.Get(os.ReadFile(secret))(t)), string(sound), "file outside, after writing")
	c.rejects(403, `"model.safetensors" is outside`, "GET", "/a/model", nil)
	c.rejects(403, `"model.safetensors" is outside`, "POST", "/a/training", map[string]string{"from": fromDetector})
}
