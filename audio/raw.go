package audio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Source delivers samples of one channel in [−1, 1). Read fills dst as far as it can and returns
// the number of samples that it wrote. io.EOF comes after the last sample. A Reader of several
// channels is not a Source; Mono converts it to one.
type Source interface {
	Read(dst []float32) (n int, err error)
}

// Encoding names a raw sample format.
type Encoding string

// The raw encodings, one channel each.
const (
	S16LE Encoding = "s16le" // signed 16 bit, little endian
	S16BE Encoding = "s16be" // signed 16 bit, big endian
	F32LE Encoding = "f32le" // IEEE float 32 bit, little endian
	U8    Encoding = "u8"    // unsigned 8 bit
)

// sniffer reads what is said to be samples without a header. If it begins as a file does, the
// sniffer calls found once with the name of the format, and returns its error.
type sniffer struct {
	in    io.Reader
	found func(format string) error
	start []byte // at most 12 bytes, in which all formats differ
}

func (s *sniffer) Read(b []byte) (int, error) {
	n, err := s.in.Read(b)
	if k := min(n, 12-len(s.start)); k > 0 {
		s.start = append(s.start, b[:k]...)
		if format := recognise(s.start).Format; format != "" {
			s.start = make([]byte, 12)
			if err := s.found(format); err != nil {
				return 0, err
			}
		}
	}
	return n, err
}

// RawReader reads headerless samples of one channel.
type RawReader struct {
	in     *bufio.Reader
	width  int // bytes of a sample
	decode func(dst []float32, src []byte)
	buf    [4 * blockLen]byte
}

// NewRawReader returns a reader of headerless samples. An unknown encoding is an error.
func NewRawReader(r io.Reader, e Encoding) (*RawReader, error) {
	raw := &RawReader{in: bufio.NewReaderSize(r, 1<<15)}
	switch e {
	case S16LE:
		raw.width, raw.decode = 2, DecodeS16LE
	case S16BE:
		raw.width, raw.decode = 2, each(2, func(b []byte) float32 { return float32(int16(binary.BigEndian.Uint16(b))) / (1 << 15) })
	case F32LE:
		raw.width, raw.decode = 4, decoders[[2]int{tagFloat, 32}]
	case U8:
		raw.width, raw.decode = 1, decoders[[2]int{tagPCM, 8}]
	default:
		return nil, fmt.Errorf("audio: encoding %q, expected s16le, s16be, f32le or u8", e)
	}
	return raw, nil
}

// Read implements Source. An incomplete last sample is an error that wraps io.ErrUnexpectedEOF,
// after the samples before it. Floats are passed on as they are, NaN and infinities included.
func (r *RawReader) Read(dst []float32) (n int, err error) {
	for n < len(dst) && err == nil {
		var bytes int
		bytes, err = io.ReadFull(r.in, r.buf[:min(r.width*(len(dst)-n), len(r.buf))])
		samples, rest := bytes/r.width, bytes%r.width
		r.decode(dst[n:n+samples], r.buf[:])
		n += samples
		switch {
		case err == io.ErrUnexpectedEOF && rest == 0:
			err = io.EOF
		case err == io.ErrUnexpectedEOF:
			err = fmt.Errorf("audio: the audio ends %d bytes into a sample of %d: %w", rest, r.width, err)
		}
	}
	return n, err
}
