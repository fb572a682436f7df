package audio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	mp3 "github.com/hajimehoshi/go-mp3"
)

// decoderDelay is the delay of every layer III decoder in samples: 528 of the filter bank, and one.
const decoderDelay = 529

type mp3Stream struct {
	frames   mp3Frames
	decoder  *mp3.Decoder // 16 bits, always 2 channels
	channels int
	buf      [4 * 1152]byte // the decoder's output for one frame
	decoded  []float32
	drop     int64 // samples per channel that are still to be dropped at the start
	left     int64 // samples per channel that are still to be delivered; −1: all
}

// isMP3 reports whether b starts with the header of a layer III frame, supported or not.
func isMP3(b []byte) bool {
	return len(b) >= 4 && b[0] == 0xff && b[1]&0xe6 == 0xe2 && b[1]&0x18 != 0x08 && b[2]&0xf0 != 0xf0 && b[2]&0x0c != 0x0c
}

// isForeignMP3 reports whether b starts with the header of a frame that this package does not
// decode: of MPEG-2.5, or of free bit rate.
func isForeignMP3(b []byte) bool { return isMP3(b) && (b[1]&0x18 == 0 || b[2]>>4 == 0) }

// openMP3 reads the first frame. Encoders pad the signal at both ends. If the first frame has the
// tag of LAME, which states the amounts, openMP3 removes the padding and the delay of the decoder,
// so that the samples are those that were encoded. Otherwise the padding remains, usually 1105
// samples before the signal.
func (r *Reader) openMP3(in *bufio.Reader) error {
	s := &mp3Stream{frames: mp3Frames{in: in}, left: -1}
	head, err := in.Peek(4)
	if err != nil {
		return truncated(err, "MP3", "its first frame")
	}
	h, err := parseMP3Header(head)
	if err != nil {
		return err
	}
	if h.quarter {
		return &UnsupportedError{Format: "MP3 of MPEG-2.5 (rates below 16 kHz)", demuxer: "mp3"}
	}
	s.frames.header = h
	first, err := in.Peek(h.size)
	if err != nil {
		return truncated(err, "MP3", "its first frame")
	}
	if info, ok := parseInfo(first, h); ok {
		in.Discard(h.size)
		s.frames.expected = info.frames
		if info.hasDelay {
			s.drop = info.delay + decoderDelay
			if info.frames > 0 {
				s.left = max(info.frames*int64(h.samples)-info.delay-info.padding, 0)
			}
		}
	}
	// Only a Reader: the decoder would seek through the whole file.
	if s.decoder, err = mp3.NewDecoder(struct{ io.Reader }{&s.frames}); err != nil {
		return s.error(err)
	}
	s.channels = h.channels
	r.Format = Format{SampleRate: h.rate, Channels: h.channels}
	r.in = &blocks{name: "MP3", next: s.next}
	return nil
}

// error returns the error of the frames, if there is one, because the decoder may have replaced it
// by its own.
func (s *mp3Stream) error(err error) error {
	if s.frames.err != nil && s.frames.err != io.EOF {
		return s.frames.err
	}
	if err == io.EOF {
		return err
	}
	return fmt.Errorf("audio: MP3: frame %d: %w", s.frames.count, err)
}

// next decodes about one frame. The decoder truncates v·32767 towards zero, so next adds half a
// unit in the direction of v.
func (s *mp3Stream) next(int) ([]float32, error) {
	n, err := io.ReadFull(s.decoder, s.buf[:])
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	if err != nil {
		err = s.error(err)
	}
	frames := int64(n / 4)
	skip := min(s.drop, frames)
	s.drop -= skip
	use := frames - skip
	if s.left >= 0 {
		use = min(use, s.left)
		s.left -= use
	}
	s.decoded = s.decoded[:0]
	for i := skip; i < skip+use; i++ {
		for c := range s.channels {
			v := float32(int16(binary.LittleEndian.Uint16(s.buf[4*i+2*int64(c):])))
			if v > 0 {
				v += 0.5
			} else if v < 0 {
				v -= 0.5
			}
			s.decoded = append(s.decoded, min(max(v/32767, -1), belowOne))
		}
	}
	return s.decoded, err
}

