package audio

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// Container names a file format.
type Container string

// The formats that Open recognises.
const (
	WAV  Container = "wav"  // RIFF/WAVE, RF64 or BW64: PCM of 8, 16, 24 or 32 bits, float of 32 bits
	FLAC Container = "flac" // FLAC of 4 to 32 bits and at most 8 channels, not in Ogg
	MP3  Container = "mp3"  // MPEG-1 and MPEG-2 audio layer III: rates of 16 to 48 kHz
	Ogg  Container = "ogg"  // Ogg Vorbis
)

// Reader delivers the samples of a file or stream in one of the formats that Open recognises.
type Reader struct {
	Format    Format
	Container Container

	in  frameSource
	err error // returned by every later Read
}

// frameSource reads whole frames of interleaved samples. dst has room for at least one frame. Its
// errors are those of Reader.Read.
type frameSource interface {
	Read(dst []float32) (int, error)
}

// readerBytes is the size of the buffer in front of a decoder.
const readerBytes = 1 << 14

// Open reads the header of a WAV, FLAC, MP3 or Ogg Vorbis stream, up to the first samples. It
// recognises the format by the first bytes, after ID3v2 tags. It does not seek, so that a pipe
// serves as well as a file.
//
// A stream takes a bounded amount of memory, whatever its bytes are: at most 64 kB for WAV, 256 kB
// for MP3, 10 MB for FLAC and 40 MB for Ogg Vorbis. Usual FLAC and Ogg Vorbis files take 1 MB.
//
// If the stream ends inside the header, the error wraps ErrTruncated.
func Open(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, readerBytes)
	start, err := skipID3(in)
	if err != nil {
		return nil, err
	}
	out := &Reader{}
	switch head := string(start); {
	case len(head) == 0:
		return nil, fmt.Errorf("audio: %w file: it has no bytes", ErrTruncated)
	case len(head) < 4:
		return nil, fmt.Errorf("audio: %w file: it ends after %q, inside the first header", ErrTruncated, head)
	case head == "RIFF" || head == "RF64" || head == "BW64":
		out, err = OpenWAV(in)
	case head == "fLaC":
		out.Container = FLAC
		err = guard("FLAC", func() error { return out.openFLAC(in) })
	case head == "OggS":
		out.Container = Ogg
		err = guard("Ogg Vorbis", func() error { return out.openOgg(in) })
	case isMP3(start):
		out.Container = MP3
		err = guard("MP3", func() error { return out.openMP3(in) })
	default:
		return nil, fmt.Errorf("audio: unknown format: it starts with %q, expected RIFF/WAVE, FLAC, MP3 or Ogg Vorbis", start)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Channels returns the number of channels.
func (r *Reader) Channels() int { return r.Format.Channels }

// Read fills dst with interleaved samples and returns how many it wrote. It writes whole frames, so
// dst must have room for at least one. io.EOF comes with the last frame or in the next call. If the
// stream ends before the end that its header states, or inside a frame, Read returns the frames
// before that and then an error that wraps ErrTruncated. A sample that is NaN or infinite is an
// error.
func (r *Reader) Read(dst []float32) (int, error) {
	channels := r.Format.Channels
	if len(dst) > 0 && len(dst) < channels {
		return 0, fmt.Errorf("audio: a buffer of %d samples, expected at least a frame of %d", len(dst), channels)
	}
	if r.err != nil {
		return 0, r.err
	}
	var n int
	n, r.err = r.in.Read(dst[:len(dst)-len(dst)%channels])
	return n, r.err
}

// blocks is a frameSource of decoded blocks.
type blocks struct {
	name    string
	next    func() ([]float32, error) // the next whole frames, valid until the next call; io.EOF after the last
	pending []float32
	read    int64 // samples, pending ones included
	err     error // of next, returned after the pending samples
}

// Read implements frameSource. A panic of the decoder is an error.
func (b *blocks) Read(dst []float32) (n int, err error) {
	for {
		k := copy(dst[n:], b.pending)
		b.pending = b.pending[k:]
		n += k
		if n == len(dst) {
			return n, nil
		}
		if b.err != nil {
			return n, b.err
		}
		b.err = guard(b.name, func() (err error) {
			b.pending, err = b.next()
			return err
		})
		if i := notFinite(b.pending); i < len(b.pending) {
			b.err = fmt.Errorf("audio: sample %d is %v", b.read+int64(i), b.pending[i])
			b.pending = b.pending[:i]
		}
		b.read += int64(len(b.pending))
	}
}

// guard calls f. Third-party decoders index slices with values from the file, so a panic in f means
// that the file is malformed, and becomes an error.
func guard(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("audio: malformed %s data (%v)", name, p)
		}
	}()
	return f()
}

