package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/natsurl"
	"github.com/s4d-fast/s4d-fast/service"
)

// bucket is a service.Store in a key-value bucket of NATS JetStream.
type bucket struct{ jetstream.KeyValue }

// connectTime is how long the start waits for NATS.
const connectTime = 10 * time.Second

// openBucket connects to NATS and opens a bucket. If it does not exist, it is created, with one
// replica, and with an age at which NATS deletes what was not written since.
func openBucket(url, credentials, name string, age time.Duration) (*bucket, error) {
	if err := natsurl.Check(url); err != nil {
		return nil, err
	}
	options := []nats.Option{nats.Name("s4d-fast-serve"), nats.MaxReconnects(-1), nats.Timeout(connectTime)}
	if credentials != "" {
		options = append(options, nats.UserCredentials(credentials))
	}
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, TTL: age, Description: "snapshots of s4d-fast-serve"})
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %q: %w", name, err)
	}
	return &bucket{kv}, nil
}

// key returns the key of a stream. NATS restricts where a key may have dots, and the name of a
// stream has no equals sign.
func key(stream string) string { return strings.ReplaceAll(stream, ".", "=") }

// Get implements service.Store.
func (b *bucket) Get(ctx context.Context, stream string) ([]byte, uint64, error) {
	e, err := b.KeyValue.Get(ctx, key(stream))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return e.Value(), e.Revision(), nil
}

// Put implements service.Store.
func (b *bucket) Put(ctx context.Context, stream string, snapshot []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return written(b.Create(ctx, key(stream), snapshot))
	}
	return written(b.Update(ctx, key(stream), snapshot, revision))
}

// Delete implements service.Store.
func (b *bucket) Delete(ctx context.Context, stream string, revision uint64) error {
	_, err := written(0, b.Purge(ctx, key(stream), jetstream.LastRevision(revision)))
	return err
}

// written returns what a write does, with service.ErrRevision for the error of another revision.
func written(revision uint64, err error) (uint64, error) {
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = service.ErrRevision
	}
	return revision, err
}

// List implements service.Store.
func (b *bucket) List(ctx context.Context) (list []service.Entry, err error) {
	w, err := b.WatchAll(ctx, jetstream.MetaOnly(), jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	for {
		select {
		case e := <-w.Updates():
			if e == nil { // all were received
				return list, nil
			}
			list = append(list, service.Entry{Stream: strings.ReplaceAll(e.Key(), "=", "."), Revision: e.Revision(), Saved: e.Created()})
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
