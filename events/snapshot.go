package events

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

const (
	snapshotMagic   = "S4DEVENT"
	snapshotVersion = 4
)

// MaxPosition is the largest position at which a snapshot can be restored.
const MaxPosition = 1 << 62

// snapshotHead is the fixed part of a snapshot's body. After it come the samples of partial and
// past, the logits, the log-odds that are averaged, the levels of the contour, the offsets of the
// labels, the snapshot of the filter bank, and the snapshot of the recurrent stream with the
// model's hash and the kernel level. Past and logits are those of a model with a mean pool;
// log-odds, levels, offsets and filter bank are those of a model that labels every frame.
type snapshotHead struct {
	Options               [8]float64 // in the order of Options
	Position              int64
	Gate                  gate
	Segment               segment
	Partial, Past, Logits int32 // lengths
	Odds, Levels, Offsets int32 // lengths
	Bank                  int32 // bytes
}

var optionNames = [8]string{"Threshold", "OffThreshold", "Confirm", "Refractory", "Hop", "Window", "Smoothing", "SampleRate"}

func (o Options) values() [8]float64 {
	return [8]float64{o.Threshold, o.OffThreshold, float64(o.Confirm), o.Refractory, o.Hop, o.Window, o.Smoothing, o.SampleRate}
}

// stream returns the state of the network.
func (d *Detector) stream() *recurrent.Stream {
	if d.track != nil {
		return d.track.stream
	}
	return d.sound.stream
}

// Snapshot returns the Detector's state for Restore. Events that were returned are not part of it.
func (d *Detector) Snapshot() []byte {
	b, le := snapshot.Begin(nil, snapshotMagic, snapshotVersion), binary.LittleEndian
	head := snapshotHead{
		Options: d.opt.values(), Position: d.position, Gate: d.decision.gate, Segment: d.decision.segment,
		Partial: int32(len(d.partial)), Past: int32(len(d.past)), Logits: int32(len(d.sound.logits)), Odds: int32(len(d.smoother.ring)), Offsets: int32(len(d.offsets)),
	}
	var levels []float32
	var bank []byte
	if d.track != nil {
		levels, bank = d.decision.contour.last(), d.track.bank.Snapshot(nil)
		head.Levels, head.Bank = int32(len(levels)), int32(len(bank))
	}
	for _, part := range []any{head, d.partial, d.past, d.sound.logits, d.smoother.frames(nil), levels, d.offsets, bank} {
		b, _ = binary.Append(b, le, part) // fixed sizes: cannot fail
	}
	return snapshot.End(d.stream().Snapshot(b), 0)
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
	lists := [5][]float32{}
	for i, n := range []int32{head.Partial, head.Past, head.Logits, head.Odds, head.Levels} {
		if n < 0 || int64(len(body)) < 4*int64(n) {
			return errTruncated
		}
		lists[i] = make([]float32, n)
		binary.Decode(body, binary.LittleEndian, lists[i])
		body = body[4*n:]
	}
	switch n := int64(head.Offsets); {
	case n < 0 || int64(len(body)) < 8*n:
		return errTruncated
	case n != 0 && n != int64(len(d.labels)):
		return fmt.Errorf("events: snapshot: taken with %d offsets, this model has %d labels", n, len(d.labels))
	}
	offsets := make([]float64, head.Offsets)
	binary.Decode(body, binary.LittleEndian, offsets)
	body = body[8*head.Offsets:]
	if !slices.Equal(offsets, d.offsets) {
		return fmt.Errorf("events: snapshot: taken with offsets %v, this detector has %v", offsets, d.offsets)
	}
	if head.Bank < 0 || len(body) < int(head.Bank) {
		return errTruncated
	}
	next := d.NewDetector()
	if err := next.stream().Restore(body[head.Bank:]); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if next.track != nil {
		if err := next.track.bank.Restore(body[:head.Bank]); err != nil {
			return fmt.Errorf("events: %w", err)
		}
		next.decision.contour.levels = append(next.decision.contour.levels, lists[4]...)
	}
	if err := d.check(&head, &lists); err != nil {
		return fmt.Errorf("events: snapshot: %w", err)
	}
	next.decision.gate, next.decision.segment, next.position = head.Gate, head.Segment, head.Position
	next.partial, next.past = append(next.partial, lists[0]...), append(next.past, lists[1]...)
	copy(next.smoother.ring, lists[3])
	if next.sound.logits = lists[2]; !bytes.Equal(next.Snapshot(), b) {
		return errors.New("events: snapshot: a field has an invalid value")
	}
	*d = *next
	return nil
}

var errTruncated = errors.New("events: snapshot: truncated")

// check reports a state that no Detector has.
func (d *Detector) check(h *snapshotHead, lists *[5][]float32) error {
	labels, s := int32(len(d.labels)), &h.Segment
	partial, past, odds, levels := lists[0], lists[1], lists[3], lists[4]
	noAudio := func(v float32) bool { return !isAudio(v) }
	switch {
	case h.Position < 0 || h.Position > MaxPosition:
		return fmt.Errorf("position %d, expected 0 … %d", h.Position, int64(MaxPosition))
	case slices.ContainsFunc(partial, noAudio) || slices.ContainsFunc(past, noAudio):
		return fmt.Errorf("a sample is not a number from %v to %v", -maxAmplitude, maxAmplitude)
	case !(s.Confidence >= 0 && s.Confidence <= 1):
		return fmt.Errorf("a confidence of %v, expected 0 … 1", s.Confidence)
	case int(h.Partial) >= d.frame:
		return fmt.Errorf("%d samples of a frame, expected less than %d", h.Partial, d.frame)
	case int(h.Past) > cap(d.past) || int(h.Past)%d.frame != 0:
		return fmt.Errorf("%d past samples, expected frames of %d and at most %d samples", h.Past, d.frame, cap(d.past))
	case h.Logits != labels && (h.Logits != 0 || s.Frames != 0):
		return fmt.Errorf("%d logits of %d labels after %d frames", h.Logits, labels, s.Frames)
	case len(odds) != len(d.smoother.ring):
		return fmt.Errorf("%d log-odds, expected %d", len(odds), len(d.smoother.ring))
	case slices.ContainsFunc(odds, func(v float32) bool { return !(v >= -maxOdds && v <= maxOdds) }):
		return fmt.Errorf("log-odds beyond ±%d", maxOdds)
	case slices.ContainsFunc(levels, func(l float32) bool { return l-l != 0 }):
		return errors.New("a level is not finite")
	case s.Leader < -1 || s.Leader >= labels || s.Label < 0 || s.Label >= labels:
		return fmt.Errorf("labels %d and %d, expected less than %d", s.Leader, s.Label, labels)
	case s.Frames < 0 || s.Run < 0 || s.Events < 0 || h.Gate.Run < 0:
		return errors.New("a count is negative")
	case math.IsNaN(h.Gate.Floor) || math.IsInf(h.Gate.Floor, 0):
		return fmt.Errorf("the gate's floor is %v", h.Gate.Floor)
	}
	for _, at := range []int64{s.Onset, s.Since, s.Led, s.Begin, s.Ended} {
		if at < 0 || at > h.Position {
			return fmt.Errorf("a time of %d samples at position %d", at, h.Position)
		}
	}
	return nil
}
