package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

const (
	snapshotMagic   = "S4DEVENT"
	snapshotVersion = 1
)

// snapshotHead is the fixed part of a snapshot's body. After it come the samples of the incomplete
// frame, the levels of the contour, the offsets of the labels, the log-odds that are averaged, the
// state of the resampler, and that of the source, which has the model's hash and the kernel level.
type snapshotHead struct {
	Options                  [5]float64 // in the order of Options
	SampleRate               float64    // Hz, of the input
	Position, Origin         int64      // of the Stream
	Signal                   int64      // position of the signal
	Segment                  segment
	Partial, Levels, Offsets int32 // lengths
	Resampler                int32 // bytes
}

const optionNames = "Threshold, OffThreshold, Confirm, Refractory and Smoothing"

func (o Options) values() [5]float64 {
	return [5]float64{o.Threshold, o.OffThreshold, float64(o.Confirm), o.Refractory, o.Smoothing}
}

// Snapshot returns the Stream's state for Restore. Events that were returned are not part of it.
func (s *Stream) Snapshot() []byte {
	levels, offsets, ring := s.smoother.contour.last(), s.recognizer.offsets, s.smoother.ring
	head := snapshotHead{
		Options: s.recognizer.opt.values(), SampleRate: s.sampleRate, Position: s.position, Origin: s.origin,
		Signal: s.signal.position, Segment: s.decision.segment,
		Partial: int32(len(s.signal.partial)), Levels: int32(len(levels)), Offsets: int32(len(offsets)),
	}
	var resampler []byte
	if s.resampler != nil {
		resampler = s.resampler.AppendState(nil)
		head.Resampler = int32(len(resampler))
	}
	b, le := snapshot.Begin(nil, snapshotMagic, snapshotVersion), binary.LittleEndian
	for _, part := range []any{head, s.signal.partial, levels, offsets, ring[s.smoother.oldest:], ring[:s.smoother.oldest], resampler} {
		b, _ = binary.Append(b, le, part) // fixed sizes: cannot fail
	}
	return snapshot.End(s.signal.source.snapshot(b), 0)
}

// Restore continues from a snapshot of a Stream of an equal model with equal options and an equal
// sampling rate, at the same kernel level: the same audio then gives the same events, bit for bit.
// After an error the Stream is unchanged.
func (s *Stream) Restore(b []byte) error {
	next, err := s.recognizer.NewStream(s.sampleRate)
	if err != nil {
		return err
	}
	if err := next.restore(b); err != nil {
		return fmt.Errorf("events: snapshot: %w", err)
	}
	*s = *next
	return nil
}

var errTruncated = errors.New("truncated")

// restore is Restore for a new Stream, which is of no use after an error.
func (s *Stream) restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	if err != nil {
		return err
	}
	var head snapshotHead
	n, err := binary.Decode(body, binary.LittleEndian, &head)
	if err != nil {
		return errTruncated
	}
	if err := s.check(&head); err != nil {
		return err
	}
	s.position, s.origin, s.signal.position, s.decision.segment = head.Position, head.Origin, head.Signal, head.Segment
	s.signal.partial = s.signal.partial[:head.Partial]
	contour, offsets := s.smoother.contour, make([]float64, head.Offsets)
	contour.levels = contour.levels[:head.Levels]
	body = body[n:]
	for _, part := range []any{s.signal.partial, contour.levels, offsets, s.smoother.ring} {
		if n, err = binary.Decode(body, binary.LittleEndian, part); err != nil {
			return errTruncated
		}
		body = body[n:]
	}
	if !slices.Equal(offsets, s.recognizer.offsets) {
		return fmt.Errorf("taken with offsets %v, this stream has %v", offsets, s.recognizer.offsets)
	}
	if int(head.Resampler) > len(body) {
		return errTruncated
	}
	if s.resampler != nil {
		if err := s.resampler.RestoreState(body[:head.Resampler]); err != nil {
			return err
		}
	}
	return s.signal.source.restore(body[head.Resampler:])
}

// check returns an error for a state that this Stream cannot have.
func (s *Stream) check(h *snapshotHead) error {
	labels, options := int32(len(s.recognizer.labels)), s.recognizer.opt.values()
	switch g := &h.Segment; {
	case h.Options != options:
		return fmt.Errorf("taken with %s %v, this stream has %v", optionNames, h.Options, options)
	case h.SampleRate != s.sampleRate:
		return fmt.Errorf("taken at %v Hz, this stream has %v Hz", h.SampleRate, s.sampleRate)
	case h.Origin < 0 || h.Position < h.Origin || h.Signal < 0:
		return fmt.Errorf("position %d of a signal that began at %d", h.Position, h.Origin)
	case h.Partial < 0 || int(h.Partial) >= s.signal.frame || h.Levels < 0 || int(h.Levels) > s.smoother.contour.frames:
		return fmt.Errorf("%d samples of a frame and %d levels, expected less than %d and at most %d",
			h.Partial, h.Levels, s.signal.frame, s.smoother.contour.frames)
	case h.Offsets != 0 && h.Offsets != labels:
		return fmt.Errorf("taken with %d offsets, this model has %d labels", h.Offsets, labels)
	case g.Leader < -1 || g.Leader >= labels || g.Label < 0 || g.Label >= labels:
		return fmt.Errorf("labels %d and %d, expected less than %d", g.Leader, g.Label, labels)
	case h.Resampler < 0:
		return fmt.Errorf("a resampler of %d bytes", h.Resampler)
	}
	return nil
}
