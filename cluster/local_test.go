package cluster

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
)

// local returns a sweep without workers, and the path of the checkpoint of its first run. The run
// was stopped after step 5. An epoch has 4 steps, and the previous checkpoint is that of step 4.
func local(t *testing.T) (s train.Sweep, checkpoint string) {
	t.Helper()
	s = tiny(t, t.TempDir(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.Reporter = cancelAt{holdAt{step: 5}, cancel}
	must.Reject(s.Run(ctx))(t, train.ErrInterrupted)
	return s, filepath.Join(s.Dir, "ssm.init=lin,seed=1", "last", "checkpoint.safetensors")
}

// A run that was begun without a cluster, and whose last checkpoint is damaged or missing,
// continues from the previous one.
func TestLocalPrevious(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.Truncate(path, 100) },
		"missing": os.Remove,
	} {
		s, checkpoint := local(t)
		must.Do(t, damage(checkpoint))
		b := start(t)
		first := 1 << 20 // step of the first run
		work(t, connect(t, b), &Worker{Name: "only", Reporter: beginAt{holdAt{}, &first}})
		must.Get((&Coordinator{Sweep: s, Log: logger(t)}).Run(t.Context(), connect(t, b)))(t)
		must.Equal(t, first, 4, "%s: step at which the first run began", what)
		same(t, s, alone(t, 1))
	}
}

// A run that was begun without a cluster, and that cannot be read or is not that of the sweep, is
// an error. Its folder stays as it is.
func TestLocalUnreadable(t *testing.T) {
	for what, c := range map[string]struct {
		change func(t *testing.T, s *train.Sweep, checkpoint string)
		want   string // in the error, after the path of the run
	}{
		"a link to itself": {func(t *testing.T, _ *train.Sweep, path string) {
			must.Do(t, os.Remove(path))
			if err := os.Symlink(filepath.Base(path), path); err != nil {
				t.Skip("symbolic links are not available: ", err)
			}
		}, "/last/checkpoint.safetensors: "},
		"a folder": {func(t *testing.T, _ *train.Sweep, path string) {
			must.Do(t, os.Remove(path))
			must.Do(t, os.Mkdir(path, 0o777))
		}, "/last/checkpoint.safetensors: "},
		"both damaged": {func(t *testing.T, _ *train.Sweep, path string) {
			must.Do(t, os.Truncate(path, 100))
			must.Do(t, os.Truncate(filepath.Join(filepath.Dir(path), "previous.safetensors"), 100))
		}, "/last/previous.safetensors: "},
		"another configuration": {func(t *testing.T, s *train.Sweep, _ string) {
			must.Do(t, s.Base.Set("optim.lr=0.5"))
		}, " has another configuration: optim.lr"},
	} {
		t.Run(what, func(t *testing.T) {
			s, checkpoint := local(t)
			c.change(t, &s, checkpoint)
			run := filepath.Dir(filepath.Dir(checkpoint))
			before := listing(t, run)
			b := start(t)
			work(t, connect(t, b), &Worker{Name: "only"})
			must.Reject((&Coordinator{Sweep: s, Log: logger(t)}).Run(t.Context(), connect(t, b)))(t, "ssm.init=lin seed=1: ", run+filepath.FromSlash(c.want))
			if !maps.Equal(listing(t, run), before) {
				t.Errorf("%s has changed", run)
			}
		})
	}
}

// listing returns the modes and contents of the files in a folder.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all[path] = readFile(t, dir, must.Get(filepath.Rel(dir, path))(t))
		}
		all[path] += d.Type().String()
		return err
	}))
	return all
}
