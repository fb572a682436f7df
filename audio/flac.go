package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// This decoder replaces github.com/mewkiz/flac, which logs a line for each frame at 24 and 176.4
// kHz, rejects samples of 32 bits and allocates memory for every frame. Section numbers are those
// of RFC 9639.

type flacStream struct {
	bits    bitReader
	format  Format
	maxLen  int   // largest block, in samples of a channel
	total   int64 // samples per channel; 0: unknown
	got     int64 // samples per channel that have been decoded
	data    [8][]int64
	decoded []float32

	unchecked bool // by tests: accept wrong checksums
}

// openFLAC reads the metadata of a FLAC stream (§8) to s.
func (r *Reader) openFLAC(in *bufio.Reader, s *flacStream) error {
	s.bits.in = in
	in.Discard(len("fLaC"))
	for first := true; ; first = false {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return truncated(err, "FLAC", "the metadata")
		}
		last, kind, size := head[0]&0x80 != 0, head[0]&0x7f, int64(binary.BigEndian.Uint32(head[:])&0xffffff)
		if first {
			if err := s.streamInfo(in, kind, size); err != nil {
				return err
			}
		} else if _, err := io.CopyN(io.Discard, in, size); err != nil {
			return truncated(err, "FLAC", "a metadata block of %d bytes", size)
		}
		if last {
			r.Format, r.in = s.format, &blocks{name: "FLAC", next: s.next}
			return nil
		}
	}
}

// streamInfo reads the first metadata block (§8.2): smallest and largest block in samples (16 bits
// each), smallest and largest frame in bytes (24 each), rate (20), channels−1 (3), bits−1 (5),
// samples (36), MD5 (128).
func (s *flacStream) streamInfo(in io.Reader, kind byte, size int64) error {
	if kind != 0 || size != 34 {
		return fmt.Errorf("audio: the first metadata block of FLAC has type %d and %d bytes, expected STREAMINFO, type 0 with 34 bytes", kind, size)
	}
	var b [34]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return truncated(err, "FLAC", "the STREAMINFO block")
	}
	v := binary.BigEndian.Uint64(b[10:])
	s.maxLen = int(binary.BigEndian.Uint16(b[2:]))
	s.format = Format{SampleRate: int(v >> 44), Channels: int(v>>41&7) + 1, Bits: int(v>>36&31) + 1}
	s.total = int64(v & (1<<36 - 1))
	if s.maxLen < 16 || s.format.SampleRate == 0 || s.format.Bits < 4 {
		return fmt.Errorf("audio: FLAC with blocks of %d samples of %d bits at %d Hz, expected at least 16, 4 and 1",
			s.maxLen, s.format.Bits, s.format.SampleRate)
	}
	return nil
}

// next decodes a frame.
func (s *flacStream) next(int) ([]float32, error) {
	if s.total > 0 && s.got == s.total {
		return nil, io.EOF // what follows is not audio, but for example a tag
	}
	head, err := s.bits.in.Peek(4)
	if s.total == 0 && s.got > 0 && len(head) == 4 && slices.Contains([]string{"fLa", "ID3", "TAG", "APE"}, string(head[:3])) {
		return nil, io.EOF // a tag, or another file that is joined to this one
	}
	if len(head) == 0 && err == io.EOF {
		if s.total > 0 {
			return nil, fmt.Errorf("audio: %w FLAC: %d samples per channel, the header states %d", ErrTruncated, s.got, s.total)
		}
		return nil, io.EOF
	}
	n, err := s.frame()
	if s.bits.err != nil {
		return nil, truncated(s.bits.err, "FLAC", "the frame at sample %d", s.got)
	}
	if err != nil {
		return nil, fmt.Errorf("audio: FLAC: the frame at sample %d: %w", s.got, err)
	}
	if s.total > 0 {
		n = int(min(int64(n), s.total-s.got))
	}
	s.got += int64(n)
	channels := s.format.Channels
	scale := 1 / float32(int64(1)<<(s.format.Bits-1))
	s.decoded = slices.Grow(s.decoded[:0], n*channels)
	for i := range n {
		for _, x := range s.data[:channels] {
			s.decoded = append(s.decoded, min(max(float32(x[i])*scale, -1), belowOne))
		}
	}
	return s.decoded, nil
}

