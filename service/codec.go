package service

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// snapshot is the state of a stream. Its file holds the magic word, the CRC-32 (IEEE,
// little endian) of the rest, and a gob of this struct. Every snapshot gets a new file name, so
// that removing one never affects the next.
type snapshot struct {
	Identity  identity
	Detector  []byte
	Resampler []byte // empty if the client's audio has the model's rate
	Saved     time.Time
}

const (
	magic       = "S4DSVC3\n"
	headerSize  = len(magic) + crc32.Size
	maxSnapshot = 16 << 20 // bytes
)

func encodeSnapshot(v snapshot) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(magic + "\x00\x00\x00\x00")
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return nil, err
	}
	all := b.Bytes()
	if len(all) > maxSnapshot {
		return nil, fmt.Errorf("stream %s: a snapshot of %d bytes: expected at most %d", v.Identity.ID, len(all), maxSnapshot)
	}
	binary.LittleEndian.PutUint32(all[len(magic):], crc32.ChecksumIEEE(all[headerSize:]))
	return all, nil
}

// damagedError is an error in the content of a snapshot.
type damagedError struct{ error }

func decodeSnapshot(b []byte) (*snapshot, error) {
	switch {
	case len(b) > maxSnapshot:
		return nil, &damagedError{fmt.Errorf("the snapshot is longer than %d bytes", maxSnapshot)}
	case len(b) < headerSize || string(b[:len(magic)]) != magic:
		return nil, &damagedError{errors.New("the snapshot is damaged: it has no header")}
	case binary.LittleEndian.Uint32(b[len(magic):]) != crc32.ChecksumIEEE(b[headerSize:]):
		return nil, &damagedError{errors.New("the snapshot is damaged: its checksum differs")}
	}
	v, err := decodeGob(b[headerSize:])
	if err == nil {
		err = v.Identity.validate()
	}
	if err != nil {
		return nil, &damagedError{fmt.Errorf("the snapshot is damaged: %w", err)}
	}
	return v, nil
}
