package service

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"
)

// read reads a file, of which it takes at most a little more than maxSnapshot.
func (s *store) read(path string) (*snapshot, error) {
	f, err := s.files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSnapshot+1))
	if err != nil {
		return nil, err
	}
	return decodeSnapshot(b)
}

// put writes a stream's snapshot. If the client then has too many, its oldest is deleted. A full
// store is an error.
func (s *store) put(st *stream) error {
	s.writers <- struct{}{}
	defer s.freeWriter()
	return s.write(st.snapshot(), false)
}

// begin is put for a stream that is connected.
func (s *store) begin(st *stream) error {
	s.writers <- struct{}{}
	defer s.freeWriter()
	return s.write(st.snapshot(), true)
}

// tryWriter reports whether the caller may write a snapshot now. It then calls freeWriter.
func (s *store) tryWriter() bool {
	select {
	case s.writers <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *store) freeWriter() { <-s.writers }

// write writes a snapshot. The caller has reserved a writer. connected states that the stream is
// still connected.
func (s *store) write(v snapshot, connected bool) error {
	id := v.Identity.ID
	v.Identity.Connected = connected
	b, err := encodeSnapshot(v)
	if err != nil {
		return err
	}
	e := entry{file: filepath.Join(s.dir, rand.Text()+suffix), size: int64(len(b)), connected: connected}
	e.describe(&v.Identity, v.Saved)
	s.deleteObsolete()
	defer s.deleteObsolete()
	if err := s.reserve(id, e); err != nil {
		return err
	}
	err = s.files.Write(e.file, 0o600, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.retire(e) // the file exists if only the folder could not be synced
		return err
	}
	s.add(id, e)
	return nil
}

// get returns the snapshot of a stream that is now connected, or nil. The file stays until the
// stream ends, is saved again or is dropped, so that a crash loses only what followed. When the
// session ends, the caller calls disconnect.
func (s *store) get(id, client string) (*snapshot, error) {
	s.mu.Lock()
	e, err := s.find(id, client)
	if e.file != "" {
		e.connected = true
		s.list[id] = e
	}
	s.mu.Unlock()
	s.deleteObsolete()
	if err != nil || e.file == "" {
		return nil, err
	}
	v, err := s.read(e.file)
	var damaged *damagedError
	switch {
	case errors.Is(err, fs.ErrNotExist): // evicted since
		return nil, nil
	case errors.As(err, &damaged):
		return nil, errUnusable(id, err)
	}
	return v, err
}

// errUnusable is the error of a stream whose snapshot cannot be used.
func errUnusable(id string, err error) error {
	return newError(http.StatusConflict, "snapshot", "stream %s cannot be resumed: %v; DELETE it to start again", id, err)
}

// disconnect counts the snapshot of a stream for its client, if there is one. Unless the stream has
// ended, the time until it expires begins again.
func (s *store) disconnect(id string) {
	s.mu.Lock()
	if e, has := s.list[id]; has && e.connected {
		if e.connected = false; !e.ended {
			e.saved = time.Now()
		}
		s.list[id] = e
		s.evict(e.client)
	}
	s.mu.Unlock()
	s.deleteObsolete()
}

// remove deletes a stream's snapshot, if there is one, and what could not be deleted earlier.
func (s *store) remove(id string) {
	s.mu.Lock()
	s.drop(id)
	n := len(s.obsolete)
	s.mu.Unlock()
	if n > 0 {
		s.deleteForGood()
	}
}

// discard is remove, but if the file cannot be deleted, the snapshot stays listed and discard
// returns the error.
func (s *store) discard(id string) error {
	s.mu.Lock()
	e, has := s.list[id]
	s.mu.Unlock()
	if !has {
		return nil
	}
	if err := s.files.Remove(e.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.remove(id)
	return nil
}

// deleteForGood is deleteObsolete for a stream that must not return after a power cut.
func (s *store) deleteForGood() {
	s.deleteObsolete()
	if err := s.files.SyncFolder(s.dir); err != nil {
		s.log.Error("a deleted stream may return after a power cut", "error", err)
	}
}

// forget drops a client's stream and reports whether there was one. The caller calls
// deleteForGood.
func (s *store) forget(id, client string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id, client)
	if err == nil {
		s.drop(id)
	}
	return e.file != "", err
}
