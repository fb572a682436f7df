package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// MaxSnapshot is the longest snapshot in bytes. NATS limits a message to 1 MiB by default.
const MaxSnapshot = 1 << 20

// MaxState is the largest events.Recognizer.StateBytes whose snapshots, with their headers, fit
// into a message.
const MaxState = MaxSnapshot - 4096

const (
	snapshotMagic  = "S4DCLUS1"
	snapshotHeader = len(snapshotMagic) + 3*8 + 1
	maxOwner       = 255
)

// Snapshot is the state of a stream between two chunks of its audio.
type Snapshot struct {
	Owner    string // member that wrote it
	Position int64  // samples of audio that the detector has processed
	Sequence uint64 // of the last message of audio in the JetStream stream
	Lines    int64  // lines published so far
	Detector []byte // events.Detector.Snapshot
}

// Encode returns the value that the key-value store holds: the magic word, Position, Sequence and
// Lines in 8 bytes each, the length of Owner in one byte, Owner, Detector, and the CRC-32
// (Castagnoli) of everything before it. Numbers are little-endian.
func (s Snapshot) Encode() []byte {
	owner := s.Owner[:min(len(s.Owner), maxOwner)]
	le := binary.LittleEndian
	b := make([]byte, 0, snapshotHeader+len(owner)+len(s.Detector)+crc32.Size)
	b = append(b, snapshotMagic...)
	b = le.AppendUint64(b, uint64(s.Position))
	b = le.AppendUint64(b, s.Sequence)
	b = le.AppendUint64(b, uint64(s.Lines))
	b = append(append(append(b, byte(len(owner))), owner...), s.Detector...)
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ParseSnapshot reads a value of the key-value store. Detector is part of b.
func ParseSnapshot(b []byte) (Snapshot, error) {
	if len(b) > MaxSnapshot {
		return Snapshot{}, fmt.Errorf("snapshot of %d bytes, expected at most %d", len(b), MaxSnapshot)
	}
	if len(b) < snapshotHeader+crc32.Size || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return Snapshot{}, fmt.Errorf("snapshot does not begin with %q: it is of another kind or version", snapshotMagic)
	}
	le, end := binary.LittleEndian, len(b)-crc32.Size
	if got, want := crc32.Checksum(b[:end], castagnoli), le.Uint32(b[end:]); got != want {
		return Snapshot{}, fmt.Errorf("snapshot is damaged: checksum %08x, expected %08x", got, want)
	}
	body := b[len(snapshotMagic):end]
	s := Snapshot{Position: int64(le.Uint64(body)), Sequence: le.Uint64(body[8:]), Lines: int64(le.Uint64(body[16:]))}
	owner, rest := int(body[24]), body[25:]
	if s.Position < 0 || s.Lines < 0 || len(rest) < owner {
		return Snapshot{}, errors.New("snapshot has an invalid length, position or number of lines")
	}
	s.Owner, s.Detector = string(rest[:owner]), rest[owner:]
	return s, nil
}
