package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// noFolder fails if a rejected run left its folder behind.
func noFolder(t *testing.T, dir string) {
	t.Helper()
	must.Reject(os.Stat(dir))(t, os.ErrNotExist)
}

// Sizes beyond any machine are rejected before memory is allocated, and leave nothing behind.
func TestTooLarge(t *testing.T) {
	for set, want := range map[string]string{
		"model.d_model=1000000":  "",
		"ssm.d_state=16000000":   "ssm.d_state 16000000: expected at most 65536",
		"data.length=2000000000": "MaxLen 2000000000",
		"model.mixing=glu":       "",
	} {
		cfg := tiny(t, "model.mixing=none", "data.length=10000", set)
		if set == "model.mixing=glu" {
			cfg.Model.DModel, want = 1000000, "parameters: expected"
		}
		must.Reject(start(t.Context(), cfg))(t, ErrConfig, want)
		noFolder(t, cfg.Out)
	}
}

// digits returns a run on three clips of 120 samples; the others have 300.
func digits(t *testing.T) run {
	t.Helper()
	c := run{Config: preset(t, "fsdd"), Out: filepath.Join(t.TempDir(), "run")}
	c.Train.Batch, c.Workers = 2, 1
	clip := func(label, samples int) dataset.Example {
		return dataset.Example{X: make([]float32, samples), Label: label}
	}
	train := []dataset.Example{clip(0, 120), clip(0, 120), clip(1, 120)}
	c.data = must.Get(dataset.FromSlices(dataset.Info{Channels: 1, Outputs: 10}, train, []dataset.Example{clip(2, 300)}, []dataset.Example{clip(0, 300)}))(t)
	return c
}

// A limit of steps is part of the description if it ends the run early.
func TestDescribe(t *testing.T) {
	cfg := digits(t)
	for steps, limit := range map[int]string{0: "", 30: "", 7: ", at most 7 steps"} {
		cfg.Train.MaxSteps, cfg.Out = steps, filepath.Join(t.TempDir(), "run")
		expected := "; 3 sequences of up to 120 positions, 30 epochs of 1 step" + limit
		if got := newTrainer(t, cfg).Describe(); !strings.HasSuffix(got, expected) {
			t.Errorf("max_steps %d: %q, expected it to end in %q", steps, got, expected)
		}
	}
}

// A model records the options of the data without folders: those of the configuration, or those
// that the source states.
func TestRecordedOptions(t *testing.T) {
	cfg := digits(t)
	cfg.Seed, cfg.Data = 3, model.Settings{DirKey: "folder", "max_len": int64(120), "decimate": int64(0)}
	check := func(want string) {
		t.Helper()
		cfg.Out = filepath.Join(t.TempDir(), "run")
		must.Equal(t, fmt.Sprint(newTrainer(t, cfg).model.Meta.Data), want, "data of the model")
	}
	check("map[data.max_len:120 seed:3]")
	cfg.data.Options = model.Settings{"rate": 8000.0}
	check("map[data.rate:8000 seed:3]")
}

// A run whose best model could not be saved or evaluated does not start.
func TestInvalidLabels(t *testing.T) {
	for want, label := range map[string]string{"UTF-8": "8\xe9", `label "7" occurs twice`: "7"} {
		cfg := digits(t)
		for i := range 10 {
			cfg.data.Labels = append(cfg.data.Labels, fmt.Sprint(i))
		}
		cfg.data.Labels[8] = label
		must.Reject(start(t.Context(), cfg))(t, ErrData, want)
		noFolder(t, cfg.Out)
	}
}
