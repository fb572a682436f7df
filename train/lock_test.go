package train

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// One trainer at a time has a run folder, to begin a run or to resume it.
func TestLock(t *testing.T) {
	cfg := tiny(t)
	tr := newTrainer(t, cfg)
	busy := func(what string) {
		t.Helper()
		must.Reject(start(t.Context(), cfg))(t, ErrConfig, cfg.Out)
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
