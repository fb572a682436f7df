package task

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

// oldClips writes the recordings of testdata/old/digits.
func oldClips(t *testing.T, dir string) {
	t.Helper()
	for digit := range 4 {
		for _, index := range []int{0, 5, 10, 11, 12} {
			x := make([]float32, 200+10*digit+index)
			for k := range x {
				x[k] = float32((37*index+(digit+1)*k*k)%2001-1000) / 32768
			}
			must.Do(t, audio.WriteWAVFile(filepath.Join(dir, fmt.Sprintf("%d_jo_%d.wav", digit, index)), 8000, x))
		}
	}
}

// Runs and models that were written before tasks had options of their own are evaluated with the
// result that they recorded, and resumed. testdata/old has runs of two epochs with seed 5, one
// layer of four channels and four states, in batches of 4 (delay: 6); delay has 24 and 8 sequences
// of 64 samples and a delay of 9, digits has data.max_len 205.
func TestOldRuns(t *testing.T) {
	clips := t.TempDir()
	oldClips(t, clips)
	for name, dir := range map[string]string{
		"delay": "", "digits": clips, "ts": filepath.Join("testdata", "old", "data", "series"), "listops": filepath.Join("testdata", "old", "data", "expressions"),
	} {
		run := filepath.Join(t.TempDir(), "run")
		must.Do(t, os.CopyFS(run, os.DirFS(filepath.Join("testdata", "old", name))))
		m := must.Get(model.Load(filepath.Join(run, "best.safetensors")))(t)
		tk := must.Get(Lookup(name))(t)
		restored := must.Get(tk.ForModel(m))(t)
		must.Equal(t, restored.Seed, 5, "%s: seed in the model file", name)
		restored.Data[train.DirKey] = dir
		if dir == "" {
			delete(restored.Data, train.DirKey)
		}
		data := must.Get(tk.Load(t.Context(), From(restored)))(t)
		r := must.Get(train.Evaluate(t.Context(), m, data.Val, train.EvalOptions{Info: data.Info}))(t)
		best := oldBest(t, run)
		if math.Abs(r.Loss/best.ValLoss-1) > 1e-4 {
			t.Errorf("%s: loss %v, expected the recorded %v", name, r.Loss, best.ValLoss)
		}

		found, cfg, err := LoadRun(run)
		must.Do(t, err)
		must.Equal(t, found.Name(), name, "task of the run")
		if dir != "" {
			cfg.SetDir(dir)
		}
		cfg.Train.Epochs = 3
		must.Do(t, tk.Resolve(&cfg))
		data = must.Get(tk.Load(t.Context(), From(cfg)))(t)
		tr, err := train.New(t.Context(), cfg, data, train.Options{Dir: run, Resume: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		must.Equal(t, tr.BestEpoch().Epoch, best.Epoch, "%s: best epoch", name)
		must.Equal(t, tr.Best().Hash(), m.Hash(), "%s: best model", name)
		before := tr.Step()
		must.Do(t, tr.Fit(t.Context()))
		if tr.Step() != before/2*3 || len(tr.Warnings()) > 0 {
			t.Errorf("%s: resumed from step %d to %d, warnings %q", name, before, tr.Step(), tr.Warnings())
		}
		tr.Close()
		if again := must.Get(train.LoadRun(run))(t); again.Data["max_len"] == any(int64(0)) && name != "digits" {
			t.Errorf("%s: the configuration still has options of other tasks: %v", name, again.Data)
		}
	}
}

// oldBest returns the best epoch in a run's metrics.
func oldBest(t *testing.T, run string) (best train.Metrics) {
	t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile(filepath.Join(run, "metrics.jsonl")))(t))) {
		var m train.Metrics
		must.Do(t, json.Unmarshal([]byte(line), &m))
		if m.Step > 0 && (best.Step == 0 || m.ValLoss < best.ValLoss) {
			best = m
		}
	}
	return best
}

// Older runs of delay recorded a folder that they did not read. They can be resumed.
func TestOldFolderOfDelay(t *testing.T) {
	run := t.TempDir()
	must.Do(t, os.CopyFS(run, os.DirFS(filepath.Join("testdata", "old", "delay"))))
	path := filepath.Join(run, "config.toml")
	text := string(must.Get(os.ReadFile(path))(t))
	testfiles.Write(t, path, strings.Replace(text, `dir = ""`, `dir = "somewhere"`, 1))
	tk, cfg, err := LoadRun(run)
	must.Do(t, err)
	must.Equal(t, cfg.Dir(), "", "data folder")
	data := must.Get(tk.Load(t.Context(), From(cfg)))(t)
	must.Get(train.New(t.Context(), cfg, data, train.Options{Dir: run, Resume: true}))(t).Close()

	must.Do(t, os.WriteFile(path, []byte(strings.Replace(text, "max_len = 0", "max_len = 7", 1)), 0o644))
	_, _, err = LoadRun(run)
	must.Fail(t, err, train.ErrConfig, "unknown option data.max_len", run)
	must.Do(t, os.WriteFile(path, []byte(strings.Replace(text, `task = "delay"`, `task = "juggling"`, 1)), 0o644))
	_, _, err = LoadRun(run)
	must.Fail(t, err, train.ErrConfig, `task "juggling": expected one of`, run)
}
