package audio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// ReadWAVFile reads all samples of a file, with interleaved channels. Errors name the file. If the
// file ends before the end that its header states, the error wraps ErrTruncated.
func ReadWAVFile(path string) ([]float32, Format, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Format{}, fmt.Errorf("audio: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Format{}, fmt.Errorf("audio: %w", err)
	}
	r, err := NewWAVReader(f)
	if err != nil {
		return nil, Format{}, fmt.Errorf("%s: %w", path, err)
	}
	samples, err := r.readAll(info.Size())
	if err != nil {
		return nil, Format{}, fmt.Errorf("%s: %w", path, err)
	}
	if r.Truncated {
		return nil, Format{}, fmt.Errorf("%s: %w", path, r.truncation())
	}
	return samples, r.Format, nil
}

func (r *WAVReader) truncation() error {
	if r.SizeUnknown {
		return fmt.Errorf("audio: %w WAV: it ends inside a frame after %d bytes of data", ErrTruncated, r.got)
	}
	return fmt.Errorf("audio: %w WAV: the data chunk declares %d bytes, the file has %d", ErrTruncated, r.declared, r.got)
}

// readAll reads to the end. It allocates what the header declares, but never more than a file of
// this size in bytes can hold.
func (r *WAVReader) readAll(size int64) ([]float32, error) {
	capacity := size
	if !r.SizeUnknown {
		capacity = min(size, r.declared)
	}
	// With one frame more, the last read finds the end without growing.
	samples := make([]float32, 0, capacity/int64(r.Format.Bits/8)+int64(r.Format.Channels))
	for {
		samples = slices.Grow(samples, r.Format.Channels)
		n, err := r.Read(samples[len(samples):cap(samples)])
		samples = samples[:len(samples)+n]
		if err == io.EOF {
			return samples, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// WriteWAVFile writes one channel of samples at a rate in Hz as 16-bit PCM. Values beyond [−1, 1)
// are clipped. After an error an existing file is unchanged.
func WriteWAVFile(path string, rate int, samples []float32) error {
	return atomicfile.Write(path, 0o666, func(w io.Writer) error { return WriteWAV(w, rate, samples) })
}

// WriteWAV writes one channel of samples at a rate in Hz as a WAV file of 16-bit PCM. Values beyond
// [−1, 1) are clipped. NaN and infinities are an error, before anything is written.
func WriteWAV(w io.Writer, rate int, samples []float32) error {
	size := 2 * int64(len(samples))
	if rate < 1 || rate > 1<<30 {
		return fmt.Errorf("audio: cannot write samples at %d Hz, expected 1 … %d", rate, 1<<30)
	}
	if limit := placeholders[0] - 2*headerBytes; size > limit {
		return fmt.Errorf("audio: cannot write %d samples, expected at most %d", len(samples), limit/2)
	}
	if i := notFinite(samples); i < len(samples) {
		return fmt.Errorf("audio: sample %d is %v", i, samples[i])
	}
	b := make([]byte, 0, headerBytes)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size+headerBytes-8))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, tagPCM)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(2*rate))
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))

	out := bufio.NewWriter(w)
	out.Write(b)
	for _, v := range samples {
		s := math.RoundToEven(float64(v) * (1 << 15))
		s = min(max(s, math.MinInt16), math.MaxInt16)
		out.Write(binary.LittleEndian.AppendUint16(out.AvailableBuffer(), uint16(int16(s))))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}
