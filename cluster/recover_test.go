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
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
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
				kept = st.Step
			}
		}
	}}
	nc := connect(t, b)
	cancelled := make(chan struct{})
	// The run of the first worker waits in step 3 until the worker has been told to stop, and for
	// two leases after that, in which the worker renews its lease.
	go func() {
		defer close(cancelled)
		<-ctx.Done()
		if st, err := open(t.Context(), nc); err == nil {
			if w, err := st.kv.Watch(t.Context(), "*.stop"); err == nil {
				for e := range w.Updates() {
					if e != nil && e.Operation() == jetstream.KeyValuePut {
						sleep(t.Context(), 2*LeastLease)
						return
					}
				}
			}
		}
	}()
	stop := work(t, connect(t, b), &Worker{Name: "first", Reporter: holdAt{3, nil, cancelled}})
	if rows, err := c.Run(ctx, nc); !errors.Is(err, train.ErrInterrupted) || len(rows) > 0 || kept < 3 || kept >= 12 {
		t.Fatalf("%d rows, %d steps, error %v; expected 0 rows, 3 to 11 steps, error %v", len(rows), kept, err, train.ErrInterrupted)
	}
	st := must.Get(open(t.Context(), nc))(t)
	queue := must.Get(st.js.Stream(t.Context(), runsStream))(t)
	must.Equal(t, queue.CachedInfo().State.Msgs, 0, "messages in the queue")
	_ = stop()
	c.Watch = nil
	work(t, connect(t, b), &Worker{Name: "second"})
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	same(t, s, alone(t, 2))
}

