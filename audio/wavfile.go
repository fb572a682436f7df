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
	if i := notFinite(samples); i >= 0 {
		return fmt.Errorf("audio: sample %d is %v", i, samples[i])
	}
	out := bufio.NewWriter(w)
	for _, v := range []any{
		[]byte("RIFF"), uint32(size + headerBytes - 8), []byte("WAVEfmt "), uint32(16), uint16(tagPCM), uint16(1),
		uint32(rate), uint32(2 * rate), uint16(2), uint16(16), []byte("data"), uint32(size),
	} {
		binary.Write(out, binary.LittleEndian, v) // Flush returns its error
	}
	for _, v := range samples {
		out.Write(binary.LittleEndian.AppendUint16(out.AvailableBuffer(), uint16(toInt16(v))))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}
