package handles

import (
	"sync/atomic"

	"github.com/s4d-fast/s4d-fast/events"
)

// MaxPending is the number of waiting events from which on a stream reads no more samples.
const MaxPending = 4096

// Event is an event. Its memory layout is that of s4d_event.
type Event struct {
	Onset, End int64
	Confidence float64
	Label      int32 // index among the labels of the model
	_          int32
}

// Stream is the state of one signal, for Table.Use.
type Stream struct {
	busy    atomic.Bool
	model   *Model
	events  *events.Stream // nil after a panic, so that every other use but Reset and Restore panics, too
	waiting []events.Event
}

// NewStream adds a stream of a model.
func (t *Table) NewStream(model uint64) (uint64, error) {
	m, err := t.Model(model)
	if err != nil {
		return 0, err
	}
	s, err := m.NewStream(0)
	if err != nil {
		return 0, err
	}
	return t.add(&Stream{model: m, events: s}), nil
}

// Use calls f with a stream that no other call uses at the same time, and returns its results. If f
// panics, the stream must be reset.
func (t *Table) Use(handle uint64, f func(*Stream) (int, error)) (n int, err error) {
	s, err := find[*Stream](t, handle, "stream")
	if err != nil {
		return 0, err
	}
	if !s.busy.CompareAndSwap(false, true) {
		return 0, Errorf(Busy, "another thread is using stream %d", handle)
	}
	defer s.busy.Store(false)
	failed := s.events == nil
	defer func() {
		if err != nil && CodeOf(err) == Internal {
			s.events = nil
			if failed {
				err = Errorf(Internal, "an earlier call to stream %d failed inside the library: reset the stream", handle)
			}
		}
	}()
	defer Recover(&err)
	return f(s)
}

// emit moves the events of a call, after those that wait, to dst. The rest waits.
func (s *Stream) emit(dst []Event, found []events.Event, err error) (n int, _ error) {
	s.waiting = append(s.waiting, found...)
	for n < min(len(dst), len(s.waiting)) {
		e := s.waiting[n]
		dst[n] = Event{Onset: e.Onset, End: e.End, Confidence: e.Confidence, Label: s.model.index[e.Label]}
		n++
	}
	s.waiting = s.waiting[:copy(s.waiting, s.waiting[n:])]
	if err != nil && CodeOf(err) == Internal {
		err = &Error{Output, err}
	}
	return n, err
}

// Process processes samples and moves events to dst. An error of code Output comes with the events
// before it.
func (s *Stream) Process(x []float32, dst []Event) (int, error) {
	if n := len(s.waiting); n >= MaxPending && len(x) > 0 {
		return s.emit(dst, nil, Errorf(Pending, "%d events wait: fetch them before processing more samples", n))
	}
	found, err := s.events.Process(x)
	return s.emit(dst, found, err)
}

// Flush ends the signal.
func (s *Stream) Flush(dst []Event) (int, error) {
	found, err := s.events.Flush()
	return s.emit(dst, found, err)
}

// maxSkip bounds the samples to skip, so that positions stay integers of 64 bits.
const maxSkip = 1 << 53

// Skip ends the signal and advances the position by lost samples.
func (s *Stream) Skip(lost int64, dst []Event) (int, error) {
	if lost < 0 || lost > maxSkip {
		return s.emit(dst, nil, Errorf(Argument, "%d samples to skip, expected 0 … 2^53", lost))
	}
	found, err := s.events.Skip(lost)
	return s.emit(dst, found, err)
}

// Waiting returns the number of events that wait.
func (s *Stream) Waiting() (int, error) { return len(s.waiting), nil }

// Position returns the number of samples since the stream's beginning.
func (s *Stream) Position() int64 { return s.events.Position() }

// Posterior writes the class probabilities of the last evaluation to dst, one per label. n is 0
// before the first evaluation.
func (s *Stream) Posterior(dst []float32) (n int, err error) {
	p := s.events.Posterior()
	if len(dst) < len(p) {
		return len(p), Errorf(Space, "room for %d values, expected one per label, %d", len(dst), len(p))
	}
	return copy(dst, p), nil
}

// Reset begins a new signal at position 0. It discards waiting events.
func (s *Stream) Reset() (_ int, err error) {
	s.waiting = s.waiting[:0]
	s.events, err = s.model.NewStream(0)
	return 0, err
}

// Snapshot writes the state of a stream to dst and returns its length. If dst is too short, the
// length comes with an error.
func (s *Stream) Snapshot(dst []byte) (n int, err error) {
	if err := s.empty("a snapshot does not contain them"); err != nil {
		return 0, err
	}
	b := s.events.Snapshot()
	if len(dst) < len(b) {
		return len(b), Errorf(Space, "room for %d bytes of a snapshot, expected %d", len(dst), len(b))
	}
	return copy(dst, b), nil
}

// Restore continues from a snapshot. After an error the stream is unchanged.
func (s *Stream) Restore(snapshot []byte) error {
	if err := s.empty("restoring would lose them"); err != nil {
		return err
	}
	next, err := s.model.NewStream(0)
	if err != nil {
		return err
	}
	if err := next.Restore(snapshot); err != nil {
		return &Error{Mismatch, err}
	}
	s.events = next
	return nil
}

func (s *Stream) empty(why string) error {
	if n := len(s.waiting); n > 0 {
		return Errorf(Pending, "%d events wait, and %s: fetch them first", n, why)
	}
	return nil
}

// DestroyStream removes a stream.
func (t *Table) DestroyStream(handle uint64) error {
	_, err := t.Use(handle, func(*Stream) (int, error) {
		t.remove(handle)
		return 0, nil
	})
	return err
}
