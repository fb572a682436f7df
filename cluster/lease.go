package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// The reasons for which a worker leaves a run.
var (
	errLost = errors.New("the run was given to another worker")
	errOver = errors.New("the run has ended") // or its sweep has
)

// lease is a worker's right to write the entry of a run.
type lease struct {
	kv  jetstream.KeyValue
	key string
	id  string

	mu  sync.Mutex
	now entry // as last read or written
	rev uint64
}

// read returns an entry and its revision. The error is errOver if there is none.
func read(ctx context.Context, kv jetstream.KeyValue, key string) (entry, uint64, error) {
	got, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return entry{}, 0, errOver
	}
	if err != nil {
		return entry{}, 0, brokerError{fmt.Errorf("cluster: entry %s: %w", key, err)}
	}
	e, err := parseEntry(got.Value())
	return e, got.Revision(), err
}

// conflict reports whether an entry was written by someone else.
func conflict(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// claim takes a run for a worker. Whoever had it before cannot write its entry any more. The error
// is errOver if the run or its sweep has ended.
func claim(ctx context.Context, kv jetstream.KeyValue, key, worker string) (*lease, error) {
	l := &lease{kv: kv, key: key, id: rand.Text()}
	for {
		e, rev, err := read(ctx, kv, key)
		if err != nil {
			return nil, err
		}
		if e.Status == done || e.Status == failed {
			return nil, errOver
		}
		if e.Claims >= maxClaims {
			e.Status, e.Error = failed, fmt.Sprintf("%d workers took the run and were lost before its next checkpoint, the last one %s", e.Claims, e.Worker)
		} else {
			e.Status, e.Lease, e.Worker, e.Claims = running, l.id, worker, e.Claims+1
		}
		if len(e.Files) == 0 {
			e.Levels = nil
		}
		next, err := write(ctx, kv, key, e, rev)
		if conflict(err) {
			continue
		}
		if err == nil && e.Status == failed {
			return nil, errOver
		}
		l.now, l.rev = e, next
		return l, err
	}
}

func write(ctx context.Context, kv jetstream.KeyValue, key string, e entry, rev uint64) (uint64, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("cluster: entry %s: %w", key, err)
	}
	next, err := kv.Update(ctx, key, text, rev)
	if err != nil {
		return 0, brokerError{fmt.Errorf("cluster: entry %s: %w", key, err)}
	}
	return next, nil
}

// update changes the entry. The error is errLost if another worker has the run, and errOver if the
// sweep has ended. After any other error the entry may have been written or not: the caller calls
// update again, so change must set the same values each time.
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
		before := l.rev
		if e := l.refresh(ctx); e != nil {
			return e
		}
		if l.rev == before { // read from a server that lags behind
			return err
		}
	}
}

// check returns errLost or errOver if the worker no longer has the run.
func (l *lease) check(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refresh(ctx)
}

func (l *lease) refresh(ctx context.Context) error {
	e, rev, err := read(ctx, l.kv, l.key)
	if err != nil {
		return err
	}
	if rev < l.rev { // from a server that lags behind
		return nil
	}
	if e.Lease != l.id {
		return errLost
	}
	l.now, l.rev = e, rev
	return nil
}

// entry returns the entry as last read or written.
func (l *lease) entry() entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}
