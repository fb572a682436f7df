package train

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Files of a run are removed in its second epoch. The log is written again if only the log was
// removed, but not if someone removes the whole folder. A new run reports what remains.
func TestRemovedFiles(t *testing.T) {
	for _, removed := range [][]string{{metricsFile}, {metricsFile, configFile}} {
		t.Run(strings.Join(removed, " "), func(t *testing.T) {
			cfg := tiny(t)
			tr := newTrainer(t, cfg)
			tr.reporter = spy{func(p Progress) {
				if p.Step == 7 {
					remove(t, cfg, removed...)
				}
			}}
			err := tr.Fit(t.Context())
			tr.Close()
			_, missing := os.Stat(tr.run.path(metricsFile))
			if len(removed) == 1 {
				must.Do(t, err)
				must.Equal(t, len(metricsOf(t, tr.run.Dir)), 3, "epochs in the log")
				return
			}
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), configFile) {
				t.Errorf("error %v, expected that %s does not exist", err, configFile)
			}
			if !errors.Is(missing, fs.ErrNotExist) {
				t.Errorf("%s was written again", metricsFile)
			}
			_, err = start(t.Context(), cfg)
			must.Fail(t, err, bestFile+" of a run that cannot be resumed, because "+configFile+" is missing")
			if !errors.Is(err, ErrConfig) {
				t.Errorf("error %v, expected ErrConfig", err)
			}
		})
	}
}
