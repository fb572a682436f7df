package train

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// One trainer at a time has a run folder, to begin a run or to resume it.
func TestLock(t *testing.T) {
	cfg := tiny(t)
	tr := newTrainer(t, cfg)
	busy := func(what string) {
		t.Helper()
		if _, err := start(t.Context(), cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), cfg.Out) {
			t.Errorf("%s: error %v, expected ErrConfig that names the folder", what, err)
		}
	}
	busy("second start")
	cfg.Resume = true
	busy("resume during a start")
	tr.Close()
	tr = newTrainer(t, cfg)
	busy("second resume")
	must.Do(t, tr.Fit(t.Context()))
	busy("resume before Close")
	tr.Close()
	newTrainer(t, cfg)
}

// One sweep at a time uses a folder. It removes what a killed one left of its table, and no other
// file.
func TestSweepLock(t *testing.T) {
	s := Sweep{Base: tiny(t, "train.max_steps=1").Config, Load: loadEchoes, Seeds: 1, Dir: filepath.Join(t.TempDir(), "sweep")}
	s.Begin = func(int, int, string, *Trainer) {
		_, err := s.Run(t.Context())
		must.Fail(t, err, ErrConfig, "another process trains in "+s.Dir+":")
	}
	left, other := filepath.Join(s.Dir, "sweep.csv.123.tmp"), filepath.Join(s.Dir, "notes.2024.tmp")
	must.Do(t, os.MkdirAll(s.Dir, 0o755))
	writeFile(t, left, nil)
	writeFile(t, other, nil)
	must.Get(s.Run(t.Context()))(t)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", left, err)
	}
	must.Get(os.Stat(other))(t)
}
