package studio

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	must.Equal(t, d.Calibration.Words, len(all.train.Words)+len(all.validation.Words), "words")
}

// Requests about files that another tab or program has removed, replaced or damaged are errors of
// the client, and name the file.
func TestChangedFiles(t *testing.T) {
	c := serve(t)
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "file"), nil, 0o666))
	must.Do(t, os.Symlink(t.TempDir(), filepath.Join(c.s.dir, "link")))
	for _, name := range []string{"file", "link"} {
		c.rejects(http.StatusConflict, `project "`+name+`" exists, or another file or link of this name`, "POST", "", map[string]string{"name": name})
	}
	c.rejects(http.StatusNotFound, `file" is not a folder`, "GET", "/file", nil)

	c.project("p", "up", "down")
	c.upload("p", "up", tones(400, 2))
	c.rejects(http.StatusBadRequest, "expected at most 180 bytes", "POST", "/p/sounds/"+strings.Repeat("_", 300)+"a", wav(t, tones(400, 2)))
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", otherFolder), nil, 0o666))
	c.rejects(http.StatusNotFound, `_other" is not a folder`, "POST", "/p/sounds/_other", wav(t, tones(400, 2)))

	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", modelFile), []byte("no model"), 0o666))
	c.rejects(http.StatusConflict, `model.safetensors of project "p": model: `, "GET", "/p/live?format=s16le&rate=16000", nil)
	c.rejects(http.StatusConflict, `model.safetensors of project "p": model: `, "POST", "/p/training", map[string]string{"from": fromDetector})

	must.Do(t, os.Remove(filepath.Join(c.s.dir, "p", modelFile)))
	must.Do(t, os.Mkdir(filepath.Join(c.s.dir, "p", modelFile), 0o777))
	c.rejects(http.StatusConflict, `model.safetensors of project "p": model: `, "GET", "/p/live?format=s16le&rate=16000", nil)
	must.Do(t, os.WriteFile(filepath.Join(c.s.dir, "p", "flat"), nil, 0o666))
	for _, method := range []string{"GET", "DELETE"} {
		c.rejects(http.StatusNotFound, `"flat/a.wav" is not a folder`, method, "/p/sounds/flat/a.wav", nil)
	}

	must.Do(t, os.RemoveAll(filepath.Join(c.s.dir, "p")))
	c.project("p", "right") // the page can make a project again whose folder was removed
	must.Equal(t, len(c.listed("p")), 1, "folders of the new project")
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
