package studio

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// Only one server at a time uses a folder.
func TestOneServer(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	first := must.Get(New(cfg))(t)
	must.Reject(New(cfg))(t, "another process uses "+cfg.Dir)
	must.Do(t, first.Close())
	must.Do(t, must.Get(New(cfg))(t).Close())
}

// A recording of several words becomes a clip per word, trimmed; background becomes pieces. The
// project is a folder that the task audio reads.
func TestRecord(t *testing.T) {
	c := serve(t)
	c.project("my words", "up", "down")
	must.Equal(t, len(c.upload("my words", "up", tones(500, 4))), 4, "clips of up")
	must.Equal(t, len(c.upload("my words", "down", tones(900, 3))), 3, "clips of down")
	hum := slices.Repeat([]float32{0.01, -0.01}, 6*rate)
	must.Equal(t, len(c.upload("my words", backgroundFolder, hum)), 2, "pieces of 12 s of background")
	list := c.listed("my words")
	must.Equal(t, list["up"].Kind, word, "kind of a word")
	must.Equal(t, list["_background"].Kind, background, "kind of background")
	must.Equal(t, list["_background"].Seconds, 12, "seconds of background")
	for _, clip := range list["up"].Clips {
		if clip.Seconds < 0.5 || clip.Seconds > 1.1 || len(clip.Peaks) != bins || clip.Clipped {
			t.Errorf("clip %+v: expected half a second with margins", clip)
		}
	}
	r := must.Get(recordings.Folder(t.Context(), filepath.Join(c.s.dir, "my words"), recordings.Options{}))(t)
	must.Equal(t, strings.Join(r.Train.Labels, " "), "down up", "labels for the task audio")
	must.Equal(t, len(r.Train.Words)+len(r.Val.Words), 7, "clips for the task audio")

	var names struct{ Projects []string }
	c.ok("GET", "", nil, &names)
	must.Equal(t, strings.Join(names.Projects, " "), "my words", "projects")
	w := c.request("GET", "/my%20words/sounds/up/clip-002.wav", nil)
	must.Equal(t, w.Header().Get("Content-Type"), "audio/wav", "type")
	must.Equal(t, w.Body.String(), string(must.Get(os.ReadFile(filepath.Join(c.s.dir, "my words/up/clip-002.wav")))(t)), "clip")

	before, quiet := list["up"].Clips[1], tones(500, 1)
	for i := range quiet {
		quiet[i] /= 4
	}
	c.ok("PUT", "/my%20words/sounds/up/clip-002.wav", wav(t, append(quiet, tones(2000, 1)...)), nil)
	c.ok("DELETE", "/my%20words/sounds/up/clip-001.wav", nil, nil)
	must.Equal(t, strings.Join(c.upload("my words", "up", tones(500, 1)), " "), "clip-005.wav", "name after a deletion")
	after := c.listed("my words")["up"].Clips
	must.Equal(t, len(after), 4, "clips after a deletion and an addition")
	must.Equal(t, after[0].Name, before.Name, "name of a clip recorded again")
	again := must.Get(audio.ReadMono(filepath.Join(c.s.dir, "my words/up/clip-002.wav"), rate))(t)
	crossings := 0
	for i := range again[1:] {
		if again[i] < 0 && again[i+1] >= 0 {
			crossings++
		}
	}
	if crossings < 1000 { // the tone at 500 Hz and above has a few hundred
		t.Errorf("clip recorded again: %d periods, expected those of the louder sound", crossings)
	}
	var answer struct{ Added []string }
	c.ok("POST", "/my%20words/sounds/up?take=loudest", wav(t, tones(500, 3)), &answer)
	must.Equal(t, len(answer.Added), 1, "clips of the loudest sound")
	c.ok("DELETE", "/my%20words/words/down", nil, nil)
	if _, err := os.Stat(filepath.Join(c.s.dir, "my words/down")); !os.IsNotExist(err) {
		t.Errorf("the folder of a deleted word: %v", err)
	}
}

// Bad uploads are errors that say what is wrong. Nothing is kept of them.
func TestBadUploads(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	good := wav(t, tones(500, 1))
	silence := make([]float32, rate)
	long := slices.Repeat([]float32{0.3, -0.3, 0.2}, 2*rate)
	flac := must.Get(os.ReadFile("../audio/testdata/" + anyFLAC(t)))(t)
	for name, q := range map[string]struct {
		body   any
		status int
		text   string
	}{
		"text":              {[]byte("no recording"), 400, "the recording cannot be read"},
		"nothing":           {[]byte{}, 400, "the recording cannot be read"},
		"a truncated file":  {good[:len(good)/2], 400, "truncated"},
		"a truncated FLAC":  {flac[:len(flac)/2], 400, "the recording cannot be read"},
		"silence":           {wav(t, silence), 400, "the recording is silent"},
		"no pause":          {wav(t, long), 400, "no word was found: a sound of 6.0 s"},
		"a recording, long": {wav(t, make([]float32, (maxWordUpload+1)*rate)), 413, "longer than 120 seconds"},
		"too many bytes":    {&endless{head: good[:44], n: maxUpload + 100}, 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &client{t, c.s, c.host}
			c.rejects(q.status, q.text, "POST", "/p/sounds/up", q.body)
			must.Equal(t, c.listed("p")["up"].Count, 0, "clips")
		})
	}
	must.Equal(t, len(must.Get(os.ReadDir(filepath.Join(c.s.dir, "p/up")))(t)), 0, "files")
	c.upload("p", "up", tones(500, 1))
	before := must.Get(os.ReadFile(filepath.Join(c.s.dir, "p/up/clip-001.wav")))(t)
	c.rejects(400, "the recording cannot be read", "PUT", "/p/sounds/up/clip-001.wav", []byte("no recording"))
	if after := must.Get(os.ReadFile(filepath.Join(c.s.dir, "p/up/clip-001.wav")))(t); !bytes.Equal(before, after) {
		t.Error("a failed recording changed the clip")
	}
}

