package filterbank

import (
	"encoding/binary"
	"fmt"
)

// AppendState appends the Stream's state to dst, for RestoreState.
func (s *Stream) AppendState(dst []byte) []byte {
	dst, _ = binary.Append(dst, binary.LittleEndian, s.smooth) // fixed sizes: cannot fail
	dst, _ = binary.Append(dst, binary.LittleEndian, s.in[s.next:])
	return dst
}

// RestoreState continues from the state of a Stream with an equal Config. The later frames are then
// bit-identical, at the same kernel level. After an error the Stream is unchanged.
func (s *Stream) RestoreState(b []byte) error {
	// Between calls, at least one sample of the next frame is missing.
	c, head := &s.bank.cfg, 8*len(s.smooth)
	n := (len(b) - head) / 4
	if len(b) < head || len(b)%4 != 0 || n < c.Window-c.Hop || n >= c.Window {
		return fmt.Errorf("filterbank: %d bytes are not the state of a stream of this filter bank", len(b))
	}
	if _, err := binary.Decode(b, binary.LittleEndian, s.smooth); err != nil {
		return err
	}
	s.in, s.next = append(s.in[:0], make([]float32, n)...), 0
	_, err := binary.Decode(b[head:], binary.LittleEndian, s.in)
	return err
}
