package studio

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// Background and other sounds that cannot be read, or are silent, do not fail a training run after
// its end. If all of them cannot be read, the threshold is the default.
func TestUnusableBackground(t *testing.T) {
	broken := func(path string) error { return os.WriteFile(path, []byte("no audio"), 0o666) }
	silence := func(path string) error { return audio.WriteWAVFile(path, rate, make([]float32, 5*rate)) }
	for _, v := range []struct {
		name, folder string
		write        func(path string) error
		calibrated   bool
	}{
		{"broken background", backgroundFolder, broken, false},
		{"broken other sounds", otherFolder, broken, false},
		{"silent background", backgroundFolder, silence, true},
	} {
		t.Run(v.name, func(t *testing.T) {
			c := serve(t)
			c.ready("p")
			folder := filepath.Join(c.s.dir, "p", v.folder)
			must.Do(t, os.RemoveAll(filepath.Join(c.s.dir, "p", backgroundFolder)))
			must.Do(t, os.Mkdir(folder, 0o777))
			must.Do(t, v.write(filepath.Join(folder, "a.wav")))
			c.ok("POST", "/p/training", map[string]string{"from": "commands"}, nil)
			st := c.wait("p", ended)
			must.Equal(t, st.Training.State+st.Training.Error, done, "training")
			must.Equal(t, st.Detector.Calibration != nil, v.calibrated, "calibrated")
		})
	}
}

// Background of which only silence is left when the detector is measured does not fail the training
// run: white noise takes its place.
func TestSilenceLeft(t *testing.T) {
	c := serve(t)
	c.ready("p")
	folder := filepath.Join(c.s.dir, "p", backgroundFolder)
	must.Do(t, audio.WriteWAVFile(filepath.Join(folder, "a.wav"), rate, make([]float32, 5*rate)))
	p := must.Get(c.s.open("p"))(t)
	all := must.Get(p.sounds(t.Context()))(t)
	all.train.Labels = []string{"yes", "no"} // of the model
	for _, f := range c.listed("p")[backgroundFolder].Clips {
		if f.Name != "a.wav" {
			c.ok("DELETE", "/p/sounds/"+backgroundFolder+"/"+f.Name, nil, nil)
		}
	}
	d := must.Get(p.measure(t.Context(), must.Get(pretrained.Load("commands"))(t), all, 1))(t)
	must.Equal(t, d.Calibration.Words, len(all.train.Words)+len(all.held.Words), "words")
}

// onRead is a body that calls a function before it is read.
type onRead struct {
	io.Reader
	call func()
}

func (o *onRead) Read(p []byte) (int, error) {
	if o.call != nil {
		o.call()
		o.call = nil
	}
	return o.Reader.Read(p)
}

// Requests about files that another tab or program has removed, replaced or damaged are errors of
// the client, and name the file.
func TestChangedFiles(t *testing.T) {
	c := serve(t)
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "file"), nil, 0o666))
	must.Do(t, os.Symlink(t.TempDir(), filepath.Join(c.s.dir, "link")))
	for _, name := range []string{"file", "link"} {
		c.rejects(http.StatusConflict, `project "`+name+`": the folder of projects already has a file, link or folder of this name`, "POST", "", map[string]string{"name": name})
	}
	c.rejects(http.StatusNotFound, `project "file" is not a folder`, "GET", "/file", nil)

	c.project("p", "up", "down")
	c.upload("p", "up", tones(400, 2))
	c.rejects(http.StatusBadRequest, "expected at most 180 bytes", "POST", "/p/sounds/"+strings.Repeat("_", 300)+"a", wav(t, tones(400, 2)))
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", otherFolder), nil, 0o666))
	c.rejects(http.StatusNotFound, `folder "_other" is not a folder`, "POST", "/p/sounds/_other", wav(t, tones(400, 2)))

	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", modelFile), []byte("no model"), 0o666))
	c.rejects(http.StatusConflict, `model.safetensors of project "p": model: `, "GET", "/p/live?rate=16000", nil)
	c.rejects(http.StatusConflict, `model.safetensors of project "p": model: `, "POST", "/p/training", map[string]string{"from": fromDetector})

	must.Do(t, os.Remove(filepath.Join(c.s.dir, "p", modelFile)))
	must.Do(t, os.Mkdir(filepath.Join(c.s.dir, "p", modelFile), 0o777))
	c.rejects(http.StatusInternalServerError, `model.safetensors of project "p": model: `, "GET", "/p/live?rate=16000", nil)
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", "flat"), nil, 0o666))
	for _, method := range []string{"GET", "DELETE"} {
		c.rejects(http.StatusNotFound, `recording "a.wav" of "flat": its folder is a file`, method, "/p/sounds/flat/a.wav", nil)
	}

	upload := func() io.Reader { return strings.NewReader(string(wav(t, tones(400, 2)))) }
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", "up", "x.flac"), nil, 0o666))
	c.ok("PUT", "/p/sounds/up/x.flac", &onRead{upload(), func() {
		c.ok("DELETE", "/p/sounds/up/x.flac", nil, nil)
	}}, nil)
	c.rejects(http.StatusNotFound, `word "up" does not exist`, "PUT", "/p/sounds/up/clip-001.wav", &onRead{upload(), func() {
		c.ok("DELETE", "/p/words/up", nil, nil)
	}})
	c.rejects(http.StatusConflict, "the project was removed or replaced", "POST", "/p/sounds/down", &onRead{upload(), func() {
		must.Do(t, os.Rename(filepath.Join(c.s.dir, "p"), filepath.Join(c.s.dir, "moved")))
		c.project("p", "down")
	}})
	c.rejects(http.StatusNotFound, `"down" does not exist`, "POST", "/p/sounds/down", &onRead{upload(), func() {
		must.Do(t, os.RemoveAll(filepath.Join(c.s.dir, "p")))
	}})
}