// maxTags bounds the ID3v2 tags in front of a stream.
const maxTags = 8

// skipID3 skips ID3v2 tags and returns the next 4 bytes, or fewer at the end, without reading them.
// A tag is "ID3", two bytes of version, one of flags, and four bytes of 7 bits with the size of
// what follows; flag 0x10 announces a footer of 10 bytes.
func skipID3(in *bufio.Reader) ([]byte, error) {
	for tag := 0; ; tag++ {
		head, err := in.Peek(10)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("audio: %w", err)
		}
		if len(head) < 10 || string(head[:3]) != "ID3" {
			return head[:min(len(head), 4)], nil
		}
		if tag == maxTags {
			return nil, fmt.Errorf("audio: more than %d ID3 tags", maxTags)
		}
		size := 10 + int64(head[6]&0x7f)<<21 + int64(head[7]&0x7f)<<14 + int64(head[8]&0x7f)<<7 + int64(head[9]&0x7f)
		if head[5]&0x10 != 0 {
			size += 10
		}
		if n, err := io.CopyN(io.Discard, in, size); err == io.EOF {
			return nil, fmt.Errorf("audio: %w file: it ends after %d of %d bytes of an ID3 tag", ErrTruncated, n, size)
		} else if err != nil {
			return nil, fmt.Errorf("audio: ID3 tag: %w", err)
		}
	}
}

// maxFileSamples bounds what ReadFile returns: 1 GiB.
const maxFileSamples = 1 << 28

// ReadFile reads all samples of a file in a format that Open recognises, with interleaved channels.
// Errors name the file. If the file is truncated, the error wraps ErrTruncated. More than 2²⁸
// samples (1 GiB, 1.5 hours of one channel at 48 kHz) are an error, because a compressed file of a
// few kilobytes can contain days of silence.
func ReadFile(path string) (samples []float32, format Format, err error) {
	err = openFile(path, func(r *Reader) (err error) {
		format = r.Format
		samples, err = readAll(r, format.Channels, maxFileSamples)
		return err
	})
	return samples, format, err
}

// ReadMono reads a file as ReadFile does, mixes its channels down to their mean, and converts it to
// a sampling rate in Hz. More than 2²⁸ samples at that rate are an error.
func ReadMono(path string, rate int) (samples []float32, err error) {
	err = openFile(path, func(r *Reader) error {
		mono, err := r.MonoAt(rate)
		if err != nil {
			return err
		}
		samples, err = readAll(mono, 1, maxFileSamples)
		return err
	})
	return samples, err
}

// openFile calls read with a Reader of a file. Errors name the file.
func openFile(path string, read func(*Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	defer f.Close()
	r, err := Open(f)
	if err == nil {
		err = read(r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readAll reads to the end, but no more than limit samples.
func readAll(r Source, channels, limit int) ([]float32, error) {
	var samples []float32
	block := make([]float32, max(blockLen, channels))
	for {
		n, err := r.Read(block)
		if len(samples)+n > limit {
			return nil, fmt.Errorf("audio: more than %d samples in a file; read it with Open", limit)
		}
		samples = append(samples, block[:n]...)
		if err == io.EOF {
			return samples, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// truncated returns the error of a stream of a format that ends where part begins or continues.
func truncated(err error, format, part string, args ...any) error {
	part = fmt.Sprintf(part, args...)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("audio: %w %s: it ends in %s", ErrTruncated, format, part)
	}
	return fmt.Errorf("audio: %s: %s: %w", format, part, err)
}