// endless is a WAV file whose header promises as many bytes as there can be, of noise that is loud.
type endless struct {
	head []byte
	n    int64
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.head) > 0 {
		n := copy(p, e.head)
		for i := 4; i < 8; i++ { // sizes: unknown
			p[i], p[i+36] = 0xff, 0xff
		}
		e.head = nil
		return n, nil
	}
	for i := range p {
		p[i] = byte(i)
	}
	return len(p), nil
}

// anyFLAC is the name of a FLAC file among the tests of package audio.
func anyFLAC(t *testing.T) string {
	t.Helper()
	list := must.Get(filepath.Glob("../audio/testdata/*.flac"))(t)
	if len(list) == 0 {
		t.Fatal("no FLAC file")
	}
	return filepath.Base(list[0])
}

// Requests for what does not exist, exists already or is malformed are errors.
func TestBadRequests(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	name := func(n string) map[string]string { return map[string]string{"name": n} }
	c.rejects(409, `project "P" exists`, "POST", "", name("P"))
	c.rejects(409, `word "UP" exists`, "POST", "/p/words", name("UP"))
	c.rejects(400, "expected letters", "POST", "", name("../x"))
	c.rejects(400, "unknown field", "POST", "", []byte(`{"nom":"x"}`))
	c.rejects(404, `"q" does not exist`, "GET", "/q", nil)
	c.rejects(404, `"no" does not exist`, "POST", "/p/sounds/no", wav(t, tones(500, 1)))
	c.rejects(404, `"no" does not exist`, "DELETE", "/p/words/no", nil)
	c.rejects(404, `"up/x.wav" does not exist`, "GET", "/p/sounds/up/x.wav", nil)
	c.rejects(404, "does not exist", "GET", "/p/model", nil)
	c.rejects(409, "has no detector yet", "GET", "/p/live?format=s16le&rate=16000", nil)
	c.rejects(409, `"up" has 0 clips`, "POST", "/p/training", map[string]string{"from": "commands"})
	c.rejects(400, `from "x"`, "POST", "/p/training", map[string]string{"from": "x"})
	c.rejects(400, `model "digits" reads audio at 8000 Hz`, "POST", "/p/training", map[string]string{"from": "digits"})
	c.rejects(409, "has no detector yet", "POST", "/p/training", map[string]string{"from": fromDetector})
	c.project("empty")
	c.rejects(409, "add a word first", "POST", "/empty/training", map[string]string{"from": fromNothing})
}

// A recording in the folder that cannot be read is listed with the reason.
func TestListBroken(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p/up/a.wav"), []byte("x"), 0o666))
	must.Do(t, audio.WriteWAVFile(filepath.Join(c.s.dir, "p/up/b.wav"), 8000, slices.Repeat(slices.Concat(slices.Repeat([]float32{1}, 20), slices.Repeat([]float32{-1}, 20)), 200)))
	clips := c.listed("p")["up"].Clips
	if len(clips) != 2 || clips[0].Error == "" || clips[1].Seconds != 1 || !clips[1].Clipped {
		t.Errorf("clips %+v", clips)
	}
	b := must.Get(json.Marshal(clips[1]))(t)
	must.Equal(t, strings.Contains(string(b), `"error"`), false, "error in %s", b)
}

// A clip in another format gets the next number.
func TestReplaceOtherFormat(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	c.upload("p", "up", tones(500, 1))
	folder := filepath.Join(c.s.dir, "p", "up")
	sound := must.Get(os.ReadFile(filepath.Join(folder, "clip-001.wav")))(t)
	must.Do(t, os.WriteFile(filepath.Join(folder, "a.flac"), sound, 0o666))
	var answer struct{ Added []string }
	c.ok("PUT", "/p/sounds/up/a.flac", wav(t, tones(900, 1)), &answer)
	must.Equal(t, strings.Join(answer.Added, " "), "clip-002.wav", "name of the clip recorded again")
	must.Equal(t, c.listed("p")["up"].Count, 2, "clips")
}

// Hidden and temporary files do not keep a word. Other files do, and then nothing is deleted.
func TestDeleteWord(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	c.upload("p", "up", tones(500, 2))
	folder := filepath.Join(c.s.dir, "p", "up")
	must.Do(t, os.WriteFile(filepath.Join(folder, ".DS_Store"), nil, 0o666))
	must.Do(t, os.WriteFile(filepath.Join(folder, "clip-001.wav.7.tmp"), nil, 0o666))
	must.Do(t, os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o666))
	c.rejects(409, `"notes.txt"`, "DELETE", "/p/words/up", nil)
	must.Equal(t, c.listed("p")["up"].Count, 2, "clips")
	must.Do(t, os.Remove(filepath.Join(folder, "notes.txt")))
	c.ok("DELETE", "/p/words/up", nil, nil)
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of a deleted word: %v", err)
	}
}
