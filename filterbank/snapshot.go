package filterbank

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

// docs/stream.md describes the format.
const (
	snapshotMagic   = "S4DBANDS"
	snapshotVersion = 1
	snapshotHead    = snapshot.LevelBytes + 7*8 // level, configuration
)

var configNames = [7]string{"sample_rate", "window", "hop", "bands", "low", "high", "compression"}

// values returns the Config as numbers; the compression is 0 for Log and 1 for PCEN. Equal Configs
// have equal bits: a Low of -0 becomes 0.
func (c Config) values() [7]float64 {
	pcen := 0.0
	if c.Compression == PCEN {
		pcen = 1
	}
	return [7]float64{c.SampleRate, float64(c.Window), float64(c.Hop), float64(c.Bands), math.Abs(c.Low), c.High, pcen}
}

// Snapshot appends the Stream's state to dst, which may be nil.
func (s *Stream) Snapshot(dst []byte) []byte {
	start, le := len(dst), binary.LittleEndian
	dst = snapshot.AppendLevel(snapshot.Begin(dst, snapshotMagic, snapshotVersion))
	for _, v := range s.bank.cfg.values() {
		dst = le.AppendUint64(dst, math.Float64bits(v))
	}
	for _, v := range s.smooth {
		dst = le.AppendUint64(dst, math.Float64bits(v))
	}
	for _, v := range s.in[s.next:] {
		dst = le.AppendUint32(dst, math.Float32bits(v))
	}
	return snapshot.End(dst, start)
}

// Restore continues from a snapshot of a Stream with an equal Config, at the same kernel level. The
// later frames are then bit-identical. After an error the Stream is unchanged.
func (s *Stream) Restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	if err == nil {
		err = s.restore(body)
	}
	if err != nil {
		return fmt.Errorf("filterbank: snapshot: %w", err)
	}
	return nil
}

func (s *Stream) restore(body []byte) error {
	c, le := &s.bank.cfg, binary.LittleEndian
	head := snapshotHead + 8*len(s.smooth)
	n := (len(body) - head) / 4
	if len(body) < snapshotHead {
		return fmt.Errorf("%d bytes, expected a head of %d", len(body), snapshotHead)
	}
	if err := snapshot.CheckLevel(body); err != nil {
		return err
	}
	for i, want := range c.values() {
		if v := math.Float64frombits(le.Uint64(body[snapshot.LevelBytes+8*i:])); math.Float64bits(v) != math.Float64bits(want) {
			return fmt.Errorf("taken with %s %v, this filter bank has %v", configNames[i], v, want)
		}
	}
	// Between calls, at least one sample of the next frame is missing.
	if least := c.Window - c.Hop; len(body) < head || len(body)%4 != 0 || n < least || n >= c.Window {
		return fmt.Errorf("%d bytes, expected a head of %d and %d to %d samples of 4", len(body), head, least, c.Window-1)
	}
	smooth := make([]float64, len(s.smooth))
	for i := range smooth {
		v := math.Float64frombits(le.Uint64(body[snapshotHead+8*i:]))
		if smooth[i] = v; !(v >= 0 && v <= math.MaxFloat32 || v == -1) {
			return fmt.Errorf("smoothed energy %v of band %d, expected a finite one of at least 0, or -1", v, i)
		}
	}
	in := make([]float32, n)
	for i := range in {
		v := math.Float32frombits(le.Uint32(body[head+4*i:]))
		if in[i] = v; v-v != 0 {
			return fmt.Errorf("sample %v, expected a finite number", v)
		}
	}
	copy(s.smooth, smooth)
	s.in, s.next = append(s.in[:0], in...), 0
	return nil
}
