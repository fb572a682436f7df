// Package wav reads and writes audio samples: RIFF/WAVE files and streams, and headerless ones.
//
// In goes an io.Reader, a pipe as well as a file: nothing is sought, and a header's size fields are trusted
// only as far as the bytes that follow bear them out. Out come float32 samples, in [−1, 1) for the integer
// formats (16 bit: value/32768), the channels of a frame side by side. A file that ends early is an error
// for ReadWAVFile; a WAVReader delivers what came and says so.
package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Format is what a WAVE header says about its samples.
type Format struct {
	SampleRate int // Hz
	Channels   int
	Bits       int // of a sample's container: 8, 16, 24 or 32
	Float      bool
}

// frameBytes is the size of one sample of every channel.
func (f Format) frameBytes() int { return f.Channels * f.Bits / 8 }

// WAVReader decodes a RIFF/WAVE stream: PCM of 8, 16, 24 or 32 bits, or IEEE float of 32.
type WAVReader struct {
	Format Format

	// SizeUnknown says that the header left the amount of data open (0, or 0x7FFFF000 and above, as programs
	// write that cannot return to the header): everything up to the end of the stream is samples.
	SizeUnknown bool

	// Truncated says, once Read has returned io.EOF, that the stream ended before the declared amount of data
	// or inside a frame. The frames before that have been delivered.
	Truncated bool

	in       *bufio.Reader
	declared int64 // bytes, as the header says
	got      int64 // bytes read of them
	decode   func(dst []float32, src []byte)
	buf      []byte // holds whole frames
	err      error  // returned by every later Read
}

// ErrTruncated is wrapped by the errors of files that end before their header says.
var ErrTruncated = errors.New("truncated WAV")

const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xFFFE

	blockBytes = 1 << 14

	// Sizes from here on are placeholders: sox leaves 0x7FFFF000, arecord 0x80000000, ffmpeg 0xFFFFFFFF.
	placeholder = 0x7FFFF000
)

// subformat is bytes 2–15 of the GUID that repeats a format tag in WAVE_FORMAT_EXTENSIBLE.
const subformat = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// NewWAVReader reads the header up to the first sample, skipping chunks that it does not know. It reads no
// further than the header needs before it returns, apart from what one read of r delivers.
func NewWAVReader(r io.Reader) (*WAVReader, error) {
	h := header{in: bufio.NewReaderSize(r, blockBytes)}
	return h.parse()
}

// header counts what it reads, for the errors.
type header struct {
	in   *bufio.Reader
	read int64
}

// fill reads all of b; what names the part of the header, for the error.
func (h *header) fill(b []byte, what string) error {
	n, err := io.ReadFull(h.in, b)
	h.read += int64(n)
	return h.cut(err, what)
}

func (h *header) skip(n int64, what string) error {
	k, err := io.CopyN(io.Discard, h.in, n)
	h.read += k
	return h.cut(err, what)
}

func (h *header) cut(err error, what string) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("audio: %w: it ends after %d bytes, in %s", ErrTruncated, h.read, what)
	}
	if err != nil {
		return fmt.Errorf("audio: %s: %w", what, err)
	}
	return nil
}

func (h *header) parse() (*WAVReader, error) {
	var riff [12]byte
	if err := h.fill(riff[:], "the RIFF/WAVE header"); err != nil {
		return nil, err
	}
	if string(riff[:4]) != "RIFF" || string(riff[8:]) != "WAVE" {
		return nil, fmt.Errorf("audio: not a RIFF/WAVE file: it starts with %q", riff[:])
	}
	r := &WAVReader{in: h.in}
	for {
		var head [8]byte
		if err := h.fill(head[:], "the RIFF/WAVE header, before any data chunk"); err != nil {
			return nil, err
		}
		id, size := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		switch {
		case id == "data" && r.decode == nil:
			return nil, errors.New("audio: the data chunk comes before a fmt chunk")
		case id == "data":
			r.start(size)
			return r, nil
		case id == "fmt ":
			if err := h.format(r, size); err != nil {
				return nil, err
			}
		default:
			if err := h.skip(size+size&1, fmt.Sprintf("its %q chunk of %d bytes", id, size)); err != nil {
				return nil, err
			}
		}
	}
}

