package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/train"
)

// version is that of jobs and entries. It changes whenever older programs cannot read them.
const version = 1

// Keys are these prefixes and SWEEP.RUN. Workers may write only entries.
const (
	jobPrefix   = "job."
	entryPrefix = "run."
)

// job is the request to train a run. It does not change.
type job struct {
	Sweep  string    `json:"sweep"`
	Run    int       `json:"run"`  // index in the grid
	Name   string    `json:"name"` // of the run
	Config string    `json:"config"`
	Data   []dataRef `json:"data,omitempty"`

	Program string `json:"program,omitempty"` // the version of the coordinator's program
}

// key returns the key of the run without a prefix.
func (j *job) key() string { return fmt.Sprintf("%s.%d", j.Sweep, j.Run) }

var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// parseJob reads a job. Its configuration is not validated.
func parseJob(text []byte) (*job, error) {
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("cluster: job: %w", err)
	}
	for _, r := range j.Data { // both are names in the worker's folder
		if base := r.base(); !hash.MatchString(r.Hash) || !filepath.IsLocal(base) {
			return nil, fmt.Errorf("cluster: job: data %.200q with hash %.80q: expected the path of a file or folder, and a SHA-256", r.Path, r.Hash)
		}
	}
	return &j, nil
}

// config returns the job's configuration.
func (j *job) config() (train.Config, error) {
	c := train.Default()
	err := c.Merge([]byte(j.Config), "job "+j.Name)
	return c, err
}

// The states of a run.
const (
	queued   = "queued"
	running  = "running"
	stopping = "stopping" // the coordinator has asked its worker to stop
	stopped  = "stopped"  // by the coordinator, with a checkpoint
	done     = "done"
	failed   = "failed"
)

// entry is the state of a run.
type entry struct {
	Version int             `json:"version"`
	Name    string          `json:"name"`
	Lease   time.Duration   `json:"lease"` // another worker may take the run if the entry has not changed for so long
	Status  string          `json:"status"`
	Owner   string          `json:"owner"`           // the lease of the worker that has it; "": nobody
	Worker  string          `json:"worker"`          // its name
	Claims  int             `json:"claims"`          // leases since the last checkpoint
	Error   string          `json:"error,omitempty"` // the last one
	Files   []file          `json:"files,omitempty"` // of the checkpoint
	Levels  []string        `json:"levels,omitempty"`
	Result  *train.SweepRow `json:"result,omitempty"`
	progress
}

// progress is the progress of a run.
type progress struct {
	Step       int    `json:"step"`
	Steps      int    `json:"steps"`
	Epoch      int    `json:"epoch"`
	Epochs     int    `json:"epochs"`
	Validation string `json:"validation,omitempty"` // result of the last one
}

// maxClaims is the number of workers that a run may lose in a row without a new checkpoint. After
// maxErrors of them, an error is final.
const (
	maxClaims = 50
	maxErrors = 3
)

func parseEntry(text []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("cluster: entry: %w", err)
	}
	if e.Version != version {
		return e, fmt.Errorf("cluster: entry of version %d, expected %d: other machines run another version of this program", e.Version, version)
	}
	for _, f := range e.Files {
		if !slices.Contains(runFiles(), f.Path) {
			return e, fmt.Errorf("cluster: entry: file %.200q: expected one of %q", f.Path, runFiles())
		}
	}
	if r := e.Result; e.Status == done && (r == nil || r.Best == nil && !r.Diverged) {
		return e, fmt.Errorf("cluster: entry: %.80q is done without a result", e.Name)
	}
	return e, nil
}

// The reasons for which a worker leaves a run.
var (
	errLost = errors.New("another worker has the run, or the sweep has ended")
	errStop = errors.New("the sweep was cancelled")
)

// brokerError is an error for which neither the run nor its data are to blame.
type brokerError struct{ error }

func (e brokerError) Unwrap() error { return e.error }

// read returns an entry and its revision. The error is errLost if there is none.
func read(ctx context.Context, kv jetstream.KeyValue, key string) (entry, uint64, error) {
	got, err := kv.Get(ctx, entryPrefix+key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return entry{}, 0, errLost
	}
	if err != nil {
		return entry{}, 0, brokerError{fmt.Errorf("cluster: entry %s: %w", key, err)}
	}
	e, err := parseEntry(got.Value())
	return e, got.Revision(), err
}

// write replaces an entry if its revision is rev; 0: if there is none. It returns the new one.
func write(ctx context.Context, kv jetstream.KeyValue, key string, e entry, rev uint64) (uint64, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("cluster: entry %s: %w", key, err)
	}
	next, err := kv.Update(ctx, entryPrefix+key, text, rev)
	if err != nil {
		return 0, brokerError{fmt.Errorf("cluster: entry %s: %w", key, err)}
	}
	return next, nil
}

// conflict reports whether an entry was written by someone else.
func conflict(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// lease is a worker's right to write the entry of a run.
type lease struct {
	kv  jetstream.KeyValue
	key string
	id  string

	mu  sync.Mutex
	now entry // as last read or written
	rev uint64
}

// claim takes a run whose entry has a revision. The worker before cannot write the entry any more.
func claim(ctx context.Context, kv jetstream.KeyValue, key string, e entry, rev uint64, worker string) (*lease, error) {
	l := &lease{kv: kv, key: key, id: rand.Text()}
	if e.Claims >= maxClaims {
		e.Status, e.Error = failed, fmt.Sprintf("%d workers took the run and were lost before its next checkpoint, the last one %s", e.Claims, e.Worker)
		_, err := write(ctx, kv, key, e, rev)
		return nil, cmp.Or(err, errLost)
	}
	e.Status, e.Owner, e.Worker, e.Claims = running, l.id, worker, e.Claims+1
	l.now = e
	rev, err := write(ctx, kv, key, e, rev)
	if err != nil {
		return nil, err
	}
	l.rev = rev
	return l, nil
}

// update changes the entry. The error is errLost if another worker has the run, or the sweep has
// ended. After any other error the entry may have been written or not: the caller calls update
// again, so change must set the same values each time.
func (l *lease) update(ctx context.Context, change func(*entry)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		e := l.now
		change(&e)
		rev, err := write(ctx, l.kv, l.key, e, l.rev)
		if err == nil {
			l.now, l.rev = e, rev
			return nil
		}
		if !conflict(err) {
			return err
		}
		e, rev, failed := read(ctx, l.kv, l.key)
		switch {
		case failed != nil:
			return failed
		case rev <= l.rev: // of a server that lags behind
			return err
		case e.Owner != l.id:
			return errLost
		}
		l.now, l.rev = e, rev
	}
}

// entry returns the entry as last read or written.
func (l *lease) entry() entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}
