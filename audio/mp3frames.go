package audio

import (
	"bufio"
	"fmt"
	"io"
)

// mp3Frames reads the frames of an MP3 stream, and delivers equivalent frames of the largest bit
// rate to the decoder. This avoids three faults of the decoder. It computes a wrong size for some
// frames of MPEG-2 with a padding byte. It decodes wrong bits if earlier frames, in which the main
// data of a frame may begin, are missing. And it decodes some lines of short blocks in mid-side
// stereo wrongly.
type mp3Frames struct {
	in       *bufio.Reader
	header   mp3Header // of the first frame; later frames have the same rate and channels
	expected int64     // frames after the tag; 0: unknown
	count    int64     // frames read
	err      error

	frame     [1 << 11]byte
	reservoir []byte // main data of earlier frames, at least the last 511 bytes where there are so many
	pending   []byte // the frame to deliver next, whose free end may hold data of the one after it
	used      int    // number of bytes of pending in use
	out       []byte // whole frames, not delivered yet
}

// read returns the next frame, valid until the next call; io.EOF comes after the last one, and
// before another file that is joined to this one. Bytes between frames are skipped.
func (m *mp3Frames) read() ([]byte, error) {
	if m.expected > 0 && m.count == m.expected {
		return nil, io.EOF
	}
	h, err := m.nextHeader()
	if err != nil {
		return nil, err
	}
	whole, _ := m.in.Peek(h.size)
	if _, tag := parseInfo(whole, h); tag {
		return nil, m.end()
	}
	frame := m.frame[:h.size]
	if _, err := io.ReadFull(m.in, frame); err != nil {
		return nil, truncated(err, "MP3", "frame %d", m.count+1)
	}
	m.header = h
	m.count++
	return frame, nil
}

// nextHeader returns the header of the next frame of the stream, and skips what is before it.
func (m *mp3Frames) nextHeader() (h mp3Header, err error) {
	for synced := false; ; synced = true {
		head, err := m.in.Peek(4)
		if err != nil && err != io.EOF {
			return h, fmt.Errorf("audio: MP3: %w", err)
		}
		h, bad := parseMP3Header(head)
		if bad == nil && h.continues(m.header) {
			return h, nil
		}
		if synced || len(head) < 4 {
			return h, m.end()
		}
		syncMP3(m.in, true)
	}
}

// continues reports whether a frame with header h belongs to the same stream as another one.
func (h mp3Header) continues(other mp3Header) bool {
	return h.rate == other.rate && h.channels == other.channels && h.second == other.second
}

// end returns the error after the last frame.
func (m *mp3Frames) end() error {
	if m.count < m.expected {
		return fmt.Errorf("audio: %w MP3: %d frames, its first frame states %d", ErrTruncated, m.count, m.expected)
	}
	return io.EOF
}

// Read implements io.Reader for the decoder.
func (m *mp3Frames) Read(dst []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		var frame []byte
		if frame, m.err = m.read(); m.err == nil {
			m.err = m.repack(frame)
		} else {
			m.out, m.pending = append(m.out, m.pending...), nil
		}
	}
	n := copy(dst, m.out)
	m.out = m.out[:copy(m.out, m.out[n:])]
	return n, nil
}

// repack makes a frame of the largest bit rate with the same side information and main data. The
// main data begins as early as possible, after the data in the frame before. It fits, because the
// new frames are larger than the old ones.
func (m *mp3Frames) repack(frame []byte) error {
	h := m.header
	head := 4
	if h.crc {
		head += 2
	}
	if len(frame) < head+h.sideInfo {
		return fmt.Errorf("audio: MP3: frame %d has %d bytes, expected at least %d", m.count, len(frame), head+h.sideInfo)
	}
	slot := frame[head+h.sideInfo:]
	side := make([]byte, h.sideInfo, 1<<11)
	copy(side, frame[head:])
	begin, bits := h.mainData(side)
	m.reservoir = append(m.reservoir, slot...)
	from := len(m.reservoir) - len(slot) - begin
	size := (bits + 7) / 8
	if from < 0 || from+size > len(m.reservoir) {
		clear(side) // silence: the stream was cut before this frame
		from, size = 0, 0
	}
	data := m.reservoir[from : from+size]
	full, early := h.largestSlot(), 0
	if m.pending != nil {
		early = min(len(m.pending)-m.used, h.maxBegin())
	}
	if frame[3]>>6 == 1 && frame[3]&0x20 != 0 {
		spare := early + full - len(data) - min(len(m.reservoir)-from-size, h.maxBegin()) // bytes that later frames do not need
		data = h.extendShort(side, data, 8*spare)
	}
	if m.pending != nil {
		copy(m.pending[len(m.pending)-early:], data)
		m.out = append(m.out, m.pending...)
	}
	setBits(side, 0, h.beginBits, early)
	data = data[min(early, len(data)):]
	if len(data) > full {
		return fmt.Errorf("audio: MP3: frame %d has %d bytes of main data, expected at most %d", m.count, early+len(data), early+full)
	}
	// No CRC, the largest bit rate, with padding.
	next := []byte{frame[0], frame[1] | 1, frame[2]&0x0c | 14<<4 | 1<<1, frame[3]}
	next = append(append(next, side...), data...)
	m.used = len(next)
	m.pending = append(next, make([]byte, full-len(data))...)
	m.reservoir = m.reservoir[:copy(m.reservoir, m.reservoir[max(len(m.reservoir)-h.maxBegin(), 0):])]
	return nil
}

