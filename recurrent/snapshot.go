package recurrent

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

const (
	snapshotMagic   = "S4DSTATE"
	snapshotVersion = 1
)

// snapshotHead is the fixed part of a snapshot's body. After it come the state of the SSMs, the sum
// of the pool, and the window.
type snapshotHead struct {
	Level     snapshot.Level
	Model     [32]byte // its hash
	StepScale float64
	Blocks    int64 // of the window
	Options   outputOptions
	Position  int64
}

// outputOptions are the options that change what the output means.
type outputOptions struct{ Normalize, Posterior bool }

var headBytes = binary.Size(snapshotHead{})

// snapshotHead returns the head of a snapshot of a new stream.
func (n *Network) snapshotHead() snapshotHead {
	return snapshotHead{
		Level: snapshot.CurrentLevel(), Model: n.hash, StepScale: n.stepScale, Blocks: int64(n.blocks), Options: outputOptions{n.normalize, n.posterior},
	}
}

// SnapshotBytes returns the length of a snapshot.
func (n *Network) SnapshotBytes() int { return snapshot.Overhead + headBytes + n.StateBytes() }

// Snapshot appends the stream's state to dst, which may be nil.
func (s *Stream) Snapshot(dst []byte) []byte {
	start, head := len(dst), s.net.snapshotHead()
	head.Position = s.position
	dst = slices.Grow(dst, s.net.SnapshotBytes()+snapshot.Overhead) // also for a snapshot that ends with this one
	dst = snapshot.Begin(dst, snapshotMagic, snapshotVersion)
	for _, part := range [...]any{head, s.state, s.sum, s.window.cycle, s.window.rows} {
		dst, _ = binary.Append(dst, binary.LittleEndian, part) // fixed sizes: cannot fail
	}
	return snapshot.End(dst, start)
}

// Restore continues from a snapshot of a stream of an equal model, with equal options, at the same
// kernel level. After an error the stream is unchanged.
func (s *Stream) Restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	var head snapshotHead
	if err == nil {
		head, err = s.net.readHead(body)
	}
	if err != nil {
		return fmt.Errorf("recurrent: snapshot: %w", err)
	}
	s.position, body = head.Position, body[headBytes:]
	for _, part := range [...]any{s.state, s.sum, s.window.cycle, s.window.rows} {
		n, _ := binary.Decode(body, binary.LittleEndian, part) // readHead has checked the length
		body = body[n:]
	}
	return nil
}

// readHead reads the head of a snapshot's body. It returns an error unless the body is that of a
// stream of the network.
func (n *Network) readHead(body []byte) (head snapshotHead, err error) {
	size := fmt.Errorf("%d bytes, expected %d", len(body)+snapshot.Overhead, n.SnapshotBytes())
	if _, err := binary.Decode(body, binary.LittleEndian, &head); err != nil {
		return head, size
	}
	own := n.snapshotHead()
	switch {
	case head.Model != own.Model:
		return head, fmt.Errorf("taken from another model (hash %x…, this model's is %x…)", head.Model[:4], own.Model[:4])
	case head.Level != own.Level:
		return head, head.Level.Mismatch()
	case head.StepScale != own.StepScale:
		return head, fmt.Errorf("taken at step scale %v, this network has %v", head.StepScale, own.StepScale)
	case head.Blocks != own.Blocks:
		return head, fmt.Errorf("taken with a window of %d blocks, this network has %d", head.Blocks, own.Blocks)
	case head.Options != own.Options:
		return head, fmt.Errorf("taken with the options %+v, this network has %+v", head.Options, own.Options)
	case len(body)+snapshot.Overhead != n.SnapshotBytes():
		return head, size
	}
	return head, nil
}
