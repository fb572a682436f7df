package audio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// Container names a file format.
type Container string

// The formats that Open recognises.
const (
	WAV  Container = "wav"  // RIFF/WAVE: PCM of 8, 16, 24 or 32 bits, float of 32 bits
	FLAC Container = "flac" // FLAC of 4 to 32 bits and at most 8 channels, not in Ogg
	MP3  Container = "mp3"  // MPEG-1 and MPEG-2 audio layer III: rates of 16 to 48 kHz
	Ogg  Container = "ogg"  // Ogg Vorbis

	FFmpeg Container = "ffmpeg" // another format, which ffmpeg decodes
)

// Reader delivers the samples of a file or stream in one of the formats that Open recognises.
type Reader struct {
	Format    Format
	Container Container

	in     frameSource
	bytes  *bufio.Reader // what follows the file that in reads; nil: nothing
	opt    Options
	file   *os.File // of OpenFile
	frames int64
	err    error // returned by every later Read
}

// frameSource reads whole frames of interleaved samples. dst has room for at least one frame. Its
// errors are those of Reader.Read.
type frameSource interface {
	Read(dst []float32) (int, error)
}

// readerBytes is the size of a buffer in front of a decoder.
const readerBytes = 1 << 14

// Options select what of a recording is read. The zero value reads the mean of all channels, with
// the decoders of this package alone.
type Options struct {
	Channel *int              // the only channel that Mono and MonoAt read, from 0; -1: the mean of all; nil: the same, with notes
	FFmpeg  bool              // read formats that need it through ffmpeg, if it is on the PATH and S4D_NO_FFMPEG is not set
	Note    func(text string) // receives how an ambiguous recording was read; may be nil
}

// ErrChannel is the error of Options.Channel for a recording that lacks it.
var ErrChannel = errors.New("no channel")

var errFormat = errors.New("audio: unknown format")

func (o Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// Open is Options.Open with the zero value.
func Open(r io.Reader) (*Reader, error) { return Options{}.Open(r) }

// Open reads the header of a WAV, FLAC, MP3 or Ogg Vorbis stream, up to the first samples. It
// recognises the format by the first bytes, after tags and, for MP3, after 64 kB of other bytes. It
// does not seek, so that a pipe serves as well as a file. Files that are joined, as cat does, are
// read as one.
//
// A stream takes a bounded amount of memory, whatever its bytes are: at most 512 kB for WAV and
// MP3, 10 MB for FLAC and 40 MB for Ogg Vorbis. Usual files take 1 MB.
//
// If the stream ends inside the header, the error wraps ErrTruncated. If it is in another known
// format, the error is an UnsupportedError, unless ffmpeg reads it. The caller must then call
// Close.
func (o Options) Open(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, readerBytes)
	start, err := skipTags(in)
	if err != nil {
		return nil, err
	}
	rec := &recorder{in: in}
	out, err := o.open(bufio.NewReaderSize(rec, readerBytes), bytes.Clone(start))
	if u := (*UnsupportedError)(nil); errors.As(err, &u) && o.FFmpeg && !rec.off && os.Getenv("S4D_NO_FFMPEG") == "" {
		out, err = o.openFFmpeg(io.MultiReader(bytes.NewReader(rec.bytes), in), start, u)
	}
	rec.off, rec.bytes = true, nil
	if err != nil {
		return nil, err
	}
	if c, n := o.Channel, out.Format.Channels; c != nil && (*c < -1 || *c >= n) {
		out.Close()
		return nil, fmt.Errorf("audio: %w %d: the recording has %d, expected 0 to %d", ErrChannel, *c, n, n-1)
	}
	return out, nil
}

// recorder keeps the bytes of a header for a second reading, by ffmpeg.
type recorder struct {
	in    io.Reader
	bytes []byte
	off   bool
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if r.off = r.off || len(r.bytes)+n > 1<<18; !r.off {
		r.bytes = append(r.bytes, b[:n]...)
	}
	return n, err
}