// The stereo modes of a frame: the second channel is left minus right, the first is, or the first
// is their mean.
const (
	leftSide = iota + 8
	sideRight
	midSide
)

// frame decodes a frame (§9) to s.data and returns its length in samples.
func (s *flacStream) frame() (int, error) {
	b := &s.bits
	b.crc16 = 0
	n, mode, err := s.header()
	if err != nil {
		return 0, err
	}
	for c := range s.format.Channels {
		size := uint(s.format.Bits)
		if mode == sideRight && c == 0 || (mode == leftSide || mode == midSide) && c == 1 {
			size++ // a difference takes one bit more
		}
		s.data[c] = slices.Grow(s.data[c][:0], n)[:n]
		if err := b.subframe(s.data[c], size); err != nil {
			return 0, fmt.Errorf("channel %d: %w", c, err)
		}
	}
	b.acc, b.n = 0, 0 // to the next byte
	b.uint(16)
	if b.err == nil && b.crc16 != 0 && !s.unchecked {
		return 0, errors.New("the checksum (CRC-16) is wrong")
	}
	restore(mode, s.data[0], s.data[1])
	return n, nil
}

// restore computes left and right from the channels of a stereo mode.
func restore(mode int, x, y []int64) {
	switch mode {
	case leftSide:
		for i, side := range y {
			y[i] = x[i] - side
		}
	case sideRight:
		for i, right := range y {
			x[i] += right
		}
	case midSide:
		for i, side := range y {
			sum := x[i]<<1 | side&1 // the mean has lost the lowest bit of the sum, which is that of side
			x[i], y[i] = (sum+side)>>1, (sum-side)>>1
		}
	}
}

// header reads the header of a frame (§9.1): sync code (15 bits), blocking strategy (1), codes of
// block length (4) and rate (4), channels (4), code of sample size (3), 0 (1), coded number of the
// frame or sample (8 to 56), block length (0, 8 or 16), rate (0, 8 or 16), CRC-8.
func (s *flacStream) header() (n, mode int, err error) {
	b := &s.bits
	if sync := b.uint(15); b.err == nil && sync != 0x7ffc {
		return 0, 0, fmt.Errorf("it starts with %#04x, expected the sync code 0xfff8", sync<<1)
	}
	b.uint(1)
	length, rate := b.uint(4), b.uint(4)
	mode = int(b.uint(4))
	size := b.uint(3)
	reserved := b.uint(1)
	for more := b.uint(8) << 1; more&0x180 == 0x180; more <<= 1 { // one byte follows for each of the leading ones but one
		b.uint(8)
	}
	switch {
	case length == 1:
		n = 192
	case length >= 2 && length <= 5:
		n = 144 << length
	case length == 6 || length == 7:
		n = int(b.uint(8*uint(length-5))) + 1
	case length >= 8:
		n = 1 << length
	}
	b.uint([16]uint{12: 8, 13: 16, 14: 16}[rate]) // which the stream's header states, too
	b.uint(8)
	if b.err != nil {
		return 0, 0, nil
	}
	channels := mode + 1
	if mode >= leftSide && mode <= midSide {
		channels = 2
	}
	width := [...]int{s.format.Bits, 8, 12, -1, 16, 20, 24, 32}[size]
	switch f := s.format; {
	case n == 0 || reserved != 0 || mode > midSide:
		return 0, 0, errors.New("its header has reserved bits")
	case n > s.maxLen:
		return 0, 0, fmt.Errorf("%d samples, expected at most %d", n, s.maxLen)
	case channels != f.Channels || width != f.Bits || rate == 15:
		return 0, 0, fmt.Errorf("%d channels of %d bits, expected %d of %d bits, as in the stream's header", channels, width, f.Channels, f.Bits)
	}
	return n, mode, nil
}
