package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// noFolder fails if a rejected run left its folder behind.
func noFolder(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was not removed (%v)", dir, err)
	}
}

// Sizes beyond any machine are rejected before memory is allocated, and leave nothing behind.
func TestTooLarge(t *testing.T) {
	for set, want := range map[string]string{
		"model.d_model=1000000":   "",
		"ssm.d_state=16000000":    "ssm.d_state 16000000: expected at most 65536",
		"data.length=2000000000":  "MaxLen 2000000000",
		"data.eval_size=16777216": "MaxBatch",
		"model.mixing=glu":        "",
	} {
		cfg := tiny(t, "model.mixing=none", "data.length=10000", "train.eval_batch=10000000", set)
		if set == "model.mixing=glu" {
			cfg.Model.DModel, want = 1000000, "parameters: expected"
		}
		if _, err := New(t.Context(), cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected ErrConfig that says %q", set, err, want)
		}
		noFolder(t, cfg.Out)
	}
}

func TestMoreThanTheMachineHas(t *testing.T) {
	if memoryLimit(os.DirFS("/")) == 0 {
		t.Skip("how much memory the machine has is known on Linux only")
	}
	// About 800 arrays of 2³³ floats, each allowed by itself: 25 TiB.
	cfg := tiny(t, "model.mixing=none", "model.norm=none", "model.n_layers=400",
		"data.length=500000000", "train.eval_batch=1")
	must.Reject(New(t.Context(), cfg))(t, ErrConfig, "GiB of memory, expected at most")
	noFolder(t, cfg.Out)
}

func TestOutIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, []byte("content"), 0o644))
	for _, out := range []string{file, filepath.Join(file, "run")} {
		for _, resume := range []bool{false, true} {
			cfg := tiny(t)
			cfg.Out, cfg.Resume = out, resume
			_, err := New(t.Context(), cfg)
			if !errors.Is(err, ErrConfig) {
				t.Errorf("resume %v: error %v, expected ErrConfig", resume, err)
			}
			if want := out + " is not a folder"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("resume %v: error %v, expected one that contains %q", resume, err, want)
			}
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "content" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}

// digits returns a run on recordings in a temporary folder.
func digits(t *testing.T) Config {
	t.Helper()
	c := preset(t, "fsdd")
	c.Data.Dir, c.Out = t.TempDir(), filepath.Join(t.TempDir(), "run")
	c.Train.Batch, c.Workers = 2, 1
	for _, name := range []string{"0_jo_10", "1_jo_10", "0_jo_11", "2_jo_5", "0_jo_1"} {
		must.Do(t, audio.WriteWAVFile(filepath.Join(c.Data.Dir, name+".wav"), 8000, make([]float32, 300)))
	}
	return c
}

func TestInterruptedStart(t *testing.T) {
	cfg := digits(t)
	ctx, cancel := context.WithCancel(t.Context())
	loaded := 0
	cfg.LoadProgress = func(done, total int) {
		if loaded = done; done == 2 {
			cancel()
		}
	}
	if _, err := New(ctx, cfg); !errors.Is(err, ErrInterrupted) || loaded != 2 {
		t.Errorf("error %v after %d recordings, expected ErrInterrupted after 2", err, loaded)
	}
	noFolder(t, cfg.Out)

	made := tiny(t) // no recordings to be stopped at
	if _, err := New(ctx, made); !errors.Is(err, ErrInterrupted) {
		t.Errorf("error %v, expected ErrInterrupted", err)
	}
	noFolder(t, made.Out)
}

func TestLoadSplit(t *testing.T) {
	cfg := digits(t)
	cfg.LoadProgress = func(_, total int) {
		must.Equal(t, total, 1, "recordings to load")
	}
	data, err := LoadData(t.Context(), cfg, "val")
	if err != nil || data.Train != nil || data.Val.Len() != 1 || data.Test != nil || data.Mean != nil {
		t.Errorf("data %+v, error %v; expected one example to validate on", data, err)
	}
	must.Reject(LoadData(t.Context(), cfg, "dev"))(t, ErrData, `unknown split "dev"`)
}

// max_len truncates training examples only. A limit of steps is part of the description if it ends
// the run early.
func TestDescribe(t *testing.T) {
	cfg := digits(t)
	cfg.Data.MaxLen = 120
	for steps, limit := range map[int]string{0: "", 30: "", 7: ", at most 7 steps"} {
		cfg.Train.MaxSteps, cfg.Out = steps, filepath.Join(t.TempDir(), "run")
		expected := "; 3 sequences of up to 120 samples, 30 epochs of 1 step" + limit
		if got := newTrainer(t, cfg).Describe(); !strings.HasSuffix(got, expected) {
			t.Errorf("max_steps %d: %q, expected it to end in %q", steps, got, expected)
		}
	}
}