// open reads the header of a stream that begins with the bytes in start.
func (o Options) open(in *bufio.Reader, start []byte) (out *Reader, err error) {
	out = &Reader{}
	switch head := string(start[:min(len(start), 4)]); {
	case len(head) == 0:
		return nil, fmt.Errorf("audio: %w file: it has no bytes", ErrTruncated)
	case len(head) < 4:
		return nil, fmt.Errorf("audio: %w file: it ends after %q, inside the first header", ErrTruncated, head)
	case foreign(start) != nil:
		return nil, foreign(start)
	case head == "RIFF":
		out, err = openWAV(in, o)
	case head == "fLaC":
		out.Container = FLAC
		err = guard("FLAC", func() error { return out.openFLAC(in, &flacStream{}) })
	case head == "OggS":
		out.Container = Ogg
		err = guard("Ogg Vorbis", func() error { return out.openOgg(in) })
	case isForeignMP3(start) || isMP3(start) && confirmed(in, start, true) || o.syncMP3(in, head):
		out.Container = MP3
		err = guard("MP3", func() error { return out.openMP3(in) })
	default:
		return nil, fmt.Errorf("%w: it starts with %q, expected RIFF/WAVE, FLAC, MP3, Ogg Vorbis or a known format of ffmpeg", errFormat, head)
	}
	if err != nil {
		return nil, err
	}
	out.bytes, out.opt = in, o
	return out, nil
}

// OpenFile is Open for a regular file, which Close closes. Its errors and notes name the file.
func (o Options) OpenFile(path string) (*Reader, error) {
	if note := o.Note; note != nil {
		o.Note = func(text string) { note(path + ": " + text) }
	}
	f, err := datafile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	r, err := o.Open(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.file = f
	return r, nil
}

// Close ends a process of ffmpeg that reads the stream, and closes the file of OpenFile. Other
// Readers need no Close.
func (r *Reader) Close() error {
	if c, ok := r.in.(io.Closer); ok {
		c.Close()
	}
	if r.file != nil {
		return r.file.Close()
	}
	return nil
}

// Read fills dst with interleaved samples and returns how many it wrote. It writes whole frames, so
// dst must have room for at least one. io.EOF comes with the last frame or in the next call. If the
// stream ends before the end that its header states, or inside a frame, Read returns the frames
// before that and then an error that wraps ErrTruncated. A sample that is NaN or infinite is an
// error.
func (r *Reader) Read(dst []float32) (n int, err error) {
	channels := r.Format.Channels
	if len(dst) > 0 && len(dst) < channels {
		return 0, fmt.Errorf("audio: a buffer of %d samples, expected at least a frame of %d", len(dst), channels)
	}
	dst = dst[:len(dst)-len(dst)%channels]
	for r.err == nil {
		var k int
		k, r.err = r.in.Read(dst[n:])
		n += k
		r.frames += int64(k / channels)
		if r.err == io.EOF {
			r.err = r.join()
		}
		if n == len(dst) {
			break
		}
	}
	if n == len(dst) && n > 0 {
		return n, nil
	}
	return n, r.err
}

// blocks is a frameSource of decoded blocks.
type blocks struct {
	name    string
	next    func(n int) ([]float32, error) // the next whole frames, at best n samples, valid until the next call; io.EOF after the last
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
			b.pending, err = b.next(len(dst) - n)
			return err
		})
		if i := notFinite(b.pending); i >= 0 {
			b.err = fmt.Errorf("audio: %s sample %d is %v", b.name, b.read+int64(i), b.pending[i])
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

// truncated returns the error of a stream of a format that ends where part begins or continues.
func truncated(err error, format, part string, args ...any) error {
	part = fmt.Sprintf(part, args...)
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return fmt.Errorf("audio: %w %s: it ends in %s", ErrTruncated, format, part)
	}
	return fmt.Errorf("audio: %s: %s: %w", format, part, err)
}
