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

// stream is the state of one signal.
type stream struct {
	busy    atomic.Bool
	model   *Model
	events  *events.Stream // nil after a panic
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
	return t.add(&stream{model: m, events: s}), nil
}

// use calls f with a stream that no other call uses at the same time. If f panics, the stream must
// be reset.
func (t *Table) use(handle uint64, f func(*stream) error) (err error) {
	object := t.get(handle)
	s, ok := object.(*stream)
	if !ok {
		return Errorf(Invalid, "handle %d is %s, expected a stream", handle, kind(object))
	}
	if !s.busy.CompareAndSwap(false, true) {
		return Errorf(Busy, "another thread is using stream %d", handle)
	}
	defer s.busy.Store(false)
	defer func() {
		if err != nil && CodeOf(err) == Internal {
			s.events = nil
		}
	}()
	defer Recover(&err)
	return f(s)
}

// alive is use with the stream's detector.
func (t *Table) alive(handle uint64, f func(s *stream, d *events.Stream) error) error {
	return t.use(handle, func(s *stream) error {
		if s.events == nil {
			return Errorf(Internal, "an earlier call to stream %d failed inside the library: reset the stream", handle)
		}
		return f(s, s.events)
	})
}

// emit calls f, and moves the events that it returns, after those that wait, to dst. The rest
// waits.
func (t *Table) emit(handle uint64, dst []Event, f func(*stream, *events.Stream) ([]events.Event, error)) (n int, err error) {
	err = t.alive(handle, func(s *stream, d *events.Stream) error {
		found, err := f(s, d)
		s.waiting = append(s.waiting, found...)
		for n < min(len(dst), len(s.waiting)) {
			e := s.waiting[n]
			dst[n] = Event{Onset: e.Onset, End: e.End, Confidence: e.Confidence, Label: s.model.index[e.Label]}
			n++
		}
		s.waiting = s.waiting[:copy(s.waiting, s.waiting[n:])]
		if err != nil && CodeOf(err) == Internal {
			return &Error{Output, err}
		}
		return err
	})
	return n, err
}

// Process processes samples and moves events to dst. An error of code Output comes with the events
// before it.
func (t *Table) Process(handle uint64, x []float32, dst []Event) (n int, err error) {
	return t.emit(handle, dst, func(s *stream, d *events.Stream) ([]events.Event, error) {
		if n := len(s.waiting); n >= MaxPending && len(x) > 0 {
			return nil, Errorf(Pending, "%d events of stream %d wait: fetch them before processing more samples", n, handle)
		}
		return d.Process(x)
	})
}

// Flush ends the signal.
func (t *Table) Flush(handle uint64, dst []Event) (n int, err error) {
	return t.emit(handle, dst, func(_ *stream, d *events.Stream) ([]events.Event, error) { return d.Flush() })
}

// maxSkip bounds the samples to skip, so that positions stay integers of 64 bits.
const maxSkip = 1 << 53

// Skip ends the signal and advances the position by lost samples.
func (t *Table) Skip(handle uint64, lost int64, dst []Event) (n int, err error) {
	return t.emit(handle, dst, func(_ *stream, d *events.Stream) ([]events.Event, error) {
		if lost < 0 || lost > maxSkip {
			return nil, Errorf(Argument, "%d samples to skip, expected 0 … 2^53", lost)
		}
		return d.Skip(lost)
	})
}

// Waiting returns the number of events that wait.
func (t *Table) Waiting(handle uint64) (n int, err error) {
	err = t.use(handle, func(s *stream) error {
		n = len(s.waiting)
		return nil
	})
	return n, err
}

// Position returns the number of samples since the stream's beginning.
func (t *Table) Position(handle uint64) (n int64, err error) {
	err = t.alive(handle, func(_ *stream, d *events.Stream) error {
		n = d.Position()
		return nil
	})
	return n, err
}

// Posterior writes the class probabilities of the last evaluation to dst, one per label. n is 0
// before the first evaluation.
func (t *Table) Posterior(handle uint64, dst []float32) (n int, err error) {
	err = t.alive(handle, func(s *stream, d *events.Stream) error {
		p := d.Posterior()
		if n = len(p); len(dst) < n {
			return Errorf(Space, "room for %d values, expected one per label, %d", len(dst), n)
		}
		copy(dst, p)
		return nil
	})
	return n, err
}

// Reset begins a new signal at position 0. It discards waiting events.
func (t *Table) Reset(handle uint64) error {
	return t.use(handle, func(s *stream) error {
		next, err := s.model.NewStream(0)
		s.events, s.waiting = next, s.waiting[:0]
		return err
	})
}

// Snapshot writes the state of a stream to dst and returns its length. If dst is too short, the
// length comes with an error.
func (t *Table) Snapshot(handle uint64, dst []byte) (n int, err error) {
	err = t.alive(handle, func(s *stream, d *events.Stream) error {
		if err := s.empty("a snapshot does not contain them"); err != nil {
			return err
		}
		b := d.Snapshot()
		if n = len(b); len(dst) < n {
			return Errorf(Space, "room for %d bytes of a snapshot, expected %d", len(dst), n)
		}
		copy(dst, b)
		return nil
	})
	return n, err
}

// Restore continues from a snapshot. After an error the stream is unchanged.
func (t *Table) Restore(handle uint64, snapshot []byte) error {
	return t.use(handle, func(s *stream) error {
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
	})
}

func (s *stream) empty(why string) error {
	if n := len(s.waiting); n > 0 {
		return Errorf(Pending, "%d events wait, and %s: fetch them first", n, why)
	}
	return nil
}

// DestroyStream removes a stream.
func (t *Table) DestroyStream(handle uint64) error {
	return t.use(handle, func(*stream) error {
		t.remove(handle)
		return nil
	})
}
