package audio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// WriteWAVFile writes one channel of samples at a rate in Hz as 16-bit PCM. Values beyond [−1, 1)
// are clipped. After an error an existing file is unchanged.
func WriteWAVFile(path string, rate int, samples []float32) error {
	return atomicfile.Write(path, 0o666, func(w io.Writer) error { return WriteWAV(w, rate, samples) })
}

// WriteWAV writes one channel of samples at a rate in Hz as a WAV file of 16-bit PCM. Values beyond
// [−1, 1) are clipped. NaN and infinities are an error, before anything is written.
func WriteWAV(w io.Writer, rate int, samples []float32) error {
	size := 2 * int64(len(samples))
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
		out.Write(binary.LittleEndian.AppendUint16(out.AvailableBuffer(), uint16(toInt16(v))))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}
