package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// A cancelled sweep stops its workers after a checkpoint. Started again, with another worker and
// another connection, it continues from there.
func TestDrain(t *testing.T) {
	b := start(t)
	s := tiny(t, t.TempDir(), 2, "train.checkpoint_every=1")
	ctx, cancel := context.WithCancel(t.Context())
	kept := 0 // steps of the run that is stopped
	c := &Coordinator{Sweep: s, Log: logger(t), Lease: LeastLease, Watch: func(all []Status) {
		for _, st := range all {
			if st.State == running && st.Step >= 2 {
				cancel()
			}
			if st.State == stopped {
				kept = max(kept, st.Step)
			}
		}
	}}
	nc := connect(t, b)
	cancelled := make(chan struct{})
	// The run of the first worker waits in step 3 until the worker has been told to stop.
	go func() {
		defer close(cancelled)
		<-ctx.Done()
		st := must.Get(open(t.Context(), nc))(t)
		watch := must.Get(st.kv.Watch(t.Context(), entryPrefix+">"))(t)
		for got := range watch.Updates() {
			if got != nil {
				if e, err := parseEntry(got.Value()); err == nil && e.Status == stopping {
					return
				}
			}
		}
	}()
	stop := work(t, connect(t, b), &Worker{Name: "first", Reporter: holdAt{3, cancelled}})
	if rows, err := c.Run(ctx, nc); !errors.Is(err, train.ErrInterrupted) || len(rows) > 0 || kept < 2 || kept >= 12 {
		t.Fatalf("%d rows, %d steps, error %v; expected 0 rows, 2 to 11 steps, error %v", len(rows), kept, err, train.ErrInterrupted)
	}
	_ = stop()
	c.Watch = nil
	work(t, connect(t, b), &Worker{Name: "second"})
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	same(t, s, alone(t, 2))
}

// holdAt is a reporter that holds each run at a step until a channel is closed.
type holdAt struct {
	step  int
	until <-chan struct{}
}

func (h holdAt) Begin(train.Progress)      {}
func (h holdAt) Epoch(train.Metrics, bool) {}
func (h holdAt) End()                      {}
func (h holdAt) Step(p train.Progress) {
	if p.Step == h.step {
		<-h.until
	}
}

// A worker that is told to stop gives its run back, and another one takes it at once: the lease is
// longer than the test. The run has a log of both.
func TestWorkerStops(t *testing.T) {
	b := start(t)
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=2")
	ctx, cancel := context.WithCancel(t.Context())
	first := &Worker{Name: "first", Load: loadTask, Log: logger(t), Reporter: cancelAt{holdAt{step: 3}, cancel}}
	nc := connect(t, b)
	go func() {
		if err := first.Run(ctx, nc); !errors.Is(err, train.ErrInterrupted) {
			t.Errorf("stopped worker: %v", err)
		}
		work(t, connect(t, b), &Worker{Name: "second"})
	}()
	must.Get((&Coordinator{Sweep: s, Log: logger(t), Lease: 1 << 40}).Run(t.Context(), connect(t, b)))(t)
	same(t, s, alone(t, 1))
	log := readFile(t, s.Dir, "ssm.init=lin,seed=1/"+logFile)
	for _, part := range []string{"worker=first level=" + levelName() + " step=0\n", "worker=second level=" + levelName() + " step=3\n", "epoch=3 ", "msg=\"run complete\""} {
		if strings.Count(log, part) != 1 {
			t.Errorf("%s of the run that two workers trained: expected %q once:\n%s", logFile, part, log)
		}
	}
}