// mp3Info is the content of the tag of Xing and LAME in the first frame.
type mp3Info struct {
	frames         int64 // number of frames after the first; 0: unknown
	delay, padding int64 // samples that the encoder added before and after the signal
	hasDelay       bool
}

// parseInfo parses the tag of a frame that holds no audio: "Xing" or "Info" where the main data
// begins, flags (32 bits), then by flags the number of frames (32), of bytes (32), a table (100
// bytes) and a quality (32); then in the extension of LAME, among others, at its byte 21 the delay
// and the padding (12 bits each).
func parseInfo(frame []byte, h mp3Header) (info mp3Info, ok bool) {
	b := frame[min(4+h.sideInfo, len(frame)):]
	if !bytes.HasPrefix(b, []byte("Xing")) && !bytes.HasPrefix(b, []byte("Info")) || len(b) < 8 {
		return info, false
	}
	flags := binary.BigEndian.Uint32(b[4:])
	b = b[8:]
	for i, size := range []int{4, 4, 100, 4} {
		if flags&(1<<i) == 0 {
			continue
		}
		if len(b) < size {
			return info, true
		}
		if i == 0 {
			info.frames = int64(binary.BigEndian.Uint32(b))
		}
		b = b[size:]
	}
	if len(b) >= 24 && b[0] != 0 { // the name of the encoder, such as LAME3.100
		info.delay, info.padding = int64(b[21])<<4|int64(b[22]>>4), int64(b[22]&15)<<8|int64(b[23])
		info.hasDelay = info.delay > 0 || info.padding > 0
	}
	return info, true
}

type mp3Header struct {
	rate     int // Hz
	channels int
	samples  int // per channel
	size     int // of the frame in bytes
	sideInfo int // bytes
	crc      bool
	second   bool // MPEG-2 or MPEG-2.5
	quarter  bool // MPEG-2.5

	// The side information begins with beginBits that state how many bytes before the frame the
	// main data begins. It ends with a record for each granule and channel: the number of bits of
	// main data (12), pairs of lines (9), gain (8), and the code of the scale factors' sizes
	// (compressBits). Then come a flag for a window other than the normal one and, with it, the
	// type of the blocks (2), of which 2 means short ones. The last bit selects the code of
	// quadruples.
	beginBits, granules, recordBits, compressBits int
}

var errMP3Header = errors.New("audio: MP3: not the header of a frame")

// parseMP3Header parses the header of a layer III frame: sync (11 bits), version (2), layer (2), no
// CRC (1), bit rate (4), rate (2), padding (1), private (1), mode (2), others (6).
func parseMP3Header(b []byte) (mp3Header, error) {
	if !isMP3(b) {
		return mp3Header{}, errMP3Header
	}
	version := b[1] >> 3 & 3
	if b[2]>>4 == 0 {
		return mp3Header{}, &UnsupportedError{Format: "MP3 of free bit rate", demuxer: "mp3"}
	}
	h := mp3Header{channels: 2, samples: 1152, sideInfo: 32, crc: b[1]&1 == 0, second: version != 3, quarter: version == 0, beginBits: 9, granules: 2, recordBits: 59, compressBits: 4}
	kilobits := [...]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}[b[2]>>4]
	h.rate = [...]int{44100, 48000, 32000}[b[2]>>2&3]
	if h.second {
		kilobits = [...]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}[b[2]>>4]
		h.rate, h.samples, h.sideInfo = h.rate/2, 576, 17
		h.beginBits, h.granules, h.recordBits, h.compressBits = 8, 1, 63, 9
	}
	if h.quarter {
		h.rate /= 2
	}
	if b[3]>>6 == 3 {
		h.channels, h.sideInfo = 1, h.sideInfo/2+1
	}
	h.size = h.samples/8*kilobits*1000/h.rate + int(b[2]>>1&1)
	return h, nil
}
