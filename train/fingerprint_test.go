package train

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A run is resumed with the data that it began with, in whatever folder they are.
func TestOtherData(t *testing.T) {
	cfg := digits(t)
	newTrainer(t, cfg).Close()
	cfg.Resume = true
	at := func(name string) string { return filepath.Join(cfg.Data.Dir, name) }
	clip := func(name string, samples int) {
		t.Helper()
		must.Do(t, audio.WriteWAVFile(at(name), 8000, make([]float32, samples)))
	}
	rename := func(from, to string) {
		t.Helper()
		must.Do(t, os.Rename(at(from), at(to)))
	}
	rejected := func(want string) {
		t.Helper()
		_, err := New(t.Context(), cfg)
		must.Fail(t, err, ErrConfig, want, cfg.Out)
	}
	moved := t.TempDir()
	must.Do(t, os.CopyFS(moved, os.DirFS(cfg.Data.Dir)))
	cfg.Data.Dir = moved
	newTrainer(t, cfg).Close()

	clip("3_jo_11.wav", 300)
	rejected("4 training examples, expected 3")
	rename("0_jo_11.wav", "0_al_11.wav")
	must.Do(t, os.Remove(at("3_jo_11.wav")))
	rejected("the 3 training examples have other names")
	rename("0_al_11.wav", "0_jo_11.wav")
	newTrainer(t, cfg).Close()
	clip("0_jo_11.wav", 301)
	rejected("the 3 training examples have other names, labels, lengths or values")
	clip("0_jo_11.wav", 300)
	rename("0_jo_1.wav", "1_jo_1.wav")
	rejected("the 1 test examples have other names")
	rename("1_jo_1.wav", "0_jo_1.wav")
	newTrainer(t, cfg).Close()
}

// A run on one file is resumed with any spelling of the data folder, and not with other values.
func TestOtherSeries(t *testing.T) {
	cfg := temperatures(t, "train.max_steps=1")
	dir := cfg.Data.Dir
	t.Chdir(filepath.Dir(dir))
	cfg.Data.Dir = filepath.Base(dir)
	newTrainer(t, cfg).Close()
	cfg.Resume = true
	for _, spelling := range []string{dir, filepath.Join("..", filepath.Base(filepath.Dir(dir)), filepath.Base(dir))} {
		cfg.Data.Dir = spelling
		newTrainer(t, cfg).Close()
	}
	path := filepath.Join(dir, "Set_TRAIN.ts")
	text := must.Get(os.ReadFile(path))(t)
	writeFile(t, path, bytes.Replace(text, []byte("0."), []byte("1."), 1))
	must.Reject(New(t.Context(), cfg))(t, ErrConfig, "training examples have other")
}

// Without a fingerprint, as in checkpoints of earlier versions, a run is resumed. Data that make
// another number of steps are an error.
func TestNoFingerprint(t *testing.T) {
	cfg := stopped(t, 7)
	path, _ := file(t, cfg, checkpointFile)
	changeState(t, path, map[string]any{"data": nil})
	remove(t, cfg, previousFile)
	tr := newTrainer(t, cfg)
	if tr.state.Data == nil {
		t.Error("the resumed run has no fingerprint")
	}
	tr.Close()
	tr.data.Train = fewer{tr.data.Train}
	tr.plan = tr.newPlan()
	must.Fail(t, tr.readCheckpoint(checkpointFile), ErrData, "step 7")
}

// fewer is the first half of a set.
type fewer struct{ dataset.Set }

func (s fewer) Len() int { return s.Set.Len() / 2 }
