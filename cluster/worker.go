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
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Worker trains the runs of sweeps, one at a time.
type Worker struct {
	Name string // for people; "": the host's name and the process
	// Dir is the folder of the run that is being trained and of the data cache. One worker at a
	// time uses it. "": a temporary one.
	Dir     string
	Cache   int64         // bytes that the data cache may have; 0: 10 GB
	Threads int           // of training; 0: as the run says
	Idle    time.Duration // without a run for so long, Run returns; 0: never
	Stall   time.Duration // a run without progress for so long is given up; 0: 30 minutes
	// Load loads the data of a run.
	Load func(context.Context, train.Config) (*dataset.Dataset, error)
	// MapPaths replaces each path of data in a configuration by that which f returns. nil: the data
	// have no paths.
	MapPaths func(c *train.Config, f func(path string) (string, error)) error
	Reporter train.Reporter // of every run's progress; nil: none
	Log      *slog.Logger   // nil: none

	store *store
	cache *cache
	tree  hashTree // treeOf, except in tests
}

// Run takes runs until ctx is cancelled or the worker is idle. If ctx is cancelled, it stores a
// checkpoint, gives the run back and returns ErrInterrupted. It outlasts every loss of the broker.
func (w *Worker) Run(ctx context.Context, nc *nats.Conn) error {
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s-%d", cmp.Or(host, "worker"), os.Getpid())
	}
	if w.Threads < 0 || w.Threads > train.MaxThreads {
		return fmt.Errorf("cluster: %d threads, expected 0 to %d", w.Threads, train.MaxThreads)
	}
	w.Stall = cmp.Or(w.Stall, 30*time.Minute)
	if w.tree == nil {
		w.tree = treeOf
	}
	closeFolder, err := w.folder()
	if err != nil {
		return err
	}
	defer closeFolder()
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
	temporary := w.Dir == ""
	var lock *filelock.Lock
	if temporary {
		removeAbandoned()
		w.Dir, lock, err = temporaryFolder()
	} else if err = os.MkdirAll(w.Dir, 0o755); err == nil {
		lock, err = filelock.Try(filepath.Join(w.Dir, lockName))
	}
	switch {
	case errors.Is(err, filelock.ErrLocked):
		return nil, fmt.Errorf("cluster: another worker uses %s: choose another folder", w.Dir)
	case err != nil:
		return nil, fmt.Errorf("cluster: %w", err)
	case !lock.Locked() && !temporary:
		w.Log.Warn("the folder cannot be locked on its file system: do not use it with another worker", "folder", w.Dir)
	}
	closeFolder = func() {
		if temporary {
			os.RemoveAll(w.Dir)
		}
		lock.Close()
		if temporary { // Windows does not remove files that are open
			os.RemoveAll(w.Dir)
			w.Dir = ""
		}
	}
	if err := os.RemoveAll(w.runDir()); err != nil { // left by a crash
		closeFolder()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	w.cache = &cache{dir: filepath.Join(w.Dir, "data"), limit: cmp.Or(w.Cache, 10e9), shared: map[string]string{}, intact: map[string]bool{}, tree: w.tree}
	return closeFolder, nil
}

const (
	lockName        = "lock" // the file in a worker's folder that is locked
	temporaryPrefix = "s4d-fast-worker-"
)

// temporarySuffix returns the end of temporary folders' names. A lock may not be seen by other
// machines with the same file system.
func temporarySuffix() string {
	host, _ := os.Hostname()
	return "@" + host
}

// temporaryFolder makes and locks a temporary folder.
func temporaryFolder() (dir string, lock *filelock.Lock, err error) {
	for range 10 {
		if dir, err = os.MkdirTemp("", temporaryPrefix+"*"+temporarySuffix()); err != nil {
			return "", nil, err
		}
		path := filepath.Join(dir, lockName)
		if lock, err = filelock.Try(path); err == nil {
			if _, err = os.Stat(path); err == nil {
				return dir, lock, nil
			}
			lock.Close()
		}
		os.RemoveAll(dir) // removeAbandoned of another worker has found it before it was locked
	}
	return "", nil, fmt.Errorf("temporary folder %s: %v", dir, err)
}

// removeAbandoned removes the temporary folders of this machine's workers that were killed. Those
// of other users stay.
func removeAbandoned() {
	folders, _ := os.ReadDir(os.TempDir())
	for _, f := range folders {
		if !strings.HasPrefix(f.Name(), temporaryPrefix) || !strings.HasSuffix(f.Name(), temporarySuffix()) {
			continue
		}
		dir := filepath.Join(os.TempDir(), f.Name())
		path := filepath.Join(dir, lockName)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock, err := filelock.Try(path)
		if err != nil {
			continue
		}
		if lock.Locked() { // false on file systems without locks
			os.RemoveAll(dir)
		}
		lock.Close()
	}
}

func (w *Worker) runDir() string { return filepath.Join(w.Dir, "run") }

// next waits some seconds for a run and trains it. It reports whether there was one.
func (w *Worker) next(ctx context.Context, nc *nats.Conn) (bool, error) {
	ask, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	s, err := open(ask, nc)
	if err != nil {
		return false, err
	}
	w.store = s
	queue, err := s.js.Consumer(ask, runsStream, consumer)
	if err != nil {
		return false, fmt.Errorf("cluster: %w", err)
	}
	info := queue.CachedInfo()
	batch, err := queue.Fetch(1, jetstream.FetchContext(ask))
	if err != nil {
		return false, fmt.Errorf("cluster: %w", err)
	}
	msg, ok := <-batch.Messages()
	if !ok {
		if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			return false, fmt.Errorf("cluster: %w", err)
		}
		return false, nil
	}
	return true, w.take(ctx, msg, info.Config.AckWait)
}

// take trains the run of a message. An error is one of the broker.
func (w *Worker) take(ctx context.Context, msg jetstream.Msg, ackWait time.Duration) error {
	j, err := parseJob(msg.Data())
	if err != nil {
		w.Log.Error("job rejected", "error", err)
		_ = msg.NakWithDelay(time.Minute) // for a worker of another version
		return nil
	}
	ask, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	l, err := claim(ask, w.store.kv, j.key(), w.Name)
	if errors.Is(err, errOver) {
		return msg.Ack()
	}
	if err != nil {
		return err
	}
	r := &run{Worker: w, job: j, lease: l, log: w.Log, began: time.Now()}
	if err = r.cancelled(ask); err != nil {
		err = r.release(stopped, err)
	} else {
		w.Log.Info("run", "name", j.Name, "sweep", j.Sweep, "step", l.entry().Step)
		err = r.guarded(ctx, msg, ackWait)
	}
	switch {
	case err == nil:
		w.Log.Info("run complete", "name", j.Name)
		return msg.Ack()
	case errors.Is(err, errLost), errors.Is(err, errOver):
		w.Log.Warn("run left", "name", j.Name, "reason", err)
		return nil
	case errors.Is(err, errDrain):
		w.Log.Info("run stopped by the coordinator", "name", j.Name)
		return msg.Ack()
	case errors.Is(err, train.ErrInterrupted):
		return msg.Nak()
	}
	w.Log.Error("run failed", "name", j.Name, "error", err)
	return msg.NakWithDelay(time.Second)
}
