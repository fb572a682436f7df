package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// stopped begins a run and stops it after a number of steps; an epoch of tiny has 5. It returns the
// configuration to resume the run.
func stopped(t *testing.T, cfg run, steps int) run {
	t.Helper()
	tr := newTrainer(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	tr.reporter = stopAt(steps, cancel)
	must.Fail(t, tr.Fit(ctx), ErrInterrupted)
	must.Equal(t, tr.Step(), steps, "steps")
	tr.Close()
	cfg.Resume = true
	return cfg
}

// file returns the path of one of a run's files, and its content.
func file(t *testing.T, cfg run, name string) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(cfg.Out, filepath.FromSlash(name))
	content = must.Get(os.ReadFile(path))(t)
	return path, content
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path, content, 0o644))
}

func remove(t *testing.T, cfg run, names ...string) {
	t.Helper()
	for _, name := range names {
		must.Do(t, os.Remove(filepath.Join(cfg.Out, filepath.FromSlash(name))))
	}
}

// changeState rewrites values of the state in a checkpoint. A nil value deletes the key.
func changeState(t *testing.T, path string, values map[string]any) {
	t.Helper()
	f, _, err := readState(path)
	must.Do(t, err)
	s := map[string]any{}
	d := json.NewDecoder(strings.NewReader(f.Metadata["state"]))
	d.UseNumber()
	must.Do(t, d.Decode(&s))
	maps.Copy(s, values)
	maps.DeleteFunc(s, func(_ string, v any) bool { return v == nil })
	text := must.Get(json.Marshal(s))(t)
	f.Metadata["state"] = string(text)
	writeCheckpoint(t, path, f)
}

func writeCheckpoint(t *testing.T, path string, f *safetensors.File) {
	t.Helper()
	var b bytes.Buffer
	must.Get(f.WriteTo(&b))(t)
	writeFile(t, path, b.Bytes())
}

// A checkpoint of another version, or of another network, is rejected.
func TestOtherCheckpoint(t *testing.T) {
	cfg := stopped(t, tiny(t), 7) // in epoch 2
	path, whole := file(t, cfg, checkpointFile)
	changeState(t, path, map[string]any{"version": 9})
	must.Reject(start(t.Context(), cfg))(t, ErrConfig, "version 9, expected 1")
	writeFile(t, path, whole)
	changeState(t, path, map[string]any{"data": map[string]any{"train": nil}}) // as before version 1
	must.Reject(start(t.Context(), cfg))(t, ErrConfig, path, "a checkpoint of another version of s4d-fast, which this one cannot resume")
	for want, change := range map[string]func(f *safetensors.File){
		`tensor "adam.m.layers.1.C" is missing`: func(f *safetensors.File) { f.Find("adam.m.layers.1.C").Name = "x" },
		`tensor "weights.layers.1.C": shape [`:  func(f *safetensors.File) { slices.Reverse(f.Find("weights.layers.1.C").Shape) },
	} {
		f := must.Get(safetensors.Read(bytes.NewReader(whole)))(t)
		change(f)
		writeCheckpoint(t, path, f)
		must.Reject(start(t.Context(), cfg))(t, ErrData, want)
	}
}

// The checkpoint has the log: a run whose metrics are damaged, missing or from later epochs resumes
// with all lines up to the checkpoint.
func TestDamagedLog(t *testing.T) {
	cfg := stopped(t, tiny(t), 16) // after epoch 3
	path, whole := file(t, cfg, metricsFile)
	for _, log := range []string{"", string(whole[:len(whole)/2]), string(whole) + `{"epoch":4}` + "\n" + `{"split":"test","epoch":3}` + "\n"} {
		writeFile(t, path, []byte(log))
		newTrainer(t, cfg).Close()
		_, restored := file(t, cfg, metricsFile)
		must.Equal(t, string(restored), string(whole), "metrics of a run with the log %q", log)
	}
}

// A run that ended before its first checkpoint starts again, without the files of the crashed
// process.
func TestNoCheckpoint(t *testing.T) {
	whole := fit(t, tiny(t))
	cfg := tiny(t)
	newTrainer(t, cfg).Close()
	cfg.Resume = true
	remove(t, cfg, checkpointFile)
	for _, name := range []string{"config.toml.123.tmp", "last/checkpoint.safetensors.4567.tmp", "notes.2024.tmp"} {
		writeFile(t, filepath.Join(cfg.Out, filepath.FromSlash(name)), []byte("half a file"))
	}
	again := fit(t, cfg)
	sameRun(t, "without a checkpoint", whole, again)
	if w := strings.Join(again.Warnings(), "\n"); !strings.Contains(w, "starts again") {
		t.Errorf("warnings %q, expected that the run starts again", w)
	}
	for _, dir := range []string{"", "last"} {
		files := must.Get(filepath.Glob(filepath.Join(cfg.Out, dir, "*.tmp")))(t)
		for _, f := range files {
			if filepath.Base(f) != "notes.2024.tmp" {
				t.Errorf("%s was not removed", f)
			}
		}
	}
	file(t, cfg, "notes.2024.tmp")

	more := cfg
	must.Do(t, more.Set("optim.lr=0.5"))
	must.Reject(start(t.Context(), more))(t, ErrConfig, "optim.lr")
	remove(t, cfg, checkpointFile)
	must.Reject(start(t.Context(), cfg))(t, ErrConfig, checkpointFile+" is missing")
}

// A run needs the model of its best epoch.
func TestDamagedBest(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove, "truncated": func(path string) error { return os.Truncate(path, 100) },
	} {
		cfg := tiny(t, "train.epochs=1")
		fit(t, cfg)
		must.Do(t, damage(filepath.Join(cfg.Out, BestFile)))
		cfg.Resume = true
		if _, err := start(t.Context(), cfg); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), BestFile) {
			t.Errorf("%s: error %v, expected ErrData that names it", name, err)
		}
	}
}
