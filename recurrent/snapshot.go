package recurrent

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

const (
	snapshotMagic   = "S4DSTATE"
	snapshotVersion = 5
	headBytes       = 72 // level, model's hash, step scale, blocks of the window, flags, position
)

// SnapshotBytes returns the length of a snapshot.
func (n *Network) SnapshotBytes() int { return snapshot.Overhead + headBytes + n.StateBytes() }

// Snapshot appends the stream's state to dst, which may be nil.
func (s *Stream) Snapshot(dst []byte) []byte {
	start, le := len(dst), binary.LittleEndian
	dst = slices.Grow(dst, s.net.SnapshotBytes()+snapshot.Overhead) // also for a snapshot that ends with this one
	dst = snapshot.Begin(dst, snapshotMagic, snapshotVersion)
	dst = snapshot.AppendLevel(dst)
	dst = append(dst, s.net.hash[:]...)
	dst = le.AppendUint64(dst, math.Float64bits(s.net.stepScale))
	dst = le.AppendUint64(dst, uint64(s.net.blocks))
	dst = le.AppendUint64(dst, s.net.flags())
	dst = le.AppendUint64(dst, uint64(s.position))
	for _, x := range s.state {
		dst = le.AppendUint32(dst, math.Float32bits(x))
	}
	for _, list := range [...][]float64{s.sum, s.window.cycle, s.window.rows} {
		for _, x := range list {
			dst = le.AppendUint64(dst, math.Float64bits(x))
		}
	}
	return snapshot.End(dst, start)
}

// Restore continues from a snapshot of a stream of an equal model, with equal options, at the same
// kernel level. After an error the stream is unchanged.
func (s *Stream) Restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	if err == nil {
		err = s.net.checkSnapshot(body)
	}
	if err != nil {
		return fmt.Errorf("recurrent: snapshot: %w", err)
	}
	le := binary.LittleEndian
	s.position = int64(le.Uint64(body[64:]))
	body = body[headBytes:]
	for i := range s.state {
		s.state[i] = math.Float32frombits(le.Uint32(body[4*i:]))
	}
	body = body[4*len(s.state):]
	for _, list := range [...][]float64{s.sum, s.window.cycle, s.window.rows} {
		for i := range list {
			list[i] = math.Float64frombits(le.Uint64(body[8*i:]))
		}
		body = body[8*len(list):]
	}
	return nil
}

// The bits of a snapshot's flags.
const (
	flagNormalize = 1 << iota
	flagPosterior
)

func (n *Network) flags() (flags uint64) {
	if n.normalize {
		flags |= flagNormalize
	}
	if n.posterior {
		flags |= flagPosterior
	}
	return flags
}

// describe returns the options that flags stand for.
func describe(flags uint64) string {
	return fmt.Sprintf("Normalize %t and Posterior %t", flags&flagNormalize != 0, flags&flagPosterior != 0)
}

func (n *Network) checkSnapshot(body []byte) error {
	le := binary.LittleEndian
	if len(body) < headBytes {
		return fmt.Errorf("%d bytes, expected %d", len(body)+snapshot.Overhead, n.SnapshotBytes())
	}
	if !bytes.Equal(body[8:40], n.hash[:]) {
		return fmt.Errorf("taken from another model (hash %x…, this model's is %x…)", body[8:12], n.hash[:4])
	}
	if err := snapshot.CheckLevel(body); err != nil {
		return err
	}
	if scale := math.Float64frombits(le.Uint64(body[40:])); scale != n.stepScale {
		return fmt.Errorf("taken at step scale %v, this network has %v", scale, n.stepScale)
	}
	if blocks := le.Uint64(body[48:]); blocks != uint64(n.blocks) {
		return fmt.Errorf("taken with a window of %d blocks, this network has %d", blocks, n.blocks)
	}
	if flags := le.Uint64(body[56:]); flags != n.flags() {
		return fmt.Errorf("taken with %s, this network has %s", describe(flags), describe(n.flags()))
	}
	if want := n.SnapshotBytes() - snapshot.Overhead; len(body) != want {
		return fmt.Errorf("%d bytes, expected %d", len(body)+snapshot.Overhead, want+snapshot.Overhead)
	}
	return nil
}
