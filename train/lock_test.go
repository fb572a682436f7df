package train

import (
	"errors"
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