// sameNames is a file system on which every new name exists already. It stands for macOS, where the
// two Unicode forms of a letter with an accent are the same name.
type sameNames struct{ atomicfile.FS }

func (sameNames) Mkdir(string, fs.FileMode) error { return fs.ErrExist }

// Names that differ, but not for the file system, are those of one file.
func TestSameNames(t *testing.T) {
	c := serve(t)
	c.project("p", "cafe\u0301")
	p := must.Get(c.s.open("p"))(t)
	disk := p.disk
	p.disk = atomicfile.Files{FS: sameNames{disk.FS}}
	c.rejects(http.StatusConflict, `word "café" exists`, "POST", "/p/words", map[string]string{"name": "caf\u00e9"})
	p.disk = disk

	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", "cafe\u0301", "CLIP-001.WAV"), nil, 0o666))
	must.Equal(t, strings.Join(c.upload("p", "cafe\u0301", tones(400, 1)), " "), "clip-002.wav", "new clip")
}

// A recording that is too long to be read is listed with an error. Its length is not limited by the
// size of its file, if that is compressed.
func TestLongRecording(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	c.upload("p", "up", tones(400, 1))
	defer func(n int) { maxSeconds = n }(maxSeconds)
	maxSeconds = 2
	must.Do(t, audio.WriteWAVFile(filepath.Join(c.s.dir, "p", "up", "long.wav"), rate, make([]float32, 3*rate)))
	clips := c.listed("p")["up"].Clips
	must.Equal(t, len(clips), 2, "clips")
	must.Equal(t, clips[0].Error, "", "error of the short one")
	must.Equal(t, clips[1].Error, "the recording is longer than 2 seconds", "error of the long one")
}

// edited is a context that calls a function when it is asked for its error for a certain time.
type edited struct {
	context.Context
	calls atomic.Int64
	at    int64 // 0: never
	edit  func()
}

func (e *edited) Err() error {
	if e.calls.Add(1) == e.at {
		e.edit()
	}
	return e.Context.Err()
}

// A clip that another tab deletes while the detector is measured does not fail the training run:
// the streams of words are measured again.
func TestEditDuringMeasurement(t *testing.T) {
	c := serve(t)
	c.ready("p")
	p := must.Get(c.s.open("p"))(t)
	all := must.Get(p.sounds(t.Context()))(t)
	all.train.Labels = []string{"yes", "no"} // of the model
	clips := len(all.train.Words) + len(all.held.Words)
	m := must.Get(pretrained.Load("commands"))(t)
	once := &edited{Context: t.Context()}
	must.Get(p.measure(once, m, all, 1))(t)
	ctx := &edited{Context: t.Context(), at: int64(clips) + 2} // after the clips were surveyed, and before they are read again
	ctx.edit = func() { c.ok("DELETE", "/p/sounds/up/clip-001.wav", nil, nil) }
	d, err := p.measure(ctx, m, all, 1)
	must.Do(t, err)
	if calls, without := ctx.calls.Load(), once.calls.Load(); calls <= without {
		t.Errorf("%d calls of Err, and %d without the edit: the streams were not measured again", calls, without)
	}
	must.Equal(t, d.Calibration.Words, clips-1, "words")
	must.Equal(t, d.Held.Total+d.Learned.Total, clips, "clips")
}
