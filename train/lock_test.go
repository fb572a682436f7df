package train

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// One trainer at a time has a run folder, to begin a run or to resume it.
func TestLock(t *testing.T) {
	cfg := tiny(t)
	tr := newTrainer(t, cfg)
	busy := func() {
		t.Helper()
		must.Reject(start(t.Context(), cfg))(t, ErrConfig, cfg.Out)
	}
	busy() // the second start
	cfg.Resume = true
	busy()
	tr.Close()
	tr = newTrainer(t, cfg)
	busy()
	must.Do(t, tr.Fit(t.Context()))
	busy()
	tr.Close()
	newTrainer(t, cfg)
}