// The table has all levels that trained a run.
func TestLevels(t *testing.T) {
	levels := level.Levels()
	if len(levels) < 2 {
		t.Skip("this processor or this build has one level")
	}
	b := start(t)
	url, here := b.URLs()[0], host{}
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=3")
	first := here.start(t, "worker", url, "first", levels[0], "wait")
	both := make(chan string, 1) // the run that two workers train
	go func() {
		_, name, _ := strings.Cut(<-first.lines, "waits ")
		both <- name
		first.kill()
		here.start(t, "worker", url, "second", levels[1])
	}()
	must.Get((&Coordinator{Sweep: s, Log: logger(t), Lease: LeastLease}).Run(t.Context(), connect(t, b)))(t)
	table := must.Get(train.ReadSweep(s.Dir))(t)
	must.Equal(t, len(table.Rows), 2, "rows")
	name := <-both
	for _, row := range table.Rows {
		want := levels[1]
		if name == "ssm.init="+row.Values[0]+" seed=1" {
			want = levels[0] + "+" + levels[1]
		}
		must.Equal(t, row.Level, want, "level of ssm.init=%s (%s was given to another worker)", row.Values[0], name)
	}
}

type cancelAt struct {
	holdAt
	cancel func()
}

func (c cancelAt) Step(p train.Progress) {
	if p.Step == c.step {
		c.cancel()
	}
}

// A run that fails on every attempt is reported at the end, with the worker's error. The others are
// complete. The next start tries it again.
func TestFailedRun(t *testing.T) {
	b := start(t)
	broken := true
	w := &Worker{Name: "only", Load: func(ctx context.Context, c train.Config) (*dataset.Dataset, error) {
		if broken && c.SSM.Init == "lin" {
			return nil, errors.New("the disk is on fire")
		}
		return loadTask(ctx, c)
	}}
	stop := work(t, connect(t, b), w)
	s := tiny(t, t.TempDir(), 1)
	c := &Coordinator{Sweep: s, Log: logger(t)}
	rows, err := c.Run(t.Context(), connect(t, b))
	must.Equal(t, len(rows), 1, "rows")
	must.Fail(t, err, "ssm.init=lin seed=1", "the disk is on fire", "worker only")
	_ = stop()
	broken = false
	work(t, connect(t, b), w)
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	same(t, s, alone(t, 1))
}

// Data that a worker does not have come from the coordinator, once for all runs.
func TestData(t *testing.T) {
	b := start(t)
	here := filepath.Join(t.TempDir(), "echoes")
	writeFile(t, here, "length.txt", "32")
	s := tiny(t, t.TempDir(), 2)
	var loaded []string
	w := &Worker{Name: "far", Dir: t.TempDir(), Load: loadTask, MapPaths: func(c *train.Config, f func(string) (string, error)) error {
		path, err := f(here)
		if err != nil {
			return err
		}
		loaded = append(loaded, readFile(t, path, "length.txt"), path)
		return nil
	}}
	w.cache.far = true
	c := &Coordinator{Sweep: s, Log: logger(t), MapPaths: func(_ *train.Config, f func(string) (string, error)) error {
		_, err := f(here)
		return err
	}}
	stop := work(t, connect(t, b), w)
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	same(t, s, alone(t, 2))
	must.Equal(t, len(loaded), 8, "loaded")
	for i := 0; i < len(loaded); i += 2 {
		must.Equal(t, loaded[i], "32", "content")
		if rel, err := filepath.Rel(w.Dir, loaded[i+1]); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("data at %s, expected them in the cache", loaded[i+1])
		}
	}
	_ = stop()
	if _, err := os.Stat(filepath.Join(w.Dir, "run")); !os.IsNotExist(err) {
		t.Errorf("the folder of the last run: %v", err)
	}
}

// A run that was begun without a cluster is an error, and its folder stays as it is.
func TestLocalRun(t *testing.T) {
	s := tiny(t, t.TempDir(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.Reporter = cancelAt{holdAt{step: 5}, cancel}
	must.Reject(s.Run(ctx))(t, train.ErrInterrupted)
	must.Reject((&Coordinator{Sweep: s, Log: logger(t)}).Run(t.Context(), connect(t, start(t))))(t, "already holds a run")
	s.Reporter = nil
	must.Get(s.Run(t.Context()))(t)
	same(t, s, alone(t, 1))
}
