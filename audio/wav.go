package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Format is what the header of a file states about the samples.
type Format struct {
	SampleRate int // Hz
	Channels   int
	Bits       int // of a sample: 8, 16, 24 or 32 for WAV, 4 to 32 for FLAC, 0 for MP3 and Ogg Vorbis
	Float      bool
}

// frameBytes is the size of one sample of every channel.
func (f Format) frameBytes() int { return f.Channels * f.Bits / 8 }

// WAVReader decodes a RIFF/WAVE, RF64 or BW64 stream: PCM of 8, 16, 24 or 32 bits, or IEEE float of
// 32 bits. A value v of a b-bit integer becomes v/2^(b−1).
type WAVReader struct {
	Format Format

	// SizeUnknown reports that the header does not state the amount of data, but has one of the
	// placeholders that programs write when they cannot return to the header. Everything up to the
	// end of the stream is then samples.
	SizeUnknown bool

	// Truncated reports, after Read has returned io.EOF, that the stream ended before the declared
	// amount of data, or inside a frame. The frames before have been delivered.
	Truncated bool

	in       *bufio.Reader
	declared int64 // bytes of data according to the header
	got      int64 // bytes of data read
	decode   func(dst []float32, src []byte)
	buf      []byte // holds whole frames
	err      error  // returned by every later Read
}

// The errors of files that end early wrap ErrTruncated: before the end that the header states,
// inside a frame, or before the page that is marked as the last.
var ErrTruncated = errors.New("truncated")

const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xFFFE

	blockBytes  = 1 << 14
	headerBytes = 44 // of the simplest header
)

// placeholders are the sizes that programs declare for data whose size they do not know, in
// addition to 0: GStreamer, sox and espeak-ng, arecord in two versions, ffmpeg and others. Some
// subtract the header's length or round down to whole frames. A size in between is a real one.
var placeholders = []int64{0x7FFF0000, 0x7FFFF000, 0x7FFFFF00, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF}

// isPlaceholder reports whether a declared size of data leaves the amount open.
func isPlaceholder(size int64, frame int) bool {
	return size == 0 || slices.ContainsFunc(placeholders, func(p int64) bool {
		return size <= p && p-size < int64(max(headerBytes, frame))+4
	})
}

// subformat is bytes 2–15 of the GUID that repeats a format tag in WAVE_FORMAT_EXTENSIBLE.
const subformat = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// NewWAVReader reads the header up to the first sample and skips chunks that it does not know. It
// reads no further than the header needs, apart from what one read of r delivers.
func NewWAVReader(r io.Reader) (*WAVReader, error) {
	h := header{in: bufio.NewReaderSize(r, blockBytes)}
	return h.parse()
}

// header counts the bytes that it reads, for error messages.
type header struct {
	in     *bufio.Reader
	read   int64
	size64 int64 // of the data, from a ds64 chunk; 0 without one
}

// fill reads all of b; part describes it in an error.
func (h *header) fill(b []byte, part string) error {
	n, err := io.ReadFull(h.in, b)
	h.read += int64(n)
	return h.wrap(err, part)
}

func (h *header) skip(n int64, part string) error {
	k, err := io.CopyN(io.Discard, h.in, n)
	h.read += k
	return h.wrap(err, part)
}

func (h *header) wrap(err error, part string) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("audio: %w WAV: it ends after %d bytes, in %s", ErrTruncated, h.read, part)
	}
	if err != nil {
		return fmt.Errorf("audio: %s: %w", part, err)
	}
	return nil
}

func (h *header) parse() (*WAVReader, error) {
	var riff [12]byte
	if err := h.fill(riff[:], "the RIFF/WAVE header"); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"RIFF", "RF64", "BW64"}, string(riff[:4])) || string(riff[8:]) != "WAVE" {
		return nil, fmt.Errorf("audio: not a RIFF/WAVE file: it starts with %q", riff[:])
	}
	r := &WAVReader{in: h.in}
	for {
		var head [8]byte
		if err := h.fill(head[:], "the RIFF/WAVE header, before any data chunk"); err != nil {
			return nil, err
		}
		id, size := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		var err error
		switch {
		case id == "data" && r.decode == nil:
			return nil, errors.New("audio: the data chunk comes before a fmt chunk")
		case id == "data":
			r.start(size, h.size64)
			return r, nil
		case id == "fmt ":
			err = h.format(r, size)
		case id == "ds64" && string(riff[:4]) != "RIFF":
			err = h.sizes(size)
		default:
			err = h.skip(size+size&1, fmt.Sprintf("its %q chunk of %d bytes", id, size))
		}
		if err != nil {
			return nil, err
		}
	}
}

