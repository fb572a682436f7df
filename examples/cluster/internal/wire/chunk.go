// Package wire defines what publishers, members and readers exchange over NATS: the messages and
// the JetStream streams that hold them. README.md of the cluster describes the protocol.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MaxChunk is the longest message of audio in bytes, with its header.
const MaxChunk = 16 << 10

// ChunkHeader is the length of a chunk's header in bytes.
const ChunkHeader = 12

const (
	chunkMagic = "S4A\x01" // the last byte is the version
	endBit     = 1 << 63
)

// Chunk is a piece of a stream's audio. The message has 4 bytes "S4A" and a version, the position
// as a little-endian uint64 whose highest bit marks the end of the stream, and the samples.
type Chunk struct {
	Position int64  // of the first sample in the stream
	End      bool   // no audio follows
	PCM      []byte // samples, s16le
}

// Samples returns the number of samples.
func (c Chunk) Samples() int { return len(c.PCM) / 2 }

// Append appends the message of a chunk to dst.
func (c Chunk) Append(dst []byte) []byte {
	at := uint64(c.Position)
	if c.End {
		at |= endBit
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, chunkMagic...), at)
	return append(dst, c.PCM...)
}

// ParseChunk reads the message of a chunk. PCM is part of b.
func ParseChunk(b []byte) (Chunk, error) {
	switch {
	case len(b) > MaxChunk:
		return Chunk{}, fmt.Errorf("audio message of %d bytes, expected at most %d", len(b), MaxChunk)
	case len(b) < ChunkHeader || string(b[:4]) != chunkMagic:
		return Chunk{}, errors.New(`audio message without the header "S4A", version 1`)
	case len(b)%2 != 0:
		return Chunk{}, fmt.Errorf("audio message with %d bytes of samples, expected whole samples of 2 bytes", len(b)-ChunkHeader)
	}
	at := binary.LittleEndian.Uint64(b[4:])
	c := Chunk{Position: int64(at &^ endBit), End: at&endBit != 0, PCM: b[ChunkHeader:]}
	if last := int64(math.MaxInt64/2 - c.Samples()); c.Position > last { // no snapshot of a later position can be restored
		return Chunk{}, fmt.Errorf("audio message at sample %d, expected at most %d", c.Position, last)
	}
	return c, nil
}

// AppendSamples converts the samples of PCM to full scale ±1 and appends them to dst.
func AppendSamples(dst []float32, pcm []byte) []float32 {
	for i := 0; i+1 < len(pcm); i += 2 {
		dst = append(dst, float32(int16(binary.LittleEndian.Uint16(pcm[i:])))/(1<<15))
	}
	return dst
}