// extendShort returns the main data of a frame in mid-side stereo, with zeros appended to the short
// blocks of one channel. The decoder computes left and right only up to the last line that is
// coded. By then it has sorted the lines of short blocks, so that coded lines come after that one.
// With quadruples of zeros, which are coded as ones, at the end of the data of a granule, the
// decoder computes all lines. They take at most room bits.
func (h mp3Header) extendShort(side, data []byte, room int) []byte {
	var out bitWriter
	pos := 0
	for granule := range h.granules {
		extended := false
		for channel := range 2 {
			at := h.record(2*granule + channel)
			size := bitsAt(side, at, 12)
			out.copy(data, pos, size)
			pos += size
			windows := at + 12 + 9 + 8 + h.compressBits
			short := bitsAt(side, windows, 3) == 1<<2|2
			if extended || !short || size == 0 {
				continue
			}
			ones := 144 // one bit for each of the quadruples of 576 lines
			if bitsAt(side, at+h.recordBits-1, 1) == 1 {
				ones = 576 // four bits
			}
			ones = max(min(ones, 1<<12-1-size, room), 0)
			room -= ones
			setBits(side, at, 12, size+ones)
			for range ones {
				out.bit(1)
			}
			extended = true
		}
	}
	return out.bytes
}

// largestSlot returns the bytes of main data in a frame of the largest bit rate with padding, as
// the decoder computes them.
func (h mp3Header) largestSlot() int {
	size := 144*320000/h.rate + 1
	if h.second {
		size = (144*160000/h.rate + 1) >> 1
	}
	return size - 4 - h.sideInfo
}

// maxBegin is the largest number of bytes that the main data of a frame may begin before it.
func (h mp3Header) maxBegin() int { return 1<<h.beginBits - 1 }

// mainData returns from the side information how many bytes before the frame the main data begins,
// and how many bits it has.
func (h mp3Header) mainData(side []byte) (begin, bits int) {
	for i := range h.granules * h.channels {
		bits += bitsAt(side, h.record(i), 12)
	}
	return bitsAt(side, 0, h.beginBits), bits
}

// record returns the position of a record in bits.
func (h mp3Header) record(i int) int { return 8*h.sideInfo - (h.granules*h.channels-i)*h.recordBits }

// bitsAt returns n bits of b.
func bitsAt(b []byte, pos, n int) (v int) {
	for i := pos; i < pos+n; i++ {
		v = v<<1 | int(b[i/8]>>(7-i%8)&1)
	}
	return v
}

// setBits replaces n bits of b.
func setBits(b []byte, pos, n, v int) {
	for i := pos; i < pos+n; i++ {
		bit := byte(v >> (pos + n - 1 - i) & 1)
		b[i/8] = b[i/8]&^(0x80>>(i%8)) | bit<<(7-i%8)
	}
}

type bitWriter struct {
	bytes []byte
	n     int
}

func (w *bitWriter) bit(v byte) {
	if w.n%8 == 0 {
		w.bytes = append(w.bytes, 0)
	}
	w.bytes[w.n/8] |= v << (7 - w.n%8)
	w.n++
}

// copy appends n bits of b from pos on.
func (w *bitWriter) copy(b []byte, pos, n int) {
	for i := pos; i < pos+n; i++ {
		w.bit(b[i/8] >> (7 - i%8) & 1)
	}
}
