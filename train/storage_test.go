package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
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

// ends reports whether the run, resumed on a file system, continues from step saved or a later
// one, and ends with the bits of the run that was never stopped.
func ends(t *testing.T, what string, f *memfs.FS, r run, want *Trainer, saved int) bool {
	t.Helper()
	tr, s, err := trainOn(t.Context(), f, r)
	if err != nil {
		t.Errorf("%s: the run cannot be resumed: %v; files:\n%v", what, err, f)
		return false
	}
	whole := s.from >= saved
	if !whole {
		t.Errorf("%s: the run continues from step %d, but had saved step %d", what, s.from, saved)
	}
	for _, name := range []string{bestFile, checkpointFile} {
		if a, b := contentOf(t, tr, name), contentOf(t, want, name); a != b {
			t.Errorf("%s: after resuming, %s differs", what, name)
			whole = false
		}
	}
	for _, name := range must.Get(f.ReadDir(r.Out))(t) {
		if strings.HasSuffix(name.Name(), ".tmp") {
			t.Errorf("%s: %s remains", what, name.Name())
			whole = false
		}
	}
	if lines := strings.Count(string(must.Get(tr.run.files.ReadFile(tr.run.path(metricsFile), 1<<20))(t)), "\n"); lines != 2 {
		t.Errorf("%s: %d epochs in %s, expected 2", what, lines, metricsFile)
		whole = false
	}
	return whole
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

// If any file operation of a training run fails, the run ends with an error of that operation or
// goes on. Afterwards, and after a power cut, it can be resumed and ends with the same bits.
func TestEveryFaultOfRun(t *testing.T) {
	r := least(t)
	want, _ := undisturbed(t, memfs.New(), r)
	tried, held := 0, 0
	check := func(ok bool) {
		if tried++; ok {
			held++
		}
	}
	attempts := memfs.EachFault(memfs.New(), faults(), func(f *memfs.FS, fault *memfs.Fault) {
		_, s, err := trainOn(t.Context(), f, r)
		if !fault.Over() {
			must.Do(t, err)
			ends(t, "without a fault", f.PowerCut(memfs.Everything), r, want, 2)
			return
		}
		if err != nil && (!errors.Is(err, fault.Err) || !strings.Contains(err.Error(), "runs") && !strings.Contains(err.Error(), fault.Path+":") || blamesFiles(err)) {
			t.Errorf("%v: error %v, expected the cause, with the path", fault, err)
		}
		for _, loss := range []memfs.Loss{memfs.Everything, memfs.Torn}[:must.Cases(1, 2)] {
			check(ends(t, fault.String()+", then a power cut", f.PowerCut(loss), r, want, s.last()))
		}
		check(ends(t, fault.String(), f, r, want, s.last()))
	})
	t.Logf("%d faults", attempts)
	must.Tally(t, "a run whose file operation fails at any step resumes to the same bits", tried, held)
}

// If any file operation of the start of a resumed run fails, nothing is lost.
func TestEveryFaultOfResume(t *testing.T) {
	r := least(t)
	want, _ := undisturbed(t, memfs.New(), r)
	half := memfs.New()
	ctx, cancel := context.WithCancel(t.Context())
	tr := must.Get(New(ctx, r.Config, echoData(r.Config), Options{Dir: r.Out, files: half, Saved: func() error { cancel(); return nil }}))(t)
	must.Fail(t, tr.Fit(ctx), ErrInterrupted)
	files := atomicfile.Files{FS: half}
	tried, held := 0, 0
	try := func(what string, start *memfs.FS, saved int) {
		memfs.EachFault(start, faults(), func(f *memfs.FS, fault *memfs.Fault) {
			again, s, err := trainOn(t.Context(), f, r) // with or without an error after a fault
			if !fault.Over() {
				must.Do(t, err)
				ends(t, what+", without a fault", f.PowerCut(memfs.Everything), r, want, 2)
				return
			}
			cut, least := f.PowerCut(memfs.Everything), max(saved, s.last())
			tried++
			if blamesFiles(err) {
				t.Errorf("%s: %v: error %v, expected neither ErrData nor ErrConfig", what, fault, err)
			} else if again != nil && s.from < saved {
				t.Errorf("%s: %v: the run continues from step %d, but had saved step %d", what, fault, s.from, saved)
			} else if ends(t, what+": "+fault.String(), f, r, want, least) && ends(t, what+": "+fault.String()+", then a power cut", cut, r, want, least) {
				held++
			}
		})
	}
	try("interrupted", half, 1)
	must.Do(t, files.Remove(filepath.Join(r.Out, filepath.FromSlash(checkpointFile))))
	try("with the previous checkpoint", half, 0)
	must.Tally(t, "a resumed run whose file operation fails at any step can be resumed again", tried, held)
}

// A checkpoint that cannot be read is not damaged: the run does not fall back to the previous one.
func TestUnreadableCheckpoint(t *testing.T) {
	r, f := least(t), memfs.New()
	undisturbed(t, f, r)
	path := filepath.Join(r.Out, filepath.FromSlash(checkpointFile))
	for reads := 0; ; reads++ {
		left := reads
		f.Fault = func(_ int, operation, name string) error {
			if operation == "Read" && name == path {
				if left--; left < 0 {
					return syscall.EIO
				}
			}
			return nil
		}
		tr, err := New(t.Context(), r.Config, echoData(r.Config), Options{Dir: r.Out, Resume: true, files: f})
		f.Fault = nil
		if err == nil && left >= 0 { // all reads succeeded
			must.Equal(t, tr.Step(), 2, "step")
			must.Equal(t, reads > 2, true, "several reads")
			tr.Close()
			return
		}
		must.Fail(t, err, syscall.EIO, path)
	}
}

// After a power cut at any moment of a run, it can be resumed and ends with the same bits.
func TestEveryPowerCutOfRun(t *testing.T) {
	r := least(t)
	var want *Trainer
	var s steps
	tried, held := 0, 0
	tried = memfs.EachPowerCut(memfs.New(), must.Cases(1, 20), func(f *memfs.FS) {
		want, s = undisturbed(t, f, r)
	}, func(after *memfs.FS, when string) {
		if ends(t, when, after, r, want, s.after(cutAfter(t, when))) {
			held++
		}
	})
	must.Tally(t, "a run resumes to the same bits after a power cut at any step", tried, held)
}

// A table whose write fails at any step, or is cut off, has the rows before or after it, and the
// sweep can be run again to the same table.
func TestSweepStorage(t *testing.T) {
	s := Sweep{Base: least(t).Config, Axes: []Axis{{Keys: []string{"optim.lr"}, Values: []string{"0.01", "0.02"}}}, Load: loadEchoes,
		Seeds: 1, Dir: filepath.Join("sweeps", "x")}
	must.Do(t, s.Base.Set("train.epochs=1"))
	on := func(f *memfs.FS) Sweep { s.files = f; return s }
	table := func(f *memfs.FS) string {
		b, err := atomicfile.Files{FS: f}.ReadFile(filepath.Join(s.Dir, sweepFile), maxSweep)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		return string(b)
	}
	runs := memfs.New()
	rows := must.Get(on(runs).Run(t.Context()))(t)
	want := table(runs)
	lines := strings.SplitAfter(want, "\n")
	must.Do(t, runs.Remove(filepath.Join(s.Dir, sweepFile)))
	record := func(f *memfs.FS) (recorded []int, err error) { // the operations after which each row was recorded
		folder, err := on(f).Open()
		for i := 0; i < len(rows) && err == nil; i++ {
			if err = folder.Record(i, rows[i]); err == nil {
				recorded = append(recorded, f.Operations())
			}
		}
		return recorded, err
	}
	first := func(n int) string { // the table with n rows
		if n == 0 {
			return ""
		}
		return strings.Join(lines[:1+min(n, len(rows))], "")
	}
	tried, held := 0, 0
	check := func(what string, f *memfs.FS, n int) { // n rows were recorded
		tried++
		if got := table(f); got != first(n) && got != first(n+1) {
			t.Errorf("%s: the table is %q, expected the first %d or %d rows of %q", what, got, n, n+1, want)
			return
		}
		if _, err := on(f).Run(t.Context()); err != nil {
			t.Errorf("%s: run again: %v", what, err)
		} else if got := table(f); got != want {
			t.Errorf("%s: run again, the table is %q, expected %q", what, got, want)
		} else {
			held++
		}
	}
	memfs.EachFault(runs, faults(), func(f *memfs.FS, fault *memfs.Fault) {
		recorded, err := record(f)
		if !fault.Over() {
			return
		}
		if err != nil && !errors.Is(err, fault.Err) {
			t.Errorf("%v: error %v", fault, err)
		}
		cut := f.PowerCut(memfs.Everything)
		check(fault.String(), f, len(recorded))
		check(fault.String()+", then a power cut", cut, len(recorded))
	})
	var recorded []int
	memfs.EachPowerCut(runs, must.Cases(1, 10), func(f *memfs.FS) {
		recorded = must.Get(record(f))(t)
	}, func(after *memfs.FS, when string) {
		check(when, after, steps{saved: recorded}.after(cutAfter(t, when)))
	})
	must.Tally(t, "a sweep's table has the rows before or after a write that fails, or is cut off, at any step", tried, held)
}
