package service

import (
	"context"
	"errors"
	"time"
)

// Store keeps the snapshots of streams, one per stream. Every snapshot has a revision, a number
// greater than 0 that changes with every Put. A Server passes the revision that it knows. If
// another Server with the same Store has written a newer one, the error tells the first Server that
// the stream is no longer its own.
// The methods are called by several goroutines at a time, and return within seconds also when they
// fail. A snapshot may have up to 16 MiB.
type Store interface {
	// Get returns the snapshot of a stream and its revision, or revision 0 if there is none.
	Get(ctx context.Context, stream string) (snapshot []byte, revision uint64, err error)

	// Put replaces the snapshot with a revision, or stores the first one if the revision is 0. It
	// returns the new revision. If the stream has another revision, the error is ErrRevision.
	Put(ctx context.Context, stream string, snapshot []byte, revision uint64) (uint64, error)

	// Delete deletes the snapshot with a revision. If the stream has another one, the error is
	// ErrRevision.
	Delete(ctx context.Context, stream string, revision uint64) error

	// List returns all snapshots in any order.
	List(ctx context.Context) ([]Entry, error)
}

// Entry describes a snapshot in a Store.
type Entry struct {
	Stream   string
	Revision uint64
	Saved    time.Time // of the last Put
}

// ErrRevision is the error for a snapshot that has another revision than expected.
var ErrRevision = errors.New("the snapshot has another revision")