// format reads a fmt chunk: tag, channels, rate (32 bit), bytes a second (32 bit), bytes a frame, bits; in
// the extensible form then extension size, valid bits, speakers (32 bit) and the GUID that holds the tag.
func (h *header) format(r *WAVReader, size int64) error {
	const what = "its fmt chunk"
	if size < 16 {
		return fmt.Errorf("audio: fmt chunk of %d bytes, want at least 16", size)
	}
	var b [40]byte
	n := min(size, int64(len(b)))
	if err := h.fill(b[:n], what); err != nil {
		return err
	}
	if err := h.skip(size+size&1-n, what); err != nil {
		return err
	}
	tag := binary.LittleEndian.Uint16(b[0:])
	if tag == tagExtensible {
		if n < 40 || string(b[26:40]) != subformat {
			return fmt.Errorf("audio: extensible format with sub-format % x: want PCM or IEEE float", b[24:])
		}
		tag = binary.LittleEndian.Uint16(b[24:])
	}
	rate := binary.LittleEndian.Uint32(b[4:])
	f := Format{
		SampleRate: int(rate),
		Channels:   int(binary.LittleEndian.Uint16(b[2:])),
		Bits:       int(binary.LittleEndian.Uint16(b[14:])),
		Float:      tag == tagFloat,
	}
	decode := decoder(tag, f.Bits)
	if decode == nil {
		return fmt.Errorf("audio: format tag %#x with %d bits: want PCM of 8, 16, 24 or 32 bits or IEEE float of 32", tag, f.Bits)
	}
	if f.Channels == 0 || rate == 0 || rate > 1<<31-1 {
		return fmt.Errorf("audio: %d channels at %d Hz", f.Channels, rate)
	}
	if align := int(binary.LittleEndian.Uint16(b[12:])); align != f.frameBytes() {
		return fmt.Errorf("audio: frames of %d bytes, want %d (%d channels of %d bits)", align, f.frameBytes(), f.Channels, f.Bits)
	}
	r.Format, r.decode = f, decode
	return nil
}

// start notes the amount of data that is to come.
func (r *WAVReader) start(size int64) {
	frame := r.Format.frameBytes()
	r.declared = size
	r.SizeUnknown = size == 0 || size >= placeholder
	r.buf = make([]byte, max(blockBytes/frame, 1)*frame)
}

// Read fills dst with samples, the channels of a frame side by side, and returns how many it wrote, always
// whole frames: dst must have room for one. io.EOF comes after the last one. A float sample that is not a
// finite number is an error.
func (r *WAVReader) Read(dst []float32) (int, error) {
	channels := r.Format.Channels
	if len(dst) > 0 && len(dst) < channels {
		return 0, fmt.Errorf("audio: a buffer of %d samples has no room for a frame of %d", len(dst), channels)
	}
	dst = dst[:len(dst)-len(dst)%channels]
	n := 0
	for n < len(dst) {
		if r.err != nil {
			return n, r.err
		}
		var k int
		k, r.err = r.block(dst[n:])
		n += k
	}
	return n, nil
}

// block decodes at most one buffer of frames.
func (r *WAVReader) block(dst []float32) (int, error) {
	width := r.Format.Bits / 8
	want := min(len(dst)*width, len(r.buf))
	if !r.SizeUnknown {
		whole := r.declared - r.declared%int64(r.Format.frameBytes())
		want = int(min(int64(want), whole-r.got))
	}
	if want == 0 {
		return 0, io.EOF
	}
	got, err := io.ReadFull(r.in, r.buf[:want])
	first := r.got / int64(width)
	r.got += int64(got)
	whole := got - got%r.Format.frameBytes()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		r.Truncated = !r.SizeUnknown || got != whole
		err = io.EOF
	}
	n := whole / width
	r.decode(dst[:n], r.buf[:whole])
	if r.Format.Float {
		if i := notFinite(dst[:n]); i < n {
			return i, fmt.Errorf("audio: sample %d is %v", first+int64(i), dst[i])
		}
	}
	return n, err
}
