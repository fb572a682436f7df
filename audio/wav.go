package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// The errors of files that end early wrap ErrTruncated: before the end that the header states,
// inside a frame, or before the page that is marked as the last.
var ErrTruncated = errors.New("truncated")

const (
	tagPCM        = 1
	tagFloat      = 3
	tagALaw       = 6
	tagMuLaw      = 7
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

// OpenWAV is Open for WAV alone. It reads no further than the header needs, apart from what one
// read of r delivers.
func OpenWAV(r io.Reader) (*Reader, error) {
	return openWAV(bufio.NewReaderSize(r, blockBytes), Options{})
}

func openWAV(in *bufio.Reader, o Options) (*Reader, error) {
	w := &wavStream{in: in, opt: o}
	if err := w.header(); err != nil {
		return nil, err
	}
	return &Reader{Format: w.format, Container: WAV, in: w}, nil
}

type wavStream struct {
	in   *bufio.Reader
	opt  Options
	read int64 // bytes of the header
	size int64 // of the file, as the RIFF header states it

	format   Format
	decode   func(dst []float32, src []byte)
	declared int64 // bytes of data according to the header
	unknown  bool  // the header has a placeholder: everything up to the end of the stream is samples
	got      int64 // bytes of data read
	buf      []byte
}

// fill reads all of b, a part of the header that an error names.
func (w *wavStream) fill(b []byte, part string) error {
	n, err := io.ReadFull(w.in, b)
	w.read += int64(n)
	return truncated(err, "WAV", "%s", part)
}

// skipChunk skips the last n bytes of a chunk, and the byte that follows a chunk of odd size. Some
// programs leave that byte out, so that the name of the next chunk follows.
func (w *wavStream) skipChunk(size, n int64, part string) error {
	k, err := io.CopyN(io.Discard, w.in, n)
	if next, _ := w.in.Peek(4); err == nil && size%2 == 1 && !slices.Contains(chunks, string(next)) {
		_, err = w.in.Discard(1)
		k++
	}
	w.read += k
	return truncated(err, "WAV", "%s", part)
}

// header reads the header up to the first sample and skips chunks that it does not know.
func (w *wavStream) header() error {
	var riff [12]byte
	if err := w.fill(riff[:], "the RIFF/WAVE header"); err != nil {
		return err
	}
	if string(riff[:4]) != "RIFF" || string(riff[8:]) != "WAVE" {
		return fmt.Errorf("audio: not a RIFF/WAVE file: it starts with %q", riff[:])
	}
	w.size = int64(binary.LittleEndian.Uint32(riff[4:])) + 8
	for {
		var head [8]byte
		if err := w.fill(head[:], "the RIFF/WAVE header, before any data chunk"); err != nil {
			return err
		}
		id, size := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		var err error
		switch {
		case id == "data" && w.decode == nil:
			return errors.New("audio: the data chunk comes before a fmt chunk")
		case id == "data":
			w.start(size)
			return nil
		case id == "fmt ":
			err = w.readFormat(size)
		default:
			err = w.skipChunk(size, size, fmt.Sprintf("its %q chunk of %d bytes", id, size))
		}
		if err != nil {
			return err
		}
	}
}

// readFormat reads a fmt chunk: tag, channels, rate (32 bit), bytes per second (32 bit), bytes per
// frame, bits; in the extensible form then extension size, valid bits, speakers (32 bit) and the
// GUID that holds the tag.
func (w *wavStream) readFormat(size int64) error {
	const part = "its fmt chunk"
	if size < 16 {
		return fmt.Errorf("audio: fmt chunk of %d bytes, expected at least 16", size)
	}
	var b [40]byte
	n := min(size, int64(len(b)))
	if err := w.fill(b[:n], part); err != nil {
		return err
	}
	if err := w.skipChunk(size, size-n, part); err != nil {
		return err
	}
	tag := binary.LittleEndian.Uint16(b[0:])
	if tag == tagExtensible {
		if n < 40 || string(b[26:40]) != subformat {
			return &UnsupportedError{Format: fmt.Sprintf("WAV with the sub-format % x", b[24:]), demuxer: "wav"}
		}
		tag = binary.LittleEndian.Uint16(b[24:])
	}
	rate, bits := binary.LittleEndian.Uint32(b[4:]), int(binary.LittleEndian.Uint16(b[14:]))
	f := Format{
		SampleRate: int(rate),
		Channels:   int(binary.LittleEndian.Uint16(b[2:])),
		Bits:       (bits + 7) / 8 * 8, // samples of 12 or 20 bits are the high ones of 2 or 3 bytes
		Float:      tag == tagFloat,
	}
	decode, ok := decoders[[2]int{int(tag), f.Bits}]
	if !ok {
		return &UnsupportedError{Format: fmt.Sprintf("WAV with the format tag %#x and %d bits", tag, bits), demuxer: "wav"}
	}
	if f.Channels == 0 || rate == 0 || rate > 1<<31-1 {
		return fmt.Errorf("audio: %d channels at %d Hz, expected at least 1 of each and at most 2147483647 Hz", f.Channels, rate)
	}
	if align := int(binary.LittleEndian.Uint16(b[12:])); align != 0 && align != f.frameBytes() {
		return fmt.Errorf("audio: frames of %d bytes, expected %d (%d channels of %d bits)", align, f.frameBytes(), f.Channels, f.Bits)
	}
	w.format, w.decode = f, decode
	return nil
}

// start prepares for the data.
func (w *wavStream) start(size int64) {
	frame := w.format.frameBytes()
	w.read, w.got = w.read+w.got, 0
	w.declared, w.unknown = size, isPlaceholder(size, frame)
	w.buf = make([]byte, max(blockBytes/frame, 1)*frame)
}

// Read implements frameSource.
func (w *wavStream) Read(dst []float32) (n int, err error) {
	for n < len(dst) && err == nil {
		var k int
		k, err = w.block(dst[n:])
		n += k
	}
	return n, err
}

// block decodes at most one buffer of frames.
func (w *wavStream) block(dst []float32) (int, error) {
	width, frame := w.format.Bits/8, w.format.frameBytes()
	want := min(len(dst)*width, len(w.buf))
	if w.unknown {
		want = w.samplesAhead(want)
	} else {
		whole := w.declared - w.declared%int64(frame)
		want = int(min(int64(want), whole-w.got))
	}
	if want == 0 {
		return 0, w.skipEnd()
	}
	got, err := io.ReadFull(w.in, w.buf[:want])
	first := w.got / int64(width)
	w.got += int64(got)
	whole := got - got%frame
	n := whole / width
	w.decode(dst[:n], w.buf[:whole])
	if i := notFinite(dst[:n]); i >= 0 {
		return i, fmt.Errorf("audio: sample %d is %v", first+int64(i), dst[i])
	}
	switch {
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return n, err
	case !w.unknown && w.read+w.got == w.size:
		w.opt.note("the data chunk declares %d bytes, but the file has %d, as its first header states: it is read to its end", w.declared, w.got)
		return n, io.EOF
	case !w.unknown:
		return n, fmt.Errorf("audio: %w WAV: the data chunk declares %d bytes, the file has %d", ErrTruncated, w.declared, w.got)
	case got != whole:
		return n, fmt.Errorf("audio: %w WAV: it ends inside a frame after %d bytes of data", ErrTruncated, w.got)
	}
	return n, io.EOF
}

// skipEnd skips what is left of the data, an incomplete frame and the byte that follows an odd
// size, and returns io.EOF.
func (w *wavStream) skipEnd() error {
	if left := w.declared - w.got; !w.unknown && left < int64(w.format.frameBytes()) {
		discard(w.in, left)
		w.got = w.declared
		if w.declared%2 == 0 {
			return io.EOF
		}
		if next, _ := w.in.Peek(1); len(next) == 1 && next[0] == 0 {
			discard(w.in, 1)
		}
	}
	return io.EOF
}

// samplesAhead returns how many of the next n bytes, at most, are samples, where the header leaves
// the amount open: those before the chunks that end the file, or before another file.
func (w *wavStream) samplesAhead(n int) int {
	frame := w.format.frameBytes()
	n = min(n, max((blockBytes-12)/frame, 1)*frame)
	b, err := w.in.Peek(n + 11)
	for i := 0; i < n; i += frame {
		if rest := b[min(i, len(b)):]; ends(rest) || err == io.EOF && areChunks(rest) {
			return i
		}
	}
	return n
}

// ends reports whether b begins where samples end: with a known chunk below 1 MiB, or with the
// header of another WAV file.
func ends(b []byte) bool {
	if len(b) < 12 {
		return false
	}
	if string(b[:4]) == "RIFF" {
		return string(b[8:12]) == "WAVE"
	}
	return slices.Contains(chunks[2:], string(b[:4])) && binary.LittleEndian.Uint32(b[4:]) < 1<<20
}

// areChunks reports whether b consists of chunks, of which the last may lack its byte of padding.
func areChunks(b []byte) bool {
	whole := len(b) >= 8
	for len(b) >= 8 && !slices.ContainsFunc(b[:4], func(c byte) bool { return c < ' ' || c > 'z' }) {
		n := 8 + int64(binary.LittleEndian.Uint32(b[4:]))
		if n+n%2 > int64(len(b)) {
			return n == int64(len(b))
		}
		b = b[n+n%2:]
	}
	return whole && len(b) == 0
}

// chunks are the names of known chunks. The first two do not follow the samples.
var chunks = []string{"data", "fmt ", "LIST", "id3 ", "ID3 ", "fact", "cue ", "smpl", "inst", "bext", "JUNK", "PEAK", "DISP", "afsp", "_PMX", "iXML", "axml", "chna", "acid", "cart", "FLLR", "PAD ", "minf", "elm1", "regn", "umid"}
