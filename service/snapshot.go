package service

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/s4d-fast/s4d-fast/report"
)

const (
	snapshotVersion = 1
	maxSnapshot     = 16 << 20 // bytes
	maxRecent       = 16       // events that a stream remembers for a client that has lost its connection
)

// header is what a snapshot stores of a stream, in addition to the state of its detector. A
// snapshot is the header, a line of JSON, the state, a snapshot of events.Stream, and the CRC-32
// (IEEE, little endian) of both. Before its first sample and after its end a stream has no state.
type header struct {
	Version    int            `json:"version"`
	Stream     string         `json:"stream"`
	SampleRate float64        `json:"rate"`          // of the client's audio, in Hz
	Samples    int64          `json:"samples"`       // that were processed
	EventCount int64          `json:"events"`        // so far
	Recent     []report.Event `json:"recent"`        // the last of them, at most maxRecent
	Busy       time.Duration  `json:"busy"`          // computing time
	End        *report.End    `json:"end,omitempty"` // last line of a stream that has ended
}

func encodeSnapshot(h header, state []byte) []byte {
	h.Version = snapshotVersion
	line, _ := json.Marshal(h) // cannot fail: its numbers are finite
	b := append(append(line, '\n'), state...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// decodeSnapshot returns the header and the state, which is a part of b.
func decodeSnapshot(b []byte) (h header, state []byte, err error) {
	n := len(b) - crc32.Size
	if n < 0 || binary.LittleEndian.Uint32(b[n:]) != crc32.ChecksumIEEE(b[:n]) {
		return h, nil, errors.New("the snapshot is damaged: its checksum differs")
	}
	line, state, _ := bytes.Cut(b[:n], []byte{'\n'})
	if err := json.Unmarshal(line, &h); err != nil {
		return h, nil, fmt.Errorf("the header of the snapshot: %w", err)
	}
	if h.Version != snapshotVersion {
		return h, nil, fmt.Errorf("the snapshot has version %d, expected %d", h.Version, snapshotVersion)
	}
	return h, state, nil
}
