package series

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

const (
	snapshotMagic   = "S4DSERIE"
	snapshotVersion = 1
)

// Snapshot appends the stream's state to dst, which may be nil.
func (s *Stream) Snapshot(dst []byte) []byte {
	start, le := len(dst), binary.LittleEndian
	dst = snapshot.Begin(dst, snapshotMagic, snapshotVersion)
	for _, list := range [][]float32{s.last, s.pending} {
		dst, _ = binary.Append(dst, le, list) // fixed sizes: cannot fail
	}
	for _, d := range s.deviations {
		dst = le.AppendUint64(dst, math.Float64bits(d.square))
	}
	return snapshot.End(s.stream.Snapshot(dst), start)
}

// Restore continues from a snapshot of a stream of an equal model, with an equal Options.Window, at
// the same kernel level. The later results are then bit-identical. After an error the stream is
// unchanged.
func (s *Stream) Restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	if err == nil {
		err = s.restore(body)
	}
	if err != nil {
		return fmt.Errorf("series: snapshot: %w", err)
	}
	return nil
}

func (s *Stream) restore(body []byte) error {
	le := binary.LittleEndian
	own := 4*(len(s.last)+len(s.pending)) + 8*len(s.deviations)
	if len(body) < own {
		return fmt.Errorf("%d bytes, expected at least %d", len(body)+snapshot.Overhead, own+snapshot.Overhead)
	}
	if err := s.stream.Restore(body[own:]); err != nil {
		return err
	}
	for _, list := range [][]float32{s.last, s.pending} {
		n, _ := binary.Decode(body, le, list) // body is long enough
		body = body[n:]
	}
	for o := range s.deviations {
		s.deviations[o].square = math.Float64frombits(le.Uint64(body[8*o:]))
	}
	return nil
}
