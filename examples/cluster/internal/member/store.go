package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
)

// claim loads the snapshot, writes it again with this member as its owner, and reads which lines
// are stored. From then on the writes of the previous owner fail.
func (s *stream) claim() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	state, err := s.claimOnce(ctx)
	for wire.IsConflict(err) { // the previous owner wrote between
		state, err = s.claimOnce(ctx)
	}
	var bad *streamError
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	if err := s.readLast(ctx); err != nil {
		return err
	}
	if bad != nil {
		s.lines = s.told
		return bad
	}
	s.metrics.taken.WithLabelValues(state).Inc()
	s.saved, s.savedAt = s.detector.Position(), time.Now()
	return nil
}

func (s *stream) claimOnce(ctx context.Context) (state string, err error) {
	e, err := s.snapshots.Get(ctx, s.name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		s.revision, err = s.snapshots.Create(ctx, s.name, s.encode())
		return "new", err
	}
	if err != nil {
		return "", err
	}
	s.revision = e.Revision()
	snapshot, err := wire.ParseSnapshot(e.Value())
	if err != nil {
		return "", &streamError{"snapshot", err}
	}
	if err := s.detector.Restore(snapshot.Detector); err != nil {
		return "", err // a member with another model or level can resume the stream
	}
	if p := s.detector.Position(); p != snapshot.Position {
		return "", &streamError{"snapshot", fmt.Errorf("snapshot at sample %d, but its detector is at %d", snapshot.Position, p)}
	}
	s.sequence, s.lines = snapshot.Sequence, snapshot.Lines
	s.revision, err = s.snapshots.Update(ctx, s.name, s.encode(), e.Revision())
	return "resumed", err
}

// encode returns the snapshot of the stream.
func (s *stream) encode() []byte {
	return wire.Snapshot{
		Owner: s.id, Position: s.detector.Position(), Sequence: s.sequence, Lines: s.lines, Detector: s.detector.Snapshot(),
	}.Encode()
}

// save begins to store a snapshot. The result arrives in saving.
func (s *stream) save() {
	data, position, revision := s.encode(), s.detector.Position(), s.revision
	done := make(chan saveResult, 1)
	s.saving = done
	began := time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		r := saveResult{position: position}
		if r.revision, r.err = s.snapshots.Update(ctx, s.name, data, revision); r.err == nil {
			s.metrics.saved.Inc()
			s.metrics.bytes.Add(float64(len(data)))
			s.metrics.save.Observe(time.Since(began).Seconds())
		}
		done <- r
	}()
}

// settled takes over the result of save.
func (s *stream) settled(r saveResult) error {
	s.saving = nil
	if wire.IsConflict(r.err) {
		return errLost
	}
	if r.err != nil {
		return fmt.Errorf("snapshot: %w", r.err)
	}
	s.revision, s.saved, s.savedAt = r.revision, r.position, time.Now()
	return nil
}

// settle stores a snapshot of the current position and waits for it.
func (s *stream) settle() error {
	if s.saving != nil {
		if err := s.settled(<-s.saving); err != nil {
			return err
		}
	}
	if s.detector.Position() == s.saved {
		return nil
	}
	s.save()
	return s.settled(<-s.saving)
}

// readLast reads which lines of the stream are stored. It returns errEnded if the last line is
// among them.
func (s *stream) readLast(ctx context.Context) error {
	msg, err := s.stored.GetLastMsgForSubject(ctx, wire.LineSubject(s.name))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	number, last, err := wire.ParseLine(msg.Header, msg.Data)
	if err != nil {
		return err
	}
	s.told, s.lineSequence = number, msg.Sequence
	if last {
		return errEnded
	}
	return nil
}

// tell publishes the next line, unless an earlier owner has. JetStream rejects it if another owner
// has published since.
func (s *stream) tell(line any) error {
	number := s.lines + 1
	if number <= s.told {
		s.lines = number
		return nil
	}
	msg, err := wire.NewLine(s.name, number, line)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ack, err := s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(s.lineSequence))
	if wire.IsConflict(err) && s.lineSequence > 0 && s.linesExpired(ctx) {
		if err := s.stillOwner(ctx); err != nil {
			return err
		}
		s.lineSequence = 0
		ack, err = s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(0))
	}
	switch {
	case err == nil:
		s.told, s.lineSequence = number, ack.Sequence
	case wire.IsConflict(err):
		if err := s.readLast(ctx); err != nil && !errors.Is(err, errEnded) {
			return err
		}
		if s.told < number {
			return errLost
		}
	default:
		return fmt.Errorf("line %d: %w", number, err)
	}
	s.lines = number
	return nil
}

// linesExpired reports whether JetStream has deleted all lines of the stream, because they were
// older than Options.KeepLines.
func (s *stream) linesExpired(ctx context.Context) bool {
	_, err := s.stored.GetLastMsgForSubject(ctx, wire.LineSubject(s.name))
	return errors.Is(err, jetstream.ErrMsgNotFound)
}

// stillOwner returns errLost if another member has written a snapshot, or has deleted it at the end
// of the stream.
func (s *stream) stillOwner(ctx context.Context) error {
	if s.saving != nil {
		if err := s.settled(<-s.saving); err != nil {
			return err
		}
	}
	e, err := s.snapshots.Get(ctx, s.name)
	if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && e.Revision() > s.revision {
		return errLost
	}
	return err
}

// finish deletes the snapshot of a stream that has ended, and then its message in the work queue.
// If the member dies between, the next owner finds the last line and repeats this.
func (s *stream) finish() error {
	if s.saving != nil {
		if err := s.settled(<-s.saving); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.snapshots.Purge(ctx, s.name, jetstream.LastRevision(s.revision)); err != nil {
		if wire.IsConflict(err) {
			return errLost
		}
		return err
	}
	return s.lease().DoubleAck(ctx)
}
