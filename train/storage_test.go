package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// least is a run of two epochs of one step, with a checkpoint after each step, on a file system in
// memory.
func least(t *testing.T) run {
	t.Helper()
	if testing.Short() {
		t.Skip("some hundred runs, whatever the level")
	}
	r := tiny(t, "data.length=8", "data.delay=2", "data.train_size=2", "data.eval_size=2", "train.batch=2", "train.eval_batch=2",
		"train.epochs=2", "train.checkpoint_every=1", "model.d_model=2", "model.n_layers=1", "ssm.d_state=2")
	r.Out = filepath.Join("runs", "x")
	return r
}

// steps records the progress of trainOn: the step at which it began, and for each later step the
// number of file operations after which the step was saved.
type steps struct {
	from  int
	saved []int
}

// after returns the last step that was saved when the file system had performed n operations.
func (s steps) after(n int) int {
	later := slices.IndexFunc(s.saved, func(at int) bool { return at > n })
	if later < 0 {
		later = len(s.saved)
	}
	return s.from + later
}

// last returns the last step that was saved.
func (s steps) last() int { return s.from + len(s.saved) }

// trainOn begins the run on a file system, or resumes it if that has one, and trains it to its end.
func trainOn(ctx context.Context, f *memfs.FS, r run) (tr *Trainer, s steps, err error) {
	_, missing := f.Stat(filepath.Join(r.Out, configFile))
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return nil, s, missing
	}
	tr, err = New(ctx, r.Config, echoData(r.Config), Options{Dir: r.Out, Resume: missing == nil, files: f, Saved: func() error {
		for tr.Step() > s.last() {
			s.saved = append(s.saved, f.Operations())
		}
		return nil
	}})
	if err != nil {
		return nil, s, err
	}
	defer tr.Close()
	s.from = tr.Step()
	return tr, s, tr.Fit(ctx)
}

// undisturbed trains the run on a file system.
func undisturbed(t *testing.T, f *memfs.FS, r run) (*Trainer, steps) {
	t.Helper()
	tr, s, err := trainOn(t.Context(), f, r)
	must.Do(t, err)
	return tr, s
}

// cutAfter returns the number of operations before a power cut of memfs.EachPowerCut.
func cutAfter(t *testing.T, when string) (n int) {
	t.Helper()
	must.Get(fmt.Sscanf(when, "power cut after operation %d ", &n))(t)
	return n
}

// ends checks that the run, resumed on a file system, continues from step saved or a later one, and
// ends with the bits of the run that was never stopped.
func ends(t *testing.T, what string, f *memfs.FS, r run, want *Trainer, saved int) {
	t.Helper()
	tr, s, err := trainOn(t.Context(), f, r)
	if err != nil {
		t.Errorf("%s: the run cannot be resumed: %v; files:\n%v", what, err, f)
		return
	}
	if s.from < saved {
		t.Errorf("%s: the run continues from step %d, but had saved step %d", what, s.from, saved)
	}
	for _, name := range []string{bestFile, checkpointFile} {
		if contentOf(t, tr, name) != contentOf(t, want, name) {
			t.Errorf("%s: after resuming, %s differs", what, name)
		}
	}
	for _, name := range must.Get(f.ReadDir(r.Out))(t) {
		if strings.HasSuffix(name.Name(), ".tmp") {
			t.Errorf("%s: %s remains", what, name.Name())
		}
	}
	if lines := strings.Count(contentOf(t, tr, metricsFile), "\n"); lines != 2 {
		t.Errorf("%s: %d epochs in %s, expected 2", what, lines, metricsFile)
	}
}

// contentOf returns the content of a file of the run. Of a checkpoint it returns the tensors, since
// the state has measured times.
func contentOf(t *testing.T, tr *Trainer, name string) string {
	t.Helper()
	if name != checkpointFile {
		return string(must.Get(tr.run.files.ReadFile(tr.run.path(name), 1<<20))(t))
	}
	file, _, err := readState(tr.run.files.FS, tr.run.path(name))
	must.Do(t, err)
	file.Metadata = nil
	var b strings.Builder
	must.Get(file.WriteTo(&b))(t)
	return b.String()
}

// blamesFiles reports whether an error says that the files or the configuration are wrong.
func blamesFiles(err error) bool { return errors.Is(err, ErrData) || errors.Is(err, ErrConfig) }

// faults returns the modes of failure to try: in the short form, one operation fails.
func faults() []memfs.Mode { return memfs.Modes[:must.Cases(1, len(memfs.Modes))] }

// If a file operation of a new or resumed run fails, the run either continues or ends with the
// error of that operation. Afterwards, also after a power cut, the run resumes from the last saved
// step and ends with the same bits. A checkpoint that cannot be read does not count as damaged.
func TestEveryFaultOfRun(t *testing.T) {
	r := least(t)
	want, _ := undisturbed(t, memfs.New(), r)
	half := memfs.New()
	ctx, cancel := context.WithCancel(t.Context())
	tr := must.Get(New(ctx, r.Config, echoData(r.Config), Options{Dir: r.Out, files: half, Saved: func() error { cancel(); return nil }}))(t)
	must.Fail(t, tr.Fit(ctx), ErrInterrupted)
	for _, c := range []struct {
		what  string
		start *memfs.FS
		saved int
	}{{"new", memfs.New(), 0}, {"interrupted", half, 1}} {
		memfs.EachFault(c.start, faults(), func(f *memfs.FS, fault *memfs.Fault) {
			what := c.what + ": " + fault.String()
			again, s, err := trainOn(t.Context(), f, r)
			if !fault.Over() {
				must.Do(t, err)
				ends(t, what, f.PowerCut(memfs.Everything), r, want, 2)
				return
			}
			named := err == nil || strings.Contains(err.Error(), "runs") || strings.Contains(err.Error(), fault.Path+":")
			if err != nil && !errors.Is(err, fault.Err) || !named || blamesFiles(err) {
				t.Errorf("%s: error %v, expected the cause, with the path", what, err)
			}
			if again != nil && s.from < c.saved {
				t.Errorf("%s: the run continues from step %d, but had saved step %d", what, s.from, c.saved)
			}
			saved := max(c.saved, s.last())
			for _, loss := range []memfs.Loss{memfs.Everything, memfs.Torn}[:must.Cases(1, 2)] {
				ends(t, what+", then a power cut", f.PowerCut(loss), r, want, saved)
			}
			ends(t, what, f, r, want, saved)
		})
	}
}

// After a power cut at any moment of a run, it can be resumed and ends with the same bits.
func TestEveryPowerCutOfRun(t *testing.T) {
	r := least(t)
	var want *Trainer
	var s steps
	memfs.EachPowerCut(memfs.New(), must.Cases(1, 20), func(f *memfs.FS) {
		want, s = undisturbed(t, f, r)
	}, func(after *memfs.FS, when string) {
		ends(t, when, after, r, want, s.after(cutAfter(t, when)))
	})
}
