package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Snapshot returns the state of the conversion for Restore: the ratio of the rates and the phase as
// uint32, then the inputs that later outputs need as float32, all little endian.
func (r *Resampler) Snapshot() []byte {
	var b []byte
	for _, v := range []int{r.from, r.to, r.phase} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range r.in[r.window:] {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Restore sets the state to that of the Resampler that made the snapshot, which must have the same
// ratio of rates. The outputs that follow have the same bits. After an error the Resampler is
// unchanged.
func (r *Resampler) Restore(snapshot []byte) error {
	const header = 3 * 4
	n := (len(snapshot) - header) / 4
	if n < 0 || len(snapshot)%4 != 0 || n >= r.width {
		return fmt.Errorf("audio: a Resampler's snapshot of %d bytes: expected %d to %d, a multiple of 4", len(snapshot), header, header+4*(r.width-1))
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(snapshot[4*i:]) }
	if from, to := word(0), word(1); from != uint32(r.from) || to != uint32(r.to) {
		return fmt.Errorf("audio: a Resampler's snapshot has the ratio %d/%d, expected %d/%d", to, from, r.to, r.from)
	}
	if word(2) >= uint32(r.to) {
		return fmt.Errorf("audio: a Resampler's snapshot has phase %d, expected less than %d", word(2), r.to)
	}
	r.phase, r.window, r.in = int(word(2)), 0, r.in[:n]
	for i := range r.in {
		r.in[i] = math.Float32frombits(word(3 + i))
	}
	return nil
}
