package events

import (
	"encoding/binary"
	"slices"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// source computes a network's outputs for the frames of one signal. It has two implementations:
// bands for a network that labels the frames of a filter bank, and clip for one that labels clips.
type source interface {
	// process sets b.outputs to those of the frames in b.samples.
	process(b *batch)
	reset()
	snapshot(dst []byte) []byte // appends the state
	restore(b []byte) error     // after an error the source is of no use
}

// batchFrames is the number of frames that a source processes in one call.
const batchFrames = 64

// batch is the working memory of a call.
type batch struct {
	samples []float32 // [frames][frame]
	levels  []float64 // of the frames
	outputs []float32 // [frames][labels]
	bands   []float32 // [frames][bands], with a filter bank
	input   []float32 // [bands][frames]
}

// bands is the source of a network that labels every frame of a filter bank.
type bands struct {
	bank *filterbank.Stream
	net  *recurrent.Stream
}

func (s *bands) process(b *batch) {
	b.bands = s.bank.Process(b.bands[:0], b.samples)
	n := len(b.levels)
	count := len(b.bands) / n
	b.input = slices.Grow(b.input[:0], len(b.bands))[:len(b.bands)]
	for i, v := range b.bands {
		b.input[i%count*n+i/count] = v
	}
	outputs := s.net.Process(b.input, n) // [labels][n]
	labels := len(outputs) / n
	b.outputs = slices.Grow(b.outputs[:0], len(outputs))[:len(outputs)]
	for i, v := range outputs {
		b.outputs[i%n*labels+i/n] = v
	}
}

func (s *bands) reset() {
	s.bank.Reset()
	s.net.Reset()
}

// snapshot appends the length of the filter bank's state, that state, and the network's snapshot.
func (s *bands) snapshot(dst []byte) []byte {
	bank := s.bank.AppendState(nil)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(bank)))
	return s.net.Snapshot(append(dst, bank...))
}

func (s *bands) restore(b []byte) error {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return errTruncated
	}
	n := 4 + binary.LittleEndian.Uint32(b)
	if err := s.bank.RestoreState(b[4:n]); err != nil {
		return err
	}
	return s.net.Restore(b[n:])
}

// clipSeconds is the time for which a network that labels clips is evaluated.
const clipSeconds = 1

// clip is the source of a network with a mean pool, which reads samples. Its output for a frame is
// that for a clip of the last clipSeconds.
type clip struct{ net *recurrent.Stream }

func (s *clip) process(b *batch) {
	b.outputs = b.outputs[:0]
	frame := len(b.samples) / len(b.levels)
	for samples := range slices.Chunk(b.samples, frame) {
		b.outputs = append(b.outputs, s.net.Process(samples, frame)...)
	}
}

func (s *clip) reset()                     { s.net.Reset() }
func (s *clip) snapshot(dst []byte) []byte { return s.net.Snapshot(dst) }
func (s *clip) restore(b []byte) error     { return s.net.Restore(b) }