// sizes reads a ds64 chunk (EBU Tech 3306): the sizes of file and data in 64 bits, then others.
func (h *header) sizes(size int64) error {
	const part = "its ds64 chunk"
	if size < 24 {
		return fmt.Errorf("audio: ds64 chunk of %d bytes, expected at least 24", size)
	}
	var b [16]byte
	if err := h.fill(b[:], part); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint64(b[8:]); n <= math.MaxInt64 {
		h.size64 = int64(n)
	}
	return h.skip(size+size&1-int64(len(b)), part)
}

// format reads a fmt chunk: tag, channels, rate (32 bit), bytes per second (32 bit), bytes per
// frame, bits; in the extensible form then extension size, valid bits, speakers (32 bit) and the
// GUID that holds the tag.
func (h *header) format(r *WAVReader, size int64) error {
	const part = "its fmt chunk"
	if size < 16 {
		return fmt.Errorf("audio: fmt chunk of %d bytes, expected at least 16", size)
	}
	var b [40]byte
	n := min(size, int64(len(b)))
	if err := h.fill(b[:n], part); err != nil {
		return err
	}
	if err := h.skip(size+size&1-n, part); err != nil {
		return err
	}
	tag := binary.LittleEndian.Uint16(b[0:])
	if tag == tagExtensible {
		if n < 40 || string(b[26:40]) != subformat {
			return fmt.Errorf("audio: extensible format with sub-format % x, expected PCM or IEEE float", b[24:])
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
		return fmt.Errorf("audio: format tag %#x with %d bits, expected PCM of 8, 16, 24 or 32 bits or IEEE float of 32", tag, f.Bits)
	}
	if f.Channels == 0 || rate == 0 || rate > 1<<31-1 {
		return fmt.Errorf("audio: %d channels at %d Hz, expected at least 1 of each and at most 2147483647 Hz", f.Channels, rate)
	}
	if align := int(binary.LittleEndian.Uint16(b[12:])); align != f.frameBytes() {
		return fmt.Errorf("audio: frames of %d bytes, expected %d (%d channels of %d bits)", align, f.frameBytes(), f.Channels, f.Bits)
	}
	r.Format, r.decode = f, decode
	return nil
}

// start prepares for the data. Its size is that of the data chunk, or of a ds64 chunk where the
// data chunk declares 0xFFFFFFFF.
func (r *WAVReader) start(size, size64 int64) {
	frame := r.Format.frameBytes()
	r.declared, r.SizeUnknown = size, isPlaceholder(size, frame)
	if size == math.MaxUint32 && size64 > 0 {
		r.declared, r.SizeUnknown = size64, false
	}
	r.buf = make([]byte, max(blockBytes/frame, 1)*frame)
}

// Channels returns the number of channels.
func (r *WAVReader) Channels() int { return r.Format.Channels }

// Read fills dst with interleaved samples and returns how many it wrote. It writes whole frames, so
// dst must have room for at least one. io.EOF comes with the last frame or in the next call. A
// float sample that is NaN or infinite is an error.
func (r *WAVReader) Read(dst []float32) (int, error) {
	channels := r.Format.Channels
	if len(dst) > 0 && len(dst) < channels {
		return 0, fmt.Errorf("audio: a buffer of %d samples, expected at least a frame of %d", len(dst), channels)
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
	n := whole / width
	r.decode(dst[:n], r.buf[:whole])
	if r.Format.Float {
		if i := notFinite(dst[:n]); i < n {
			return i, fmt.Errorf("audio: sample %d is %v", first+int64(i), dst[i])
		}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		r.Truncated = !r.SizeUnknown || got != whole
		err = io.EOF
	}
	return n, err
}

// truncation returns the error of a stream that ends early.
func (r *WAVReader) truncation() error {
	if r.SizeUnknown {
		return fmt.Errorf("audio: %w WAV: it ends inside a frame after %d bytes of data", ErrTruncated, r.got)
	}
	return fmt.Errorf("audio: %w WAV: the data chunk declares %d bytes, the file has %d", ErrTruncated, r.declared, r.got)
}
