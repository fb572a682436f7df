package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/s4d-fast/s4d-fast/events"
)

// streams are the connected streams. The store has the others.
type streams struct {
	recognizer *events.Recognizer
	opt        Options
	store      *store // or nil
	ctx        context.Context
	cancel     context.CancelCauseFunc
	unsaved    atomic.Int64  // snapshots that could not be written
	bytes      *rate.Limiter // of all clients
	turns      *scheduler    // of the clients under that limit

	mu        sync.Mutex
	closed    bool // by drain
	drained   int  // streams that were connected then
	lost      int  // those of them that could not be saved
	connected map[string]bool
	clients   map[string]*client
	handlers  sync.WaitGroup
}

// client is a client with connected streams, or one whose last stream has just ended.
type client struct {
	streams int
	ended   time.Time     // of the last stream
	audio   *rate.Limiter // in µs of audio
	bytes   *rate.Limiter
}

func newStreams(r *events.Recognizer, opt Options, st *store) *streams {
	s := &streams{
		recognizer: r, opt: opt, store: st, bytes: newLimiter(float64(opt.MaxBytes)), turns: newScheduler(1),
		connected: map[string]bool{}, clients: map[string]*client{},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// drain rejects new streams and ends the sessions of the connected ones.
func (s *streams) drain() {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.drained = true, len(s.connected)
	}
	s.mu.Unlock()
	s.cancel(errShutdown)
}

func (s *streams) draining() bool { return s.ctx.Err() != nil }

// wait returns when all clients have received the reason, or when ctx ends. It is an error if
// streams were not saved. The store is closed when the last stream has ended, which may be later.
func (s *streams) wait(ctx context.Context) error {
	done := make(chan bool)
	go func() {
		s.handlers.Wait()
		if s.store != nil {
			s.store.close()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.lost + len(s.connected); n > 0 {
		return fmt.Errorf("%d of %d streams were not saved: %d failed, %d took too long", n, s.drained, s.lost, len(s.connected))
	}
	return nil
}

// count returns how many streams are connected.
func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connected)
}

var validID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// acquire starts or resumes a stream for a client that has received a number of its events; a
// negative number means all. An empty id is replaced by a random one. The caller must call release
// and, when the client has received everything, leave.
func (s *streams) acquire(id, client string, received int64) (*stream, error) {
	if id == "" {
		id = rand.Text()
	}
	if !validID.MatchString(id) {
		return nil, newError(http.StatusBadRequest, "request",
			"stream name %.80q: expected 1 to 64 letters, digits, dots, dashes and underscores", id)
	}
	if err := s.admit(id, client); err != nil {
		return nil, err
	}
	acquired := false
	defer func() { // also after a panic
		if !acquired {
			s.dismiss(id, client)
			s.handlers.Done()
		}
	}()
	st, err := s.load(id, client, received)
	if err == nil {
		err = st.resumeEvents(received)
	}
	if err != nil {
		return nil, err
	}
	acquired = true
	return st, nil
}

// leave ends the handler of a stream. If a panic has ended it before release, the stream's state
// may be inconsistent. It is not saved then, and its previous snapshot stays.
func (s *streams) leave(st *stream) {
	if !st.released {
		st.writes.Wait()
		s.dismiss(st.ID, st.Client)
		if s.store != nil {
			s.countUnsaved()
		}
	}
	s.handlers.Done()
}

// countUnsaved counts a stream that could not be saved.
func (s *streams) countUnsaved() {
	s.unsaved.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.lost++
	}
}

// load returns the stream in the store, or a new one. Without a number of events received, the name
// of a stream that has ended starts a new one, which replaces it when its session begins.
func (s *streams) load(id, client string, received int64) (*stream, error) {
	now := time.Now()
	st := &stream{identity: identity{ID: id, Client: client, Began: now.UnixNano()}, detector: s.recognizer.NewDetector(), saved: now}
	if s.store == nil {
		return st, nil
	}
	saved, err := s.store.get(id, client)
	switch {
	case saved == nil || err != nil:
		return st, err
	case saved.Identity.ID != id || saved.Identity.Client != client:
		return nil, errUnusable(id, errors.New("its snapshot is that of another stream or client"))
	case saved.Identity.End != nil && received < 0:
		st.Began, st.replaces = max(st.Began, saved.Identity.Began+1), true
		return st, nil
	}
	st.identity = saved.Identity
	switch {
	case st.Samples == 0:
		st.SampleRate = 0 // a new stream may have another
		return st, nil
	case st.End != nil:
		return st, nil
	}
	st.resamplerState = saved.Resampler
	if err := st.detector.Restore(saved.Detector); err != nil {
		return nil, errUnusable(id, err)
	}
	return st, nil
}

