package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Two workers make the runs of a sweep, and end when there are none left. The folder is then that
// of the same sweep run alone, and the broker has nothing of it. The workers have another
// version, and warn of it.
func TestSweep(t *testing.T) {
	t.Parallel()
	url := start(t)
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	idle := func() error {
		return (&Worker{Load: loadTask, Idle: 1, Log: log, version: "v0.1"}).Run(t.Context(), connect(t, url))
	}
	must.Do(t, idle()) // before the first sweep
	var last []Status
	ended := make(chan error, 2)
	s := tiny(t, t.TempDir(), 3)
	c := &Coordinator{Sweep: s, Log: logger(t), Watch: func(all []Status) {
		if last == nil {
			go func() { ended <- idle() }()
			go func() { ended <- idle() }()
		}
		last = all
	}}
	nc := connect(t, url)
	rows := must.Get(c.Run(t.Context(), nc))(t)
	must.Equal(t, len(rows), 6, "rows")
	same(t, s, alone(t, 3))
	must.Do(t, errors.Join(<-ended, <-ended))
	if !strings.Contains(text.String(), "worker=v0.1") {
		t.Errorf("no note on the other version: %s", &text)
	}
	for _, st := range last {
		if st.State != done || st.Worker == "" || st.Result == "" || st.Level != level.Current() {
			t.Errorf("last status %+v", st)
		}
	}
	st := must.Get(open(t.Context(), nc))(t)
	if objects, _ := st.objects.List(t.Context()); len(objects) != 0 {
		t.Errorf("%d objects are left", len(objects))
	}
	must.Reject(st.kv.Keys(t.Context()))(t, jetstream.ErrNoKeysFound)
	again := must.Get(c.Run(t.Context(), nc))(t)
	must.Equal(t, len(again), 6, "rows of the complete sweep")
}

// A cancelled sweep stops its workers after a checkpoint. Started again, with another worker and
// another connection, it continues from there.
func TestCancel(t *testing.T) {
	t.Parallel()
	url := start(t)
	s := tiny(t, t.TempDir(), 2, "train.checkpoint_every=1")
	ctx, cancel := context.WithCancel(t.Context())
	c := &Coordinator{Sweep: s, Log: logger(t), Lease: LeastLease, Watch: func(all []Status) {
		for _, st := range all {
			if st.State == running && st.Step >= 2 {
				cancel()
			}
		}
	}}
	cancelled := make(chan struct{}) // until then, the run of the first worker waits in step 3
	stop := work(t, connect(t, url), &Worker{Name: "first", Reporter: holdAt{3, cancelled}})
	if rows, err := c.Run(ctx, connect(t, url)); !errors.Is(err, train.ErrInterrupted) || len(rows) > 0 {
		t.Fatalf("%d rows, error %v; expected 0 rows, error %v", len(rows), err, train.ErrInterrupted)
	}
	close(cancelled)
	kept := 0 // steps of the run that was stopped
	watch := must.Get(must.Get(open(t.Context(), connect(t, url)))(t).kv.Watch(t.Context(), entryPrefix+">"))(t)
	for got := range watch.Updates() {
		if got == nil {
			continue
		}
		if e := must.Get(parseEntry(got.Value()))(t); e.Status == stopped && e.Step > 0 {
			kept = e.Step
			break
		}
	}
	if kept < 2 || kept >= 12 {
		t.Errorf("a run was stopped after %d steps, expected 2 to 11", kept)
	}
	_ = stop()
	c.Watch = nil
	work(t, connect(t, url), &Worker{Name: "second"})
	must.Get(c.Run(t.Context(), connect(t, url)))(t)
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
	t.Parallel()
	url := start(t)
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=2")
	ctx, cancel := context.WithCancel(t.Context())
	first := &Worker{Name: "first", Load: loadTask, Log: logger(t), Reporter: cancelAt{holdAt{step: 3}, cancel}}
	nc := connect(t, url)
	go func() {
		must.Fail(t, first.Run(ctx, nc), train.ErrInterrupted)
		work(t, connect(t, url), &Worker{Name: "second"})
	}()
	must.Get((&Coordinator{Sweep: s, Log: logger(t), Lease: 1 << 40}).Run(t.Context(), connect(t, url)))(t)
	same(t, s, alone(t, 1))
	log := readFile(t, s.Dir, "ssm.init=lin,seed=1/"+logFile)
	for _, part := range []string{"worker=first level=" + level.Current() + " step=0\n", "worker=second level=" + level.Current() + " step=3\n", "epoch=3 ", "msg=\"run complete\""} {
		if strings.Count(log, part) != 1 {
			t.Errorf("%s of the run that two workers trained: expected %q once:\n%s", logFile, part, log)
		}
	}
}

// The table has all levels that trained a run.
func TestLevels(t *testing.T) {
	t.Parallel()
	levels := level.Levels()
	if len(levels) < 2 {
		t.Skip("this processor or this build has one level")
	}
	url := start(t)
	here := host{}
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=3")
	first := here.start(t, "worker", url, "first", levels[0], "wait")
	both := make(chan string, 1) // the run that two workers train
	go func() {
		_, name, _ := strings.Cut(<-first.lines, "waits ")
		both <- name
		first.kill()
		here.start(t, "worker", url, "second", levels[1])
	}()
	must.Get((&Coordinator{Sweep: s, Log: logger(t), Lease: LeastLease}).Run(t.Context(), connect(t, url)))(t)
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
	t.Parallel()
	url := start(t)
	broken := true
	w := &Worker{Name: "only", Load: func(ctx context.Context, c train.Config) (*dataset.Dataset, error) {
		if broken && c.SSM.Init == "lin" {
			return nil, errors.New("the disk is on fire")
		}
		return loadTask(ctx, c)
	}}
	stop := work(t, connect(t, url), w)
	s := tiny(t, t.TempDir(), 1)
	c := &Coordinator{Sweep: s, Log: logger(t)}
	rows, err := c.Run(t.Context(), connect(t, url))
	must.Equal(t, len(rows), 1, "rows")
	must.Fail(t, err, "ssm.init=lin seed=1", "the disk is on fire", "worker only")
	_ = stop()
	broken = false
	work(t, connect(t, url), w)
	must.Get(c.Run(t.Context(), connect(t, url)))(t)
	same(t, s, alone(t, 1))
}

// Data that a worker does not have come from the coordinator, once for all runs.
func TestData(t *testing.T) {
	t.Parallel()
	url := start(t)
	here := filepath.Join(t.TempDir(), "echoes")
	writeFile(t, here, "length.txt", "32")
	s := tiny(t, t.TempDir(), 2)
	var loaded []string
	w := &Worker{Name: "far", Dir: t.TempDir(), MapPaths: func(c *train.Config, f func(string) (string, error)) error {
		path, err := f(here)
		if err != nil {
			return err
		}
		loaded = append(loaded, readFile(t, path, "length.txt"), path)
		return nil
	}}
	var stop func() error
	c := &Coordinator{Sweep: s, Log: logger(t), MapPaths: func(_ *train.Config, f func(string) (string, error)) error {
		_, err := f(here)
		return err
	}}
	c.Watch = func([]Status) { // after the data were stored
		if stop == nil {
			must.Do(t, os.RemoveAll(here))
			stop = work(t, connect(t, url), w)
		}
	}
	must.Get(c.Run(t.Context(), connect(t, url)))(t)
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
