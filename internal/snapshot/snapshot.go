// Package snapshot frames the snapshots of packages recurrent, series and events: a magic string of
// eight bytes, a version and a body, all little-endian, and a CRC-32 (Castagnoli) of everything
// before it.
package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// HeaderBytes and Overhead are the lengths of what precedes the body, and of all that is not body.
const (
	HeaderBytes = 12
	Overhead    = HeaderBytes + crc32.Size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Begin appends the header. The caller appends the body and calls End.
func Begin(dst []byte, magic string, version uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, magic...), version)
}

// End appends the checksum of a snapshot that begins at start.
func End(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// Open returns the body of a snapshot after it has verified header and checksum.
func Open(b []byte, magic string, version uint32) (body []byte, err error) {
	if len(b) < Overhead || string(b[:8]) != magic {
		return nil, fmt.Errorf("it does not begin with %q: not a snapshot of this kind, or of an old version", magic)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return nil, fmt.Errorf("format version %d, this program reads version %d", v, version)
	}
	end := len(b) - crc32.Size
	want := binary.LittleEndian.Uint32(b[end:])
	if got := crc32.Checksum(b[:end], castagnoli); got != want {
		return nil, fmt.Errorf("damaged or truncated: checksum %08x, expected %08x", got, want)
	}
	return b[HeaderBytes:end], nil
}

// Level is the name of a kernel level in a snapshot, padded with zeros.
type Level [8]byte

// CurrentLevel returns the kernel level in use.
func CurrentLevel() (l Level) {
	copy(l[:], vek.CurrentLevel())
	return l
}

// Mismatch returns the error for a snapshot at a level that is not the one in use.
func (l Level) Mismatch() error {
	return fmt.Errorf("taken at kernel level %q, this program runs at %q, which rounds differently; set S4D_LEVEL=%[1]s", bytes.TrimRight(l[:], "\x00"), vek.CurrentLevel())
}