// begin replaces a stream that has ended, if the store has one with the name of a new stream: a
// crash must not bring it back. If the new one cannot be written, the ended one is deleted, which
// needs no space.
func (s *streams) begin(st *stream) error {
	if !st.replaces {
		return nil
	}
	if err := s.store.begin(st); err != nil {
		s.opt.Log.Error("the snapshot of a new stream was not written; the ended one with its name is deleted", "error", err)
		s.unsaved.Add(1)
		if err := s.store.discard(st.ID); err != nil {
			return err
		}
	}
	st.replaces = false
	return nil
}

// admit counts a stream if the limits allow another.
func (s *streams) admit(id, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[name]
	switch err := s.available(id); {
	case err != nil:
		return err
	case c != nil && c.streams >= s.opt.MaxPerClient:
		return newError(http.StatusTooManyRequests, "client", "this client has %d streams connected, the maximum", s.opt.MaxPerClient)
	case len(s.connected) >= s.opt.MaxStreams:
		return newError(http.StatusServiceUnavailable, "streams", "%d streams are connected, the maximum", s.opt.MaxStreams)
	}
	s.connected[id] = true
	if c == nil {
		c = &client{audio: newLimiter(s.opt.MaxRate * 1e6), bytes: newLimiter(float64(s.opt.MaxBytesPerClient))}
		s.clients[name] = c
	}
	c.streams++
	s.handlers.Add(1)
	return nil
}

// available returns an error if the server is shutting down or the stream is connected. The caller
// holds mu.
func (s *streams) available(id string) error {
	switch {
	case s.closed:
		return errShutdown
	case s.connected[id]:
		return newError(http.StatusConflict, "busy", "stream %s is connected already", id)
	}
	return nil
}

// dismiss reverses admit. The snapshot of the stream, if there is one, then counts for its client.
func (s *streams) dismiss(id, name string) {
	if s.store != nil {
		s.store.disconnect(id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connected, id)
	c := s.clients[name]
	if c.streams--; c.streams > 0 {
		return
	}
	// The limiters stay until they are full. Otherwise a client could avoid its limits with short
	// streams.
	full := max(refill(c.audio), refill(c.bytes))
	c.ended = time.Now()
	time.AfterFunc(full, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.clients[name] == c && c.streams == 0 && time.Since(c.ended) >= full {
			delete(s.clients, name)
		}
	})
}

// save starts to write a snapshot of a connected stream if the last one is older than SaveEvery. If
// a write of this stream is in progress, or maxWriters others are, a later block tries again.
func (s *streams) save(st *stream) {
	every := s.opt.SaveEvery
	if s.store == nil || every == 0 || time.Since(st.saved) < every || st.writing.Load() || !s.store.tryWriter() {
		return
	}
	started := false
	defer func() {
		if !started { // Snapshot has panicked
			s.store.freeWriter()
		}
	}()
	v := st.snapshot()
	st.saved, started = v.Saved, true
	st.writing.Store(true)
	st.writes.Go(func() {
		defer st.writing.Store(false)
		defer s.store.freeWriter()
		err := s.store.write(v, true)
		if err != nil {
			s.unsaved.Add(1)
		}
		if err != nil && !st.writeFailed {
			s.opt.Log.Error("a snapshot of a connected stream was not written", "error", err)
		}
		st.writeFailed = err != nil
	})
}

// release ends the session of a stream. It saves the stream if keep is set, there is a store and
// the stream has had samples; otherwise it deletes the snapshot. If the session has not begun, the
// ended stream with its name stays. release reports whether the stream was saved, and logs
// errors.
func (s *streams) release(st *stream, keep bool) (saved bool) {
	st.writes.Wait()
	defer func() {
		s.dismiss(st.ID, st.Client)
		st.released = true
	}()
	if s.store == nil || st.replaces {
		return false
	}
	if !keep || st.Samples == 0 {
		s.store.remove(st.ID)
		return false
	}
	if err := s.store.put(st); err != nil {
		s.opt.Log.Error("a snapshot was not written", "error", err)
		s.countUnsaved()
		return false
	}
	return true
}

// forget deletes a stream that is not connected.
func (s *streams) forget(id, client string) error {
	s.mu.Lock()
	err := s.available(id)
	if err != nil { // after a shutdown another server may use the folder
		s.mu.Unlock()
		return err
	}
	s.handlers.Add(1) // until the file is deleted
	defer s.handlers.Done()
	found := false
	if s.store != nil {
		found, err = s.store.forget(id, client)
	}
	s.mu.Unlock()
	if err == nil && !found {
		err = newError(http.StatusNotFound, "unknown", "stream %.64q does not exist", id)
	}
	switch {
	case found:
		s.store.deleteForGood()
	case s.store != nil:
		s.store.deleteObsolete()
	}
	return err
}
