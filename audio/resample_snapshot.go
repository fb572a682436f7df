package audio

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

const (
	snapshotMagic   = "S4DRATES"
	snapshotVersion = 1
	snapshotHead    = snapshot.LevelBytes + 3*4 // level, ratio, phase
)

// Snapshot returns the state of the conversion for Restore, which rejects inputs that are not
// finite numbers.
func (r *Resampler) Snapshot() []byte {
	b := snapshot.AppendLevel(snapshot.Begin(nil, snapshotMagic, snapshotVersion))
	for _, v := range []int{r.from, r.to, r.phase} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range r.in[r.window:] {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return snapshot.End(b, 0)
}

// Restore continues from a snapshot of a Resampler of the same ratio of rates, at the same kernel
// level: the outputs that follow have the same bits. After an error the Resampler is unchanged.
func (r *Resampler) Restore(b []byte) error {
	body, err := snapshot.Open(b, snapshotMagic, snapshotVersion)
	if err == nil {
		err = r.restore(body)
	}
	if err != nil {
		return fmt.Errorf("audio: a Resampler's snapshot: %w", err)
	}
	return nil
}

func (r *Resampler) restore(body []byte) error {
	n := (len(body) - snapshotHead) / 4
	if len(body) < snapshotHead || len(body)%4 != 0 {
		return fmt.Errorf("%d bytes, expected a head of %d and whole samples", len(body), snapshotHead)
	}
	if err := snapshot.CheckLevel(body); err != nil {
		return err
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32(body[snapshot.LevelBytes+4*i:])) }
	if from, to := word(0), word(1); from != r.from || to != r.to {
		return fmt.Errorf("taken at the ratio %d/%d, expected %d/%d", to, from, r.to, r.from)
	}
	if word(2) < 0 || word(2) >= r.to {
		return fmt.Errorf("phase %d, expected less than %d", word(2), r.to)
	}
	// Between calls an input is missing for the next output; the last output needed all inputs.
	least := min(r.width-1-r.ahead, r.width-(r.from+r.to-1)/r.to)
	if n < least || n >= r.width {
		return fmt.Errorf("%d samples, expected %d to %d", n, least, r.width-1)
	}
	sample := func(i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(body[snapshotHead+4*i:]))
	}
	for i := range n {
		if v := sample(i); v-v != 0 {
			return fmt.Errorf("sample %v, expected a finite number", v)
		}
	}
	r.phase, r.window, r.in = word(2), 0, r.in[:n]
	for i := range r.in {
		r.in[i] = sample(i)
	}
	return nil
}
