package audio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Source delivers samples of one channel in [−1, 1). Read fills dst as far as it can and returns
// the number of samples that it wrote. io.EOF comes after the last sample.
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

// RawReader reads headerless samples of one channel.
type RawReader struct {
	in     *bufio.Reader
	width  int
	decode func(b []byte) float32
}

// NewRawReader returns a reader of headerless samples. An unknown encoding is an error.
func NewRawReader(r io.Reader, e Encoding) (*RawReader, error) {
	raw := &RawReader{in: bufio.NewReaderSize(r, 1<<15)}
	switch e {
	case S16LE:
		raw.width = 2
		raw.decode = func(b []byte) float32 { return float32(int16(binary.LittleEndian.Uint16(b))) / (1 << 15) }
	case S16BE:
		raw.width = 2
		raw.decode = func(b []byte) float32 { return float32(int16(binary.BigEndian.Uint16(b))) / (1 << 15) }
	case F32LE:
		raw.width = 4
		raw.decode = func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case U8:
		raw.width = 1
		raw.decode = func(b []byte) float32 { return float32(int(b[0])-128) / (1 << 7) }
	default:
		return nil, fmt.Errorf("audio: encoding %q, expected s16le, s16be, f32le or u8", e)
	}
	return raw, nil
}

// Read implements Source. An incomplete last sample is an error that wraps io.ErrUnexpectedEOF,
// after the samples before it. Floats are passed on as they are, NaN and infinities included.
func (r *RawReader) Read(dst []float32) (int, error) {
	var buf [4]byte
	for i := range dst {
		n, err := io.ReadFull(r.in, buf[:r.width])
		if err == io.ErrUnexpectedEOF {
			return i, fmt.Errorf("audio: the audio ends %d bytes into a sample of %d: %w", n, r.width, err)
		}
		if err != nil {
			return i, err
		}
		dst[i] = r.decode(buf[:r.width])
	}
	return len(dst), nil
}
