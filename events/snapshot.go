package events

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
)

// A snapshot is a gob of memory, followed by the CRC-32 (IEEE, little endian) of its bytes.

// memory is all that a Detector knows.
type memory struct {
	Options              Options // of its Recognizer
	Gate                 gate
	Heard                hearing
	Position             int64
	Partial, Past, Logit []float32
	Stream               []byte // snapshot of the recurrent stream, with its model's hash
}

// Snapshot returns all that the Detector knows, for Restore. Events that Process has returned are not part of it.
func (d *Detector) Snapshot() []byte {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(memory{d.opt, d.gate, d.heard, d.position, d.partial, d.past, d.logits, d.stream.Snapshot(nil)})
	if err != nil {
		panic("events: snapshot: " + err.Error()) // no write to a buffer fails
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.ChecksumIEEE(b.Bytes()))
}

// Restore makes the Detector go on where the one that made the snapshot stood: what it then hears gives the same events, to the bit. It must come
// from a Recognizer of the same model and options. After an error the Detector is as it was.
func (d *Detector) Restore(snapshot []byte) error {
	n := len(snapshot) - crc32.Size
	if n < 0 || crc32.ChecksumIEEE(snapshot[:n]) != binary.LittleEndian.Uint32(snapshot[n:]) {
		return errors.New("events: snapshot is damaged: its checksum differs")
	}
	var m memory
	if err := gob.NewDecoder(bytes.NewReader(snapshot[:n])).Decode(&m); err != nil {
		return fmt.Errorf("events: snapshot: %w", err)
	}
	if m.Options != d.opt {
		return fmt.Errorf("events: the snapshot is of a detector with options %+v, not %+v", m.Options, d.opt)
	}
	if !d.possible(&m) {
		return errors.New("events: snapshot is damaged: it describes no detector")
	}
	if err := d.stream.Restore(m.Stream); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	d.gate, d.heard, d.position = m.Gate, m.Heard, m.Position
	d.partial = append(d.partial[:0], m.Partial...)
	d.past = append(d.past[:0], m.Past...)
	d.logits = m.Logit
	return nil
}

// possible reports whether a Detector can know this.
func (d *Detector) possible(m *memory) bool {
	labels := len(d.labels)
	return m.Position >= 0 && len(m.Partial) < d.frame && len(m.Past) <= cap(d.past) && len(m.Past)%d.frame == 0 &&
		(len(m.Logit) == labels || len(m.Logit) == 0 && m.Heard.Frames == 0) &&
		m.Heard.Label >= -1 && m.Heard.Label < labels && m.Heard.Event >= 0 && m.Heard.Event < labels
}
