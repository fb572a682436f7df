package train

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// smallSweep is a sweep of one run, whose epochs have two steps.
func smallSweep(t *testing.T) Sweep {
	t.Helper()
	r := tiny(t, "data.length=8", "data.delay=2", "data.train_size=4", "data.eval_size=2", "train.batch=2",
		"train.epochs=2", "model.d_model=2", "model.n_layers=1", "ssm.d_state=2")
	return Sweep{Base: r.Config, Load: loadEchoes, Seeds: 1, Dir: filepath.Join(t.TempDir(), "sweep")}
}

// stoppedSweep is a sweep whose run was stopped after step 3.
func stoppedSweep(t *testing.T) Sweep {
	t.Helper()
	s := smallSweep(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Reporter = stopAt(3, cancel)
	must.Reject(s.Run(ctx))(t, ErrInterrupted)
	s.Reporter = nil
	return s
}

// resumes returns the step from which Run resumes the run, and the error of Run. The step is −1 if
// Run rejects the run.
func resumes(t *testing.T, s Sweep) (step int, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	step = -1
	s.Begin = func(_, _ int, _ string, tr *Trainer) {
		step = tr.Step()
		cancel()
	}
	_, err = s.Run(ctx)
	return step, err
}

// Run resumes from the last checkpoint, begins, or fails, for each state of the configuration and
// of the checkpoint.
func TestSweepCheckpoint(t *testing.T) {
	stopped := stoppedSweep(t)
	path := func(s *Sweep, name string) string {
		return filepath.Join(s.Dir, "seed=1", filepath.FromSlash(name))
	}
	write := func(s *Sweep, name, text string) { must.Do(t, os.WriteFile(path(s, name), []byte(text), 0o666)) }
	damage := func(name string) func(*Sweep) { return func(s *Sweep) { write(s, name, "damaged") } }
	remove := func(names ...string) func(*Sweep) {
		return func(s *Sweep) {
			for _, name := range names {
				must.Do(t, os.RemoveAll(path(s, name)))
			}
		}
	}
	version := func(s *Sweep) {
		file, _, err := readState(path(s, checkpointFile))
		must.Do(t, err)
		file.Metadata["state"] = strings.Replace(file.Metadata["state"], `"version":1`, `"version":9`, 1)
		var b strings.Builder
		must.Get(file.WriteTo(&b))(t)
		write(s, checkpointFile, b.String())
	}
	for what, c := range map[string]struct {
		change func(*Sweep)
		step   int   // from which the run is resumed; −1: an error
		want   []any // of the error
	}{
		"as it was":                   {func(*Sweep) {}, 3, nil},
		"no folder":                   {remove(""), 0, nil},
		"damaged":                     {damage(checkpointFile), -1, []any{ErrData, "checkpoint.safetensors"}},
		"missing":                     {remove(checkpointFile), -1, []any{ErrConfig, "checkpoint.safetensors is missing"}},
		"just begun":                  {remove(checkpointFile, metricsFile, BestFile), 0, nil},
		"other version":               {version, -1, []any{ErrConfig, "checkpoint.safetensors", "version 9"}},
		"a folder":                    {func(s *Sweep) { remove(checkpointFile)(s); must.Do(t, os.Mkdir(path(s, checkpointFile), 0o777)) }, -1, []any{"checkpoint.safetensors"}},
		"no configuration":            {remove(configFile), -1, []any{ErrConfig, "seed=1", "holds best.safetensors of a run, but no config.toml"}},
		"damaged configuration":       {damage(configFile), -1, []any{ErrConfig, "config.toml"}},
		"other configuration":         {func(s *Sweep) { must.Do(t, s.Base.Set("optim.lr=0.5")) }, -1, []any{ErrConfig, "seed=1", "optim.lr: there 0.01, here 0.5"}},
		"more epochs":                 {func(s *Sweep) { must.Do(t, s.Base.Set("train.epochs=9")) }, 3, nil},
		"a file in place of a folder": {func(s *Sweep) { remove("")(s); write(s, "", "") }, -1, []any{"seed=1"}},
	} {
		s := stopped
		s.Dir = filepath.Join(t.TempDir(), "sweep")
		must.Do(t, os.CopyFS(s.Dir, os.DirFS(stopped.Dir)))
		c.change(&s)
		step, err := resumes(t, s)
		must.Equal(t, step, c.step, "%s: step from which Run resumes", what)
		if c.step < 0 {
			must.Fail(t, err, c.want...)
		}
	}
}
