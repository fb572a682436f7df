package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/filelock"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Worker trains the runs of sweeps, one at a time.
type Worker struct {
	Name string // for people; "": the host's name and the process
	// Dir is the folder of the run that is being trained and of fetched data. One worker at a time
	// uses it. "": a temporary one.
	Dir     string
	Threads int                                                           // of training; 0: as the run says
	Idle    time.Duration                                                 // without a run for so long, Run returns; 0: never
	Load    func(context.Context, train.Config) (*dataset.Dataset, error) // the data of a run
	// MapPaths replaces each path of data in a configuration by that which f returns. nil: the data
	// have no paths.
	MapPaths func(c *train.Config, f func(path string) (string, error)) error
	Reporter train.Reporter // of every run's progress; nil: none
	Log      *slog.Logger

	cache   cache
	seen    map[string]sighting // by key
	version string              // of the program
}

// sighting is when a worker first saw an entry with its present revision.
type sighting struct {
	rev  uint64
	time time.Time
}

// Run takes runs until ctx is cancelled or the worker is idle. If ctx is cancelled, it stores a
// checkpoint, gives the run back and returns ErrInterrupted. It outlasts every loss of the broker.
func (w *Worker) Run(ctx context.Context, nc *nats.Conn) error {
	if w.Reporter == nil {
		w.Reporter = train.LogLines(slog.New(slog.DiscardHandler))
	}
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s-%d", cmp.Or(host, "worker"), os.Getpid())
	}
	w.version = cmp.Or(w.version, program.Version())
	closeFolder, err := w.folder()
	if err != nil {
		return err
	}
	defer closeFolder()
	w.seen, w.cache = map[string]sighting{}, cache{filepath.Join(w.Dir, "data"), map[string]string{}}
	idleSince, waiting := time.Now(), ""
	for ctx.Err() == nil {
		worked, err := w.next(ctx, nc)
		switch {
		case worked:
			idleSince, waiting = time.Now(), ""
		case w.Idle > 0 && time.Since(idleSince) >= w.Idle:
			return nil
		}
		if err != nil && ctx.Err() == nil {
			if text := err.Error(); text != waiting {
				waiting = text
				w.Log.Warn("waiting", "reason", text)
			}
			sleep(ctx, time.Second)
		}
	}
	return fmt.Errorf("cluster: worker: %w", train.ErrInterrupted)
}

// folder makes and locks the worker's folder. closeFolder unlocks it, and removes it if it is
// temporary.
func (w *Worker) folder() (closeFolder func(), err error) {
	if w.Dir == "" {
		if w.Dir, err = os.MkdirTemp("", "s4d-fast-worker-"); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		return func() { os.RemoveAll(w.Dir); w.Dir = "" }, nil
	}
	var lock *filelock.Lock
	if err = os.MkdirAll(w.Dir, 0o755); err == nil {
		lock, err = filelock.Try(filepath.Join(w.Dir, "lock"))
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return func() { lock.Close() }, nil
}

func (w *Worker) runDir() string { return filepath.Join(w.Dir, "run") }

// watchTime is the time for which a worker watches the entries. Then it reads all of them again,
// and finds those whose workers are lost.
const watchTime = 2 * time.Second

// next waits for a run that has no worker, or whose worker is lost, and trains it. It reports
// whether there was one.
func (w *Worker) next(ctx context.Context, nc *nats.Conn) (bool, error) {
	ask, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	s, err := open(ask, nc)
	if err != nil {
		return false, err
	}
	var l *lease
	var rejected error // an entry of another version
	err = s.watch(ask, ">", watchTime, func(got jetstream.KeyValueEntry) (bool, error) {
		e, err := parseEntry(got.Value())
		if err != nil {
			rejected = err
			return true, nil
		}
		key := strings.TrimPrefix(got.Key(), entryPrefix)
		if !w.free(key, e, got.Revision()) {
			return true, nil
		}
		l, err = claim(ask, s.kv, key, e, got.Revision(), w.Name)
		if conflict(err) || errors.Is(err, errLost) { // another worker was faster
			return true, nil
		}
		return false, err
	})
	if err != nil || l == nil {
		return false, cmp.Or(err, rejected)
	}
	return true, w.take(ctx, s, l)
}

// free reports whether a worker may take a run with an entry: nobody has it, or the worker that has
// it has not renewed the entry for the lease.
func (w *Worker) free(key string, e entry, rev uint64) bool {
	last := w.seen[key]
	if last.rev != rev {
		last = sighting{rev, time.Now()}
		w.seen[key] = last
	}
	switch e.Status {
	case queued:
		return true
	case running, stopping:
		return time.Since(last.time) > e.Lease
	}
	return false
}

// take trains the run of a lease. An error is one of the broker.
func (w *Worker) take(ctx context.Context, s *store, l *lease) error {
	ask, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r := &run{Worker: w, store: s, lease: l, log: w.Log, now: l.entry().progress}
	text, err := s.kv.Get(ask, jobPrefix+l.key)
	if err != nil {
		return r.release(queued, fmt.Errorf("cluster: job %s: %w", l.key, err))
	}
	if r.job, err = parseJob(text.Value()); err != nil {
		return r.fail(err)
	}
	w.Log.Info("run", "name", r.job.Name, "sweep", r.job.Sweep)
	if r.job.Program != w.version {
		w.Log.Warn("the coordinator's program has another version, so results may differ", "coordinator", r.job.Program, "worker", w.version)
	}
	switch err = r.guarded(ctx); {
	case err == nil:
		w.Log.Info("run complete", "name", r.job.Name)
	case errors.Is(err, errLost), errors.Is(err, errStop), errors.Is(err, train.ErrInterrupted):
		w.Log.Warn("run left", "name", r.job.Name, "reason", err)
	default:
		w.Log.Error("run failed", "name", r.job.Name, "error", err)
		sleep(ctx, time.Second)
	}
	return nil
}
