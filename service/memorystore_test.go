package service

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// memoryStore is a Store that several services of a test share.
type memoryStore struct {
	mu   sync.Mutex
	last uint64
	list map[string]memoryEntry
	fail func(method string) error // returns the error of a call; may be nil
}

type memoryEntry struct {
	Entry
	snapshot []byte
}

func newMemoryStore() *memoryStore { return &memoryStore{list: map[string]memoryEntry{}} }

// setFail replaces fail.
func (m *memoryStore) setFail(fail func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

// begin locks the store and returns the error of a call.
func (m *memoryStore) begin(method, stream string, revision uint64) error {
	m.mu.Lock()
	if m.fail != nil {
		if err := m.fail(method); err != nil {
			return err
		}
	}
	if revision != m.list[stream].Revision {
		return ErrRevision
	}
	return nil
}

func (m *memoryStore) Get(_ context.Context, stream string) ([]byte, uint64, error) {
	defer m.mu.Unlock()
	if err := m.begin("get", "", 0); err != nil {
		return nil, 0, err
	}
	e := m.list[stream]
	return bytes.Clone(e.snapshot), e.Revision, nil
}

func (m *memoryStore) Put(_ context.Context, stream string, snapshot []byte, revision uint64) (uint64, error) {
	defer m.mu.Unlock()
	if err := m.begin("put", stream, revision); err != nil {
		return 0, err
	}
	m.last++
	m.list[stream] = memoryEntry{Entry{stream, m.last, time.Now()}, bytes.Clone(snapshot)}
	return m.last, nil
}

func (m *memoryStore) Delete(_ context.Context, stream string, revision uint64) error {
	defer m.mu.Unlock()
	if err := m.begin("delete", stream, revision); err != nil {
		return err
	}
	delete(m.list, stream)
	return nil
}

func (m *memoryStore) List(context.Context) (list []Entry, err error) {
	defer m.mu.Unlock()
	if err := m.begin("list", "", 0); err != nil {
		return nil, err
	}
	for _, e := range m.list {
		list = append(list, e.Entry)
	}
	return list, nil
}