// holdAt is a reporter that holds each run at a step until a channel is closed.
type holdAt struct {
	step  int
	begun chan struct{}
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

// signalAt also sends on begun.
type signalAt struct{ holdAt }

func (s signalAt) Step(p train.Progress) {
	if p.Step == s.step {
		s.begun <- struct{}{}
		<-s.until
	}
}

// The threads of a worker are limited as those of a run, which would fail otherwise.
func TestWorkerThreads(t *testing.T) {
	for _, n := range []int{-1, 1025} {
		must.Fail(t, (&Worker{Threads: n}).Run(t.Context(), nil), "threads, expected 0 to 1024")
	}
}

// A worker that hangs in a step loses its run to another one, although its process lives on and
// renews the lease until then. When it wakes up, it cannot change the result.
func TestStall(t *testing.T) {
	b := start(t)
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=1")
	reached, until := make(chan struct{}, 1), make(chan struct{})
	stop := work(t, connect(t, b), &Worker{Name: "first", Stall: 2 * LeastLease, Reporter: signalAt{holdAt{3, reached, until}}})
	go func() {
		<-reached
		work(t, connect(t, b), &Worker{Name: "second"})
	}()
	c := &Coordinator{Sweep: s, Log: logger(t), Lease: LeastLease, Watch: func(all []Status) {
		for _, st := range all {
			if st.State == done && st.Worker != "second" {
				t.Errorf("%s is done by the worker %q", st.Name, st.Worker)
			}
		}
	}}
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	close(until)
	must.Fail(t, stop(), train.ErrInterrupted)
	same(t, s, alone(t, 1))
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

// A run that was begun without a cluster continues from its checkpoint.
func TestLocalCheckpoint(t *testing.T) {
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=1")
	ctx, cancel := context.WithCancel(t.Context())
	s.Reporter = cancelAt{holdAt{step: 5}, cancel}
	if _, err := s.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
	b := start(t)
	first := 1 << 20 // step of the first run
	work(t, connect(t, b), &Worker{Name: "only", Reporter: beginAt{holdAt{}, &first}})
	must.Get((&Coordinator{Sweep: s, Log: logger(t)}).Run(t.Context(), connect(t, b)))(t)
	must.Equal(t, first, 5, "step at which the first run began")
	same(t, s, alone(t, 1))
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

type beginAt struct {
	holdAt
	first *int
}

func (b beginAt) Begin(p train.Progress) {
	if *b.first == 1<<20 {
		*b.first = p.Step
	}
}
func (b beginAt) Step(train.Progress) {}

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
	w.tree = func(string, int64, func() error) (dataRef, error) {
		return dataRef{}, errors.New("not on this machine")
	}
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

// begun returns a run that worker a has claimed, and its trainer before the first step.
func begun(t *testing.T, s *store, set ...string) (*run, *train.Trainer) {
	t.Helper()
	sweep := tiny(t, t.TempDir(), 1, set...)
	folder := must.Get(sweep.Open())(t)
	defer folder.Close()
	cfg := folder.Runs[0].Config
	text := must.Get(cfg.Encode())(t)
	w := &Worker{Name: "a", Dir: t.TempDir(), Stall: time.Minute, Log: logger(t), store: s, cache: &cache{}}
	tr := must.Get(train.New(t.Context(), cfg, must.Get(loadTask(t.Context(), cfg))(t), train.Options{Dir: w.runDir()}))(t)
	t.Cleanup(func() { tr.Close() })
	l := must.Get(claim(t.Context(), s.kv, testKey, "a"))(t)
	return &run{Worker: w, job: &job{Sweep: testKey[:16], Config: string(text)}, lease: l, log: w.Log, began: time.Now()}, tr
}

// A worker whose write seemed to fail, and whose run was then given to another one, does not delete
// the files that this write stored.
func TestLostAfterWrite(t *testing.T) {
	s := stored(t, entry{Status: queued})
	r, tr := begun(t, s)
	a := r.lease
	before, rev := a.now, a.rev
	must.Do(t, r.storeFiles(t.Context(), tr, nil))
	a.now, a.rev = before, rev
	b := must.Get(claim(t.Context(), s.kv, testKey, "b"))(t)
	must.Fail(t, r.storeFiles(t.Context(), tr, nil), errLost)
	must.Equal(t, len(b.entry().Files), 2, "files")
	must.Equal(t, strings.Join(b.entry().Levels, "+"), levelName(), "levels of the checkpoint")
	must.Do(t, get(t.Context(), atomicfile.System(), s.objects, t.TempDir(), b.entry().Files, nil))
}

// A result whose files cannot be read is an error of the run, which the worker does not try to
// store for ever.
func TestFinishLocalError(t *testing.T) {
	r, tr := begun(t, stored(t, entry{Status: queued}))
	must.Do(t, os.Mkdir(filepath.Join(r.runDir(), logFile), 0o777)) // a folder instead of the file
	err := r.finish(t.Context(), tr, &result{})
	must.Fail(t, err, logFile)
	if errors.As(err, new(brokerError)) {
		t.Errorf("%v counts as an error of the broker", err)
	}
}

// A worker that cannot store checkpoints says so once.
func TestCheckpointsDuringOutage(t *testing.T) {
	r, tr := begun(t, stored(t, entry{Status: queued}))
	var log bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	r.store.nc.Close()
	for range 3 {
		must.Do(t, r.saved(t.Context(), tr))
	}
	must.Equal(t, strings.Count(log.String(), "without storing checkpoints"), 1, "lines")
}

// A coordinator that is interrupted while it reads the data returns the runs that are complete.
func TestInterruptedHash(t *testing.T) {
	s := tiny(t, t.TempDir(), 1)
	local, stop := context.WithCancel(t.Context())
	s.Begin = func(run, _ int, _ string, _ *train.Trainer) {
		if run == 2 {
			stop()
		}
	}
	must.Reject(s.Run(local))(t, train.ErrInterrupted)
	ctx, cancel := context.WithCancel(t.Context())
	var log bytes.Buffer
	c := &Coordinator{Sweep: s, Log: slog.New(slog.NewTextHandler(&log, nil)), MapPaths: func(_ *train.Config, f func(string) (string, error)) error {
		if _, err := f(t.TempDir()); err != nil {
			return err
		}
		cancel()
		_, err := f("more")
		return err
	}}
	rows, err := c.Run(ctx, nil)
	must.Fail(t, err, train.ErrInterrupted)
	must.Equal(t, len(rows), 1, "rows")
	must.Equal(t, strings.Count(log.String(), "computing the hash"), 1, "lines")
}

// A coordinator ends when it finds the entry of another version. It does not try again, as it does
// after an error of the broker.
func TestOtherVersion(t *testing.T) {
	st := stored(t, entry{Status: queued})
	text := []byte(`{"version":99}`)
	must.Get(st.kv.Put(t.Context(), testKey, text))(t)
	s := &sweep{Coordinator: &Coordinator{Log: logger(t)}, store: st, id: testKey[:16], jobs: []*job{{Sweep: testKey[:16]}}, open: map[int]bool{0: true}, state: make([]Status, 1)}
	for _, err := range []error{s.enqueue(t.Context(), false), s.changed(t.Context(), testKey, text)} {
		must.Fail(t, err, "entry of version 99")
		if errors.As(err, new(brokerError)) {
			t.Errorf("%v counts as an error of the broker", err)
		}
	}
}
