package audio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// oggPage is the first page of a stream, with one packet for each string.
func oggPage(flags byte, packets ...string) []byte { return oggPageOf(flags, 0, 0, packets...) }

func oggPageOf(flags byte, sequence uint32, granule uint64, packets ...string) []byte {
	le := binary.LittleEndian
	b := append([]byte("OggS\x00"), flags)
	b = le.AppendUint64(b, granule)
	b = le.AppendUint32(b, 7)
	b = le.AppendUint32(b, sequence)
	b = le.AppendUint32(b, 0)
	var sizes []byte
	for _, p := range packets {
		for n := len(p); ; n -= 255 {
			sizes = append(sizes, byte(min(n, 255)))
			if n < 255 {
				break
			}
		}
	}
	b = append(append(b, byte(len(sizes))), sizes...)
	b = append(b, strings.Join(packets, "")...)
	le.PutUint32(b[22:], oggCRC(0, b))
	return b
}

// fixOgg computes the checksums of all pages anew.
func fixOgg(b []byte) {
	for len(b) >= 27 && string(b[:4]) == "OggS" {
		size := 27 + int(b[26])
		if len(b) < size {
			return
		}
		for _, s := range b[27:size] {
			size += int(s)
		}
		if len(b) < size {
			return
		}
		clear(b[22:26])
		binary.LittleEndian.PutUint32(b[22:], oggCRC(0, b[:size]))
		b = b[size:]
	}
}

// lsbWriter writes bits, the least significant of a byte first.
type lsbWriter struct {
	b []byte
	n int
}

func (w *lsbWriter) uint(v uint64, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

// book returns a setup header that begins with a code book.
func book(dimensions, entries uint64, rest func(w *lsbWriter)) string {
	w := &lsbWriter{}
	w.uint(0, 8)
	w.uint(0x564342, 24)
	w.uint(dimensions, 16)
	w.uint(entries, 24)
	if rest != nil {
		rest(w)
	}
	return "\x05vorbis" + string(w.b)
}

// lengths writes the sparse lengths of a code book's codes; 0: not used.
func lengths(used ...uint64) func(w *lsbWriter) {
	return func(w *lsbWriter) {
		w.uint(0, 1)
		w.uint(1, 1)
		for _, n := range used {
			w.uint(min(n, 1), 1)
			if n > 0 {
				w.uint(n-1, 5)
			}
		}
		w.uint(0, 4)
	}
}

// Headers that ask the decoder of Vorbis for gigabytes, or let it search for a code without end,
// are rejected before it sees them.
func TestVorbisHeaders(t *testing.T) {
	id := func(channels byte, blocks byte) string {
		return "\x01vorbis\x00\x00\x00\x00" + string([]byte{channels}) + "\x80\x3e\x00\x00" + strings.Repeat("\x00", 12) + string([]byte{blocks}) + "\x01"
	}
	for name, c := range map[string]struct{ id, setup, want string }{
		"no channels":             {id(0, 0x88), "", "0 channels"},
		"large blocks":            {id(1, 0xf8), "", "blocks of 256 and 32768"},
		"no code book":            {id(1, 0x88), "\x05vorbis\x00\x01", "code book 1 of 1"},
		"many entries":            {id(1, 0x88), book(1, 1<<24-1, nil), "16777215 entries"},
		"many dimensions":         {id(1, 0x88), book(65535, 2, nil), "of 65535 values"},
		"too many codes":          {id(1, 0x88), book(1, 3, lengths(1, 1, 1)), "3 codes are not a complete"},
		"counts without an end":   {id(1, 0x88), book(1, 100, func(w *lsbWriter) { w.uint(1, 1); w.uint(0, 5) }), "codes up to"},
		"values beyond the limit": {id(1, 0x88), book(64, 1<<14, func(w *lsbWriter) { w.uint(1, 1); w.uint(13, 5); w.uint(1<<14, 15); w.uint(2, 4); w.uint(0, 69+1<<20) }), "more than"},
		"a residue from 9 to 8": {id(1, 0x88), book(1, 2, func(w *lsbWriter) {
			lengths(1, 1)(w)
			w.uint(0, 6+16)               // one transform
			w.uint(0, 6)                  // one floor
			w.uint(0, 16+8+16+16+6+8+4+8) // of type 0
			w.uint(0, 6+16)               // one residue
			w.uint(9, 24)
			w.uint(8, 24)
		}), "residue 1 of 1 of Vorbis: it ends at 8 and begins at 9"},
	} {
		file := oggPageOf(oggFirst, 0, 0, c.id)
		file = append(file, oggPageOf(0, 1, 0, "\x03vorbis", c.setup[:min(len(c.setup), 60000)])...)
		var err error
		if n := must.Allocated(func() { _, _, err = decodeAll(t, bytes.NewReader(file), 100) }); n > 4<<20 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) && !(name == "values beyond the limit" && strings.Contains(err.Error(), "ends inside")) {
			t.Errorf("%s: error %v, expected %q", name, err, c.want)
		}
	}
}

