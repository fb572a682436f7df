package events

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

// docs/stream.md describes the format.
const (
	snapshotMagic   = "S4DEVENT"
	snapshotVersion = 1
)

// snapshotHead is the fixed part of a snapshot's body. After it come the samples of partial and
// past, the logits, and the snapshot of the recurrent stream with the model's hash and the kernel
// level.
type snapshotHead struct {
	Options               [7]float64 // in the order of Options
	Position              int64
	Gate                  gate
	Segment               segment
	Partial, Past, Logits int32 // lengths
}

var optionNames = [7]string{"Threshold", "OffThreshold", "Confirm", "Refractory", "Hop", "Window", "SampleRate"}

func (o Options) values() [7]float64 {
	return [7]float64{o.Threshold, o.OffThreshold, float64(o.Confirm), o.Refractory, o.Hop, o.Window, o.SampleRate}
}

// Snapshot returns the Detector's state for Restore. Events that were returned are not part of it.
func (d *Detector) Snapshot() []byte {
	b, le := snapshot.Begin(nil, snapshotMagic, snapshotVersion), binary.LittleEndian
	head := snapshotHead{d.opt.values(), d.position, d.gate, d.segment, int32(len(d.partial)), int32(len(d.past)), int32(len(d.logits))}
	for _, part := range []any{head, d.partial, d.past, d.logits} {
		b, _ = binary.Append(b, le, part) // fixed sizes: cannot fail
	}
	return snapshot.End(d.stream.Snapshot(b), 0)
}

// Restore continues from a snapshot of a Detector of an equal model with equal options, at the same
// kernel level: the same audio then gives the same events, bit for bit. After an error the Detector
// is unchanged.
func (d *Detector) Restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	if err != nil {
		return fmt.Errorf("events: snapshot: %w", err)
	}
	var head snapshotHead
	n, err := binary.Decode(body, binary.LittleEndian, &head)
	if err != nil {
		return errTruncated
	}
	body = body[n:]
	for i, v := range d.opt.values() {
		if head.Options[i] != v {
			return fmt.Errorf("events: snapshot: taken with %s %v, this detector has %v", optionNames[i], head.Options[i], v)
		}
	}
	lists := [3][]float32{}
	for i, n := range []int32{head.Partial, head.Past, head.Logits} {
		if n < 0 || int64(len(body)) < 4*int64(n) {
			return errTruncated
		}
		lists[i] = make([]float32, n)
		binary.Decode(body, binary.LittleEndian, lists[i])
		body = body[4*n:]
	}
	next := d.NewDetector()
	if err := next.stream.Restore(body); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if err := d.check(&head); err != nil {
		return fmt.Errorf("events: snapshot: %w", err)
	}
	next.gate, next.segment, next.position = head.Gate, head.Segment, head.Position
	next.partial, next.past = append(next.partial, lists[0]...), append(next.past, lists[1]...)
	if next.logits = lists[2]; !bytes.Equal(next.Snapshot(), b) {
		return errors.New("events: snapshot: a field has an invalid value")
	}
	*d = *next
	return nil
}

var errTruncated = errors.New("events: snapshot: truncated")

// check reports a state that no Detector has.
func (d *Detector) check(h *snapshotHead) error {
	labels, s := int32(len(d.labels)), &h.Segment
	switch {
	case h.Position < 0:
		return fmt.Errorf("position %d, expected at least 0", h.Position)
	case int(h.Partial) >= d.frame:
		return fmt.Errorf("%d samples of a frame, expected less than %d", h.Partial, d.frame)
	case int(h.Past) > cap(d.past) || int(h.Past)%d.frame != 0:
		return fmt.Errorf("%d past samples, expected frames of %d and at most %d samples", h.Past, d.frame, cap(d.past))
	case h.Logits != labels && (h.Logits != 0 || s.Frames != 0):
		return fmt.Errorf("%d logits of %d labels after %d frames", h.Logits, labels, s.Frames)
	case s.Leader < -1 || s.Leader >= labels || s.Label < 0 || s.Label >= labels:
		return fmt.Errorf("labels %d and %d, expected less than %d", s.Leader, s.Label, labels)
	case s.Frames < 0 || s.Run < 0 || s.Events < 0 || h.Gate.Run < 0:
		return errors.New("a count is negative")
	case math.IsNaN(h.Gate.Floor) || math.IsInf(h.Gate.Floor, 0):
		return fmt.Errorf("the gate's floor is %v", h.Gate.Floor)
	}
	for _, at := range []int64{s.Onset, s.Since, s.Begin, s.Ended} {
		if at < 0 || at > h.Position {
			return fmt.Errorf("a time of %d samples at position %d", at, h.Position)
		}
	}
	return nil
}
