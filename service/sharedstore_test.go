package service

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// sharedStore is a folder that several services of a test share.
type sharedStore struct {
	*Folder
	fail atomic.Pointer[func(method string) error] // returns the error of a call; nil: none fails
}

func newSharedStore(t *testing.T) *sharedStore {
	s := &sharedStore{Folder: must.Get(OpenFolder(t.TempDir()))(t)}
	t.Cleanup(func() { s.Close() })
	return s
}

// setFail replaces fail.
func (s *sharedStore) setFail(fail func(method string) error) { s.fail.Store(&fail) }

// failure returns the error of a call.
func (s *sharedStore) failure(method string) error {
	if fail := s.fail.Load(); fail != nil && *fail != nil {
		return (*fail)(method)
	}
	return nil
}

func (s *sharedStore) Get(ctx context.Context, stream string) ([]byte, uint64, error) {
	if err := s.failure("get"); err != nil {
		return nil, 0, err
	}
	return s.Folder.Get(ctx, stream)
}

func (s *sharedStore) Put(ctx context.Context, stream string, snapshot []byte, revision uint64) (uint64, error) {
	if err := s.failure("put"); err != nil {
		return 0, err
	}
	return s.Folder.Put(ctx, stream, snapshot, revision)
}

func (s *sharedStore) Delete(ctx context.Context, stream string, revision uint64) error {
	if err := s.failure("delete"); err != nil {
		return err
	}
	return s.Folder.Delete(ctx, stream, revision)
}
