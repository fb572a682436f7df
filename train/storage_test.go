package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/faultfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// least is a run of two epochs of one step, with a checkpoint after each step.
func least(t *testing.T) run {
	t.Helper()
	if testing.Short() {
		t.Skip("some hundred runs, whatever the level")
	}
	return tiny(t, "data.length=8", "data.delay=2", "data.train_size=2", "data.eval_size=2", "train.batch=2",
		"train.epochs=2", "train.checkpoint_every=1", "model.d_model=2", "model.n_layers=1", "ssm.d_state=2")
}

// trainOn begins the run r.Out on a file system, or resumes it if that has one, and trains it to
// its end. saved is the last step that was saved, and from the one at which it began.
func trainOn(ctx context.Context, files *faultfs.FS, r run) (tr *Trainer, from, saved int, err error) {
	_, missing := files.Stat(filepath.Join(r.Out, configFile))
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return nil, 0, 0, missing
	}
	tr, err = New(ctx, r.Config, echoData(r.Config), Options{Dir: r.Out, Resume: missing == nil, files: files, Saved: func() error {
		saved = tr.Step()
		return nil
	}})
	if err != nil {
		return nil, 0, 0, err
	}
	defer tr.Close()
	from = tr.Step()
	return tr, from, saved, tr.Fit(ctx)
}

// ends checks that the run, resumed, continues from step saved or a later one, and ends with the
// bits of the run that was never stopped.
func ends(t *testing.T, what string, f *faultfs.FS, r run, want map[string]string, saved int) {
	t.Helper()
	_, from, _, err := trainOn(t.Context(), f, r)
	if err != nil {
		t.Errorf("%s: the run cannot be resumed: %v", what, err)
		return
	}
	if from < saved {
		t.Errorf("%s: the run continues from step %d, but had saved step %d", what, from, saved)
	}
	for name, content := range contents(t, r.Out) {
		if content != want[name] {
			t.Errorf("%s: after resuming, %s differs", what, name)
		}
	}
	for _, name := range must.Get(os.ReadDir(r.Out))(t) {
		if strings.HasSuffix(name.Name(), ".tmp") {
			t.Errorf("%s: %s remains", what, name.Name())
		}
	}
}

// contents returns the contents of files of a run. Of the checkpoint it has the tensors, and of the
// log the number of epochs, since both have measured times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	r := newRun(dir, nil)
	file, _, err := r.readState(checkpointFile)
	must.Do(t, err)
	file.Metadata = nil
	var b strings.Builder
	must.Get(file.WriteTo(&b))(t)
	read := func(name string) string { return string(must.Get(os.ReadFile(r.path(name)))(t)) }
	return map[string]string{checkpointFile: b.String(), BestFile: read(BestFile), metricsFile: fmt.Sprint(strings.Count(read(metricsFile), "\n"))}
}

// If a file operation of a new or resumed run fails, or all from one on, as if the process had been
// killed, the run either continues or ends with the error of that operation. Afterwards it resumes
// from the last saved step and ends with the same bits. A power cut undoes none of what was saved.
// A checkpoint that cannot be read does not count as damaged.
func TestEveryFaultOfRun(t *testing.T) {
	r := least(t)
	on := func(f *faultfs.FS) run {
		r := r
		r.Out = filepath.Join(f.Dir, "runs", "x")
		return r
	}
	fresh, half := faultfs.New(t, ""), faultfs.New(t, "")
	_, _, _, err := trainOn(t.Context(), fresh, on(fresh))
	must.Do(t, err)
	must.Do(t, fresh.Durable())
	want := contents(t, on(fresh).Out)
	ctx, cancel := context.WithCancel(t.Context())
	tr := must.Get(New(ctx, r.Config, echoData(r.Config), Options{Dir: on(half).Out, Saved: func() error { cancel(); return nil }}))(t)
	must.Fail(t, tr.Fit(ctx), ErrInterrupted)
	must.Do(t, tr.Close())
	for what, c := range map[string]struct {
		start string
		saved int
	}{"new": {"", 0}, "interrupted": {half.Dir, 1}} {
		faultfs.EachFault(t, c.start, func(f *faultfs.FS, fault *faultfs.Fault) {
			r := on(f)
			again, from, saved, err := trainOn(t.Context(), f, r)
			failed := fault.Over()
			what := what + ": " + fault.String()
			named := err == nil || strings.Contains(err.Error(), r.Out) || strings.Contains(err.Error(), fault.Path)
			if err != nil && !(failed && errors.Is(err, fault.Err)) || !named || errors.Is(err, ErrData) || errors.Is(err, ErrConfig) {
				t.Errorf("%s: error %v, expected the cause, with the path", what, err)
			}
			if again != nil && from < c.saved {
				t.Errorf("%s: the run continues from step %d, but had saved step %d", what, from, c.saved)
			}
			ends(t, what, f, r, want, max(c.saved, saved))
		})
	}
}
