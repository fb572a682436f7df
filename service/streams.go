package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

// streams are the connected streams. The store has snapshots of them, and the other streams.
type streams struct {
	opt     Options
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unsaved atomic.Int64 // snapshots that could not be written
	lost    atomic.Int64 // streams that the shutdown could not save

	mu        sync.Mutex
	connected map[string]*stream
	handlers  sync.WaitGroup
}

// close rejects new streams, ends the sessions of the connected ones, and waits until their clients
// have received the reason. It is an error if streams were not saved.
func (s *streams) close() error {
	s.mu.Lock() // admit has registered the handler of a stream, or rejects it
	s.cancel(errShutdown)
	s.mu.Unlock()
	done := make(chan bool)
	go func() {
		s.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(s.opt.Grace):
	}
	if lost, late := s.lost.Load(), s.count(); lost > 0 || late > 0 {
		return fmt.Errorf("streams were not saved: %d failed, %d took too long", lost, late)
	}
	return nil
}

// count returns how many streams are connected.
func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connected)
}

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// acquire starts or resumes a stream for a client that has received a number of its events; a
// negative number means all. An empty name is replaced by a random one. The caller must call leave.
func (s *streams) acquire(ctx context.Context, name string, received int64) (*stream, error) {
	st, err := s.admit(cmp.Or(name, rand.Text()))
	if err != nil {
		return nil, err
	}
	if st.named = name != ""; st.named && s.opt.Store != nil {
		err = s.load(ctx, st, received)
	}
	if err == nil {
		err = st.resumeEvents(received)
	}
	if err != nil {
		s.leave(st)
		return nil, err
	}
	return st, nil
}

// admit registers a stream if the limits allow another. The caller must call leave.
func (s *streams) admit(name string) (*stream, error) {
	if !validName.MatchString(name) {
		return nil, newError(http.StatusBadRequest, "request",
			"stream name %.80q: expected 1 to 64 letters, digits, dots, dashes and underscores", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return nil, errShutdown
	case s.connected[name] != nil:
		return nil, errBusy(name)
	case len(s.connected) >= s.opt.MaxStreams:
		return nil, newError(http.StatusServiceUnavailable, "streams", "%d streams are connected, the maximum", s.opt.MaxStreams)
	}
	st := &stream{header: header{Stream: name}, saved: time.Now(), storing: make(chan struct{}, 1)}
	st.ctx, st.cancel = context.WithCancelCause(s.ctx)
	s.connected[name] = st
	s.handlers.Add(1)
	return st, nil
}

// leave ends the handler of a stream. If a panic has ended it before release, its previous snapshot
// stays, because its state may be inconsistent.
func (s *streams) leave(st *stream) {
	s.dismiss(st)
	st.cancel(nil)
	s.handlers.Done()
}

// dismiss reverses admit.
func (s *streams) dismiss(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected[st.Stream] == st {
		delete(s.connected, st.Stream)
	}
}

// load reads the stream from the store, if it has it. Without a number of events received, the name
// of a stream that has ended starts a new one, which replaces it when its session begins.
func (s *streams) load(ctx context.Context, st *stream, received int64) error {
	b, err := s.get(ctx, st)
	if err != nil || st.revision == 0 {
		return err
	}
	h, state, err := decodeSnapshot(b)
	switch {
	case err != nil:
		return errUnusable(st.Stream, err)
	case h.Samples == 0, h.End != nil && received < 0:
		return nil
	}
	st.header, st.state = h, state
	return nil
}

// get reads the snapshot of a stream and sets its revision. An error is one for clients.
func (s *streams) get(ctx context.Context, st *stream) (b []byte, err error) {
	b, st.revision, err = s.opt.Store.Get(ctx, st.Stream)
	return b, s.storeError(st.Stream, err)
}

// storeError returns the error for clients that corresponds to one of the store, which it logs.
func (s *streams) storeError(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRevision):
		return errBusy(name)
	}
	s.opt.Log.Error("the store of the snapshots fails", "stream", name, "error", err)
	return newError(http.StatusServiceUnavailable, "store", "stream %s cannot be read or saved now", name)
}