// endlessPacket appends a packet of 40 pages, without an end, to the first pages of a stream.
func endlessPacket(start []byte, pages int) []byte {
	file := bytes.Clone(start)
	for i := range 40 {
		flags := byte(oggContinued)
		if i == 0 {
			flags = 0
		}
		page := oggPageOf(flags, uint32(i+pages), 0)
		page[26] = 255
		copy(page[14:18], start[14:18]) // the serial number
		file = append(append(append(file, page...), strings.Repeat("\xff", 255)...), strings.Repeat("x", 255*255)...)
	}
	fixOgg(file)
	return file
}

// A setup header, or a packet of audio, of more than a mebibyte is an error before it takes memory.
func TestOggPacketLimit(t *testing.T) {
	file := must.Get(os.ReadFile("testdata/mono.ogg"))(t)
	second := bytes.Index(file[1:], []byte("OggS")) + 1
	third := second + 1 + bytes.Index(file[second+1:], []byte("OggS"))
	comment := oggPageOf(0, 1, 0, "\x03vorbis")
	copy(comment[14:18], file[14:18])
	for name, c := range map[string]struct {
		start []byte
		pages int // in start
		want  string
	}{
		"comments":     {file[:second], 1, "truncated Ogg: it ends after page 41"}, // skipped, not kept in memory
		"setup header": {append(bytes.Clone(file[:second]), comment...), 2, "Ogg: page 19 has a packet of more than 1048576 bytes"},
		"audio":        {file[:third], 2, "Ogg: page 19 has a packet of more than 1048576 bytes"},
	} {
		long := endlessPacket(c.start, c.pages)
		var err error
		if n := must.Allocated(func() { _, _, err = decodeAll(t, bytes.NewReader(long), 100) }); n > 8<<20 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		must.Fail(t, err, "audio: ", c.want)
	}
}

// silentFLAC is the header of a stream of 8 channels and unknown length, followed by n frames of
// 65,535 zeros.
func silentFLAC(n int) []byte {
	info := make([]byte, 34)
	binary.BigEndian.PutUint16(info[0:], 65535)
	binary.BigEndian.PutUint16(info[2:], 65535)
	binary.BigEndian.PutUint64(info[10:], 48000<<44|7<<41|15<<36)
	b := append([]byte("fLaC\x80\x00\x00\x22"), info...)
	frame := []byte{0xff, 0xf8, 0x7a, 0x78, 0x00, 0xff, 0xfe} // block length in 16 bits, 48 kHz, 8 channels, 16 bits, number 0
	frame = append(frame, 0)                                  // its checksum, which is not read
	for range 8 {
		frame = append(frame, 0, 0, 0) // a constant, zero
	}
	frame = binary.BigEndian.AppendUint16(frame, crc16Of(frame))
	return append(b, bytes.Repeat(frame, n)...)
}

func crc16Of(b []byte) (c uint16) {
	for _, v := range b {
		c = c<<8 ^ crc16Table[uint8(c>>8)^v]
	}
	return c
}

// Streaming takes a constant amount of memory, and reading a whole file has a limit, because 34
// bytes of FLAC may contain half a million samples.
func TestMemory(t *testing.T) {
	const frames = 40
	file := silentFLAC(frames)
	var r *Reader
	samples := 0
	n := must.Allocated(func() {
		r = must.Get(Open(bytes.NewReader(file)))(t)
		block := make([]float32, 8000)
		for {
			k, err := r.Read(block)
			samples += k
			if err == io.EOF {
				return
			}
			must.Do(t, err)
		}
	})
	must.Equal(t, samples, frames*8*65535, "samples")
	if n > 8<<20 && !must.RaceEnabled { // the race detector allocates, too
		t.Errorf("streaming %d samples allocates %d bytes", samples, n)
	}
	r = must.Get(Open(bytes.NewReader(file)))(t)
	must.Reject(r.ReadMono(r.Format.SampleRate, 1e6))(t, "more than 1000000 samples")
}

