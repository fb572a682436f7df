package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// recent is how many events a stream remembers for a client that has lost its connection.
const recent = 16

// identity is all that is kept of a stream besides its detector.
type identity struct {
	ID, Client string
	EventCount int64          // events so far
	Recent     []report.Event // the last of them
	Busy       time.Duration  // spent with the model
}

// stream belongs to the session that has acquired it.
type stream struct {
	identity
	detector *events.Detector
}

// note remembers an event.
func (s *stream) record(e report.Event) {
	if len(s.Recent) == recent {
		s.Recent = s.Recent[:copy(s.Recent, s.Recent[1:])]
	}
	s.Recent = append(s.Recent, e)
	s.EventCount++
}

// streams are those that are connected; the others are in the store.
type streams struct {
	recognizer *events.Recognizer
	cfg        config
	store      *store // or nil
	ctx        context.Context
	cancel     context.CancelCauseFunc

	mu        sync.Mutex
	closed    bool
	connected map[string]bool
	clients   map[string]int // streams of each
	handlers  sync.WaitGroup
}

func newStreams(f *events.Recognizer, cfg config, kept *store) *streams {
	s := &streams{recognizer: f, cfg: cfg, store: kept, connected: map[string]bool{}, clients: map[string]int{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// drain refuses new streams and ends the sessions of those that are connected.
func (s *streams) drain() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(errShutdown)
}

func (s *streams) draining() bool { return s.ctx.Err() != nil }

// wait returns when all clients have heard that it is over, or ctx ends; it is an error only if streams are not kept by then.
func (s *streams) wait(ctx context.Context) error {
	done := make(chan bool)
	go func() {
		s.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if n := s.count(); n > 0 {
		return fmt.Errorf("there was no time to keep %d streams", n)
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

// acquire begins a stream, or resumes it where it was left, for a client that has a number of its events, or −1: all. Without an id it
// gets one. Who gets the stream must call release and then, when the client knows, handlers.Done.
func (s *streams) acquire(id, client string, have int64) (*stream, error) {
	if id == "" {
		id = rand.Text()
	}
	if !validID.MatchString(id) {
		return nil, newError(http.StatusBadRequest, "request", "the name of a stream has 1 to 64 letters, digits, dots, dashes and underscores")
	}
	if err := s.admit(id, client); err != nil {
		return nil, err
	}
	st, err := s.resume(id, client, have)
	if err != nil {
		s.dismiss(id, client)
		s.handlers.Done()
	}
	return st, err
}

// resume returns the stream as the store has it, else a new one.
func (s *streams) resume(id, client string, have int64) (*stream, error) {
	st := &stream{identity: identity{ID: id, Client: client}, detector: s.recognizer.NewDetector()}
	if s.store == nil {
		return st, nil
	}
	kept, err := s.store.get(id, client)
	if kept == nil || err != nil {
		return st, err
	}
	st.identity = kept.Identity
	if err := st.detector.Restore(kept.Detector); err != nil {
		return nil, errUnusable(id, err)
	}
	if have >= 0 && st.EventCount-have > int64(len(st.Recent)) {
		return nil, newError(http.StatusGone, "events", "of the stream's %d events only the last %d are remembered", st.EventCount, len(st.Recent))
	}
	return st, nil
}

// admit counts a stream in, if there is room.
func (s *streams) admit(id, client string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch err := s.free(id); {
	case err != nil:
		return err
	case s.clients[client] >= s.cfg.MaxPerClient:
		return newError(http.StatusTooManyRequests, "client", "you have %d streams connected already", s.cfg.MaxPerClient)
	case len(s.connected) >= s.cfg.MaxStreams:
		return newError(http.StatusServiceUnavailable, "streams", "%d streams are connected already", s.cfg.MaxStreams)
	}
	s.connected[id] = true
	s.clients[client]++
	s.handlers.Add(1)
	return nil
}

// free reports whether a stream can be had, to who holds mu.
func (s *streams) free(id string) error {
	switch {
	case s.closed:
		return errShutdown
	case s.connected[id]:
		return newError(http.StatusConflict, "busy", "stream %s is connected", id)
	}
	return nil
}

func (s *streams) dismiss(id, client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connected, id)
	if s.clients[client]--; s.clients[client] == 0 {
		delete(s.clients, client)
	}
}

// release ends the session of a stream: it is forgotten, or kept, where there is a store, and something to keep. It logs what fails.
func (s *streams) release(st *stream, keep bool) (kept bool) {
	defer s.dismiss(st.ID, st.Client)
	if s.store == nil {
		return false
	}
	if !keep || st.detector.Position() == 0 {
		s.store.remove(st.ID)
		return false
	}
	if err := s.store.put(st); err != nil {
		s.cfg.Log.Error("a snapshot was not written", "error", err)
		return false
	}
	return true
}

// forget removes a stream that is not connected.
func (s *streams) forget(id, client string) error {
	had := false
	s.mu.Lock()
	err := s.free(id)
	if err == nil && s.store != nil {
		had, err = s.store.forget(id, client)
	}
	s.mu.Unlock()
	if err == nil && !had {
		err = newError(http.StatusNotFound, "unknown", "there is no stream %.64q", id)
	}
	if s.store != nil {
		s.store.deleteObsolete()
	}
	return err
}