// claim makes a named stream this server's own: it stores a snapshot, so that another server that
// had the stream can no longer save it, and the stream of that name that has ended does not return.
func (s *streams) claim(st *stream) error {
	if !st.named || s.opt.Store == nil {
		return nil
	}
	return s.storeError(st.Stream, s.put(st, st.snapshot()))
}

// put writes a snapshot. The caller has st.storing, or the stream is not in use yet. If the store
// has another revision, the stream is another server's, and its session here ends.
func (s *streams) put(st *stream, b []byte) error {
	revision, err := s.opt.Store.Put(context.Background(), st.Stream, b, st.revision)
	switch {
	case err == nil:
		st.revision, st.writeFailed = revision, false
	case errors.Is(err, ErrRevision):
		st.cancel(errMoved)
	default:
		s.unsaved.Add(1)
		if !st.writeFailed {
			s.opt.Log.Error("a snapshot was not written", "stream", st.Stream, "error", err)
		}
		st.writeFailed = true
	}
	return err
}

// save starts to write a snapshot of a connected stream if the last one is older than SaveEvery and
// no write is in progress.
func (s *streams) save(st *stream) {
	if s.opt.Store == nil || time.Since(st.saved) < s.opt.SaveEvery {
		return
	}
	select {
	case st.storing <- struct{}{}:
	default:
		return
	}
	st.saved = time.Now()
	b := st.snapshot()
	go func() {
		defer func() { <-st.storing }()
		s.put(st, b)
	}()
}

// release ends the session of a stream. It saves the stream if keep is set and the stream has had
// samples; otherwise it deletes the snapshot. It reports whether the stream was saved.
func (s *streams) release(st *stream, keep bool) (saved bool) {
	defer s.dismiss(st)
	if s.opt.Store == nil {
		return false
	}
	st.storing <- struct{}{} // waits for the write in progress
	defer func() { <-st.storing }()
	switch {
	case context.Cause(st.ctx) == errMoved:
		return false
	case keep && st.Samples > 0:
		err := s.put(st, st.snapshot())
		if err != nil && s.ctx.Err() != nil && !errors.Is(err, ErrRevision) {
			s.lost.Add(1)
		}
		return err == nil
	case st.revision > 0:
		s.storeError(st.Stream, s.opt.Store.Delete(context.Background(), st.Stream, st.revision)) // logs it
	}
	return false
}

// forget deletes a stream that is not connected.
func (s *streams) forget(ctx context.Context, name string) error {
	st, err := s.admit(name)
	if err != nil {
		return err
	}
	defer s.leave(st)
	if s.opt.Store != nil {
		if _, err := s.get(ctx, st); err != nil {
			return err
		}
	}
	if st.revision == 0 {
		return newError(http.StatusNotFound, "unknown", "stream %q does not exist", name)
	}
	return s.storeError(name, s.opt.Store.Delete(ctx, name, st.revision))
}

func errBusy(name string) error {
	return newError(http.StatusConflict, "busy", "stream %s is connected already", name)
}

// expireRegularly deletes expired snapshots until the server shuts down.
func (s *streams) expireRegularly() {
	for s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ctx, s.opt.Keep/4)
		s.expire(ctx)
		<-ctx.Done()
		cancel()
	}
}

// expire deletes the snapshots older than Keep, except those of streams that are connected here.
// Connected streams of another server are saved too often to be so old.
func (s *streams) expire(ctx context.Context) {
	list, err := s.opt.Store.List(ctx)
	for _, e := range list {
		s.mu.Lock()
		connected := s.connected[e.Stream] != nil
		s.mu.Unlock()
		if connected || time.Since(e.Saved) <= s.opt.Keep {
			continue
		}
		if failed := s.opt.Store.Delete(ctx, e.Stream, e.Revision); !errors.Is(failed, ErrRevision) {
			err = errors.Join(err, failed)
		}
	}
	if err != nil && s.ctx.Err() == nil {
		s.opt.Log.Error("expired snapshots were not deleted", "error", err)
	}
}
