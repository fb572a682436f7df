package recurrent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A snapshot is, little-endian and without padding:
//
//	offset  bytes
//	     0      8  "S4DSTATE"
//	     8      4  version, 2
//	    12     32  hash of the model
//	    44      8  step scale, float64
//	    52      8  position, int64
//	    60      8  blocks of the window, int64; 0 without one
//	    68     4N  h, float32 [layer][re, im][H][M]
//	68+4N     8H  with mean pooling: Σ over positions, float64 [H]
//	               with a window, then: Σ over each complete block, float64 [blocks][H]
//	   end      4  CRC-32 (Castagnoli) of all before
const (
	snapshotMagic   = "S4DSTATE"
	snapshotVersion = 2
	snapshotHeader  = 68
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SnapshotBytes returns the length of a snapshot.
func (n *Network) SnapshotBytes() int { return snapshotHeader + n.StateBytes() + crc32.Size }

// Snapshot appends the stream's state to dst, which may be nil. A stream of an equal model at the same step scale
// that restores it continues with the same bits.
func (s *Stream) Snapshot(dst []byte) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, snapshotMagic...)
	dst = le.AppendUint32(dst, snapshotVersion)
	dst = append(dst, s.net.hash[:]...)
	dst = le.AppendUint64(dst, math.Float64bits(s.net.stepScale))
	dst = le.AppendUint64(dst, uint64(s.position))
	dst = le.AppendUint64(dst, uint64(s.net.blocks))
	for _, x := range s.state {
		dst = le.AppendUint32(dst, math.Float32bits(x))
	}
	for _, list := range [][]float64{s.sum, s.ring} {
		for _, x := range list {
			dst = le.AppendUint64(dst, math.Float64bits(x))
		}
	}
	return le.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// Restore continues from a snapshot. On an error the stream is unchanged.
func (s *Stream) Restore(b []byte) error {
	if err := s.net.checkSnapshot(b); err != nil {
		return err
	}
	le := binary.LittleEndian
	s.position = int64(le.Uint64(b[52:]))
	b = b[snapshotHeader:]
	for i := range s.state {
		s.state[i] = math.Float32frombits(le.Uint32(b[4*i:]))
	}
	b = b[4*len(s.state):]
	for _, list := range [][]float64{s.sum, s.ring} {
		for i := range list {
			list[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
		b = b[8*len(list):]
	}
	s.sumRing()
	return nil
}

func (n *Network) checkSnapshot(b []byte) error {
	le := binary.LittleEndian
	if len(b) < snapshotHeader+crc32.Size || string(b[:8]) != snapshotMagic {
		return errors.New("recurrent: snapshot: not a snapshot of a stream")
	}
	if v := le.Uint32(b[8:]); v != snapshotVersion {
		return fmt.Errorf("recurrent: snapshot: version %d, this program reads version %d", v, snapshotVersion)
	}
	body, sum := b[:len(b)-crc32.Size], le.Uint32(b[len(b)-crc32.Size:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return fmt.Errorf("recurrent: snapshot: damaged or cut short (checksum %08x, want %08x)", got, sum)
	}
	if !bytes.Equal(b[12:44], n.hash[:]) {
		return fmt.Errorf("recurrent: snapshot: taken from another model (hash %x…, this model's is %x…)", b[12:16], n.hash[:4])
	}
	if stepScale := math.Float64frombits(le.Uint64(b[44:])); stepScale != n.stepScale {
		return fmt.Errorf("recurrent: snapshot: taken at step scale %v, this network runs at %v", stepScale, n.stepScale)
	}
	if blocks := le.Uint64(b[60:]); blocks != uint64(n.blocks) {
		return fmt.Errorf("recurrent: snapshot: a window of %d blocks, this network's has %d", blocks, n.blocks)
	}
	if len(b) != n.SnapshotBytes() {
		return fmt.Errorf("recurrent: snapshot: %d bytes, want %d", len(b), n.SnapshotBytes())
	}
	if position := int64(le.Uint64(b[52:])); position < 0 {
		return fmt.Errorf("recurrent: snapshot: position %d", position)
	}
	return nil
}