// FLAC of 4 to 32 bits with every kind of subframe, written by hand.
func TestFLACSubframes(t *testing.T) {
	for _, c := range []struct {
		name string
		size uint
		bits string // of the subframe
		want []int64
	}{
		{"constant", 8, "0 000000 0 10000001", []int64{-127, -127, -127, -127}},
		{"verbatim", 4, "0 000001 0 0111 1000 0001 1111", []int64{7, -8, 1, -1}},
		{"wasted bits", 8, "0 000001 1 01 000001 111111 011111 100000", []int64{4, -4, 124, -128}},
		{"fixed order 0, Rice 0", 8, "0 001000 0 00 0000 0000 1 01 001 0001", []int64{0, -1, 1, -2}},
		{"fixed order 1, Rice 2", 8, "0 001001 0 00001010 00 0000 0010 1 00 1 01 01 11", []int64{10, 10, 9, 5}},
		{"fixed order 2, 5 bits", 8, "0 001010 0 00000001 00000011 01 0000 00001 1 0 1 0", []int64{1, 3, 5, 7}},
		{"escape", 8, "0 001000 0 00 0000 1111 00011 011 100 000 111", []int64{3, -4, 0, -1}},
		{"two partitions", 8, "0 001000 0 00 0001 0000 1 1 0001 010 11", []int64{0, 0, 1, -1}},
		{"linear", 8, "0 100000 0 00000100 0011 00001 0011 00 0000 0000 1 1 1", []int64{4, 6, 9, 13}},
		{"32 bits", 32, "0 000000 0 10000000000000000000000000000000", []int64{-1 << 31, -1 << 31, -1 << 31, -1 << 31}},
	} {
		var w bitWriter
		for _, b := range strings.ReplaceAll(c.bits, " ", "") {
			w.bit(byte(b - '0'))
		}
		r := bitReader{in: bufio.NewReader(bytes.NewReader(w.bytes))}
		got := make([]int64, 4)
		err := r.subframe(got, c.size)
		if err != nil || r.err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, errors %v and %v, expected %v", c.name, got, err, r.err, c.want)
		}
	}
	for name, bits := range map[string]string{
		"predictor of 8":          "0 100111 0",
		"16 bits":                 "0 100000 0 00000000 1111",
		"residual of more than 3": "0 001000 0 01 0000 11110 " + strings.Repeat("0", 5) + "1",
	} {
		var w bitWriter
		for _, b := range strings.ReplaceAll(bits, " ", "") + strings.Repeat("0", 64) {
			w.bit(byte(b - '0'))
		}
		r := bitReader{in: bufio.NewReader(bytes.NewReader(w.bytes))}
		must.Fail(t, r.subframe(make([]int64, 4), 8), name)
	}
}

// Sizes in the headers of sound files cost no more memory than docs/reliability.md states.
func TestReaderBounds(t *testing.T) {
	for _, encoding := range []Encoding{U8, S16LE, S16BE, F32LE} {
		in := must.Get(NewRawReader(bytes.NewReader(make([]byte, 16<<20)), encoding))(t)
		block, err := make([]float32, 1000), error(nil)
		must.Allocates(t, 1<<20, func() {
			for err == nil {
				_, err = in.Read(block)
			}
		}, "16 MiB of %s", encoding)
		must.Fail(t, err, io.EOF)
	}
	files := map[string][]byte{"a WAV file": riff(chunk("fmt ", format(1, 2, 8000, 16)), chunk("LIST", make([]byte, 6)), chunk("data", make([]byte, 64)))}
	for name, most := range map[string]int{"mono.flac": 1000, "joint.mp3": 300, "mono.ogg": 4000} {
		file := must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
		files[name] = file[:min(len(file), most)]
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			must.HugeNumbers(t, 16<<20, file, func(b []byte) {
				if name == "mono.ogg" {
					fixOgg(b)
				}
				_, _, _ = decodeAll(t, bytes.NewReader(b), 100)
			})
		})
	}
}
