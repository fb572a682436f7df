package audio

import (
	"encoding/binary"
	"fmt"
)

// AppendState appends the state of the conversion to dst, for RestoreState.
func (r *Resampler) AppendState(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.phase))
	dst, _ = binary.Append(dst, binary.LittleEndian, r.in[r.window:]) // a fixed size: cannot fail
	return dst
}

// RestoreState continues from the state of a Resampler of the same ratio of rates: the outputs that
// follow have the same bits, at the same kernel level. After an error the Resampler is unchanged.
func (r *Resampler) RestoreState(b []byte) error {
	// Between calls an input is missing for the next output; the last output needed all inputs.
	least := min(r.width-1-r.ahead, r.width-(r.from+r.to-1)/r.to)
	n := len(b)/4 - 1
	if len(b)%4 != 0 || n < least || n >= r.width || binary.LittleEndian.Uint32(b) >= uint32(r.to) {
		return fmt.Errorf("audio: %d bytes are not the state of a Resampler with the ratio %d/%d", len(b), r.to, r.from)
	}
	r.phase, r.window, r.in = int(binary.LittleEndian.Uint32(b)), 0, r.in[:n]
	_, err := binary.Decode(b[4:], binary.LittleEndian, r.in)
	return err
}
