package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// join continues with the file that follows the one that has ended, if the two are joined. It
// returns io.EOF if none follows.
func (r *Reader) join() error {
	if r.bytes == nil {
		return io.EOF
	}
	head, err := r.follows()
	switch w, ok := r.in.(*wavStream); {
	case err != nil:
		return err
	case head == nil:
		return r.rest()
	case ok && string(head[:4]) == "data": // another part of the same file
		discard(r.bytes, 8)
		w.start(int64(binary.LittleEndian.Uint32(head[4:])))
		return nil
	}
	next, err := r.opt.open(r.bytes, head)
	if err != nil {
		return fmt.Errorf("after sample %d, in the file that is joined to the first: %w", r.frames, err)
	}
	if f := next.Format; f.SampleRate != r.Format.SampleRate || f.Channels != r.Format.Channels {
		return fmt.Errorf("audio: after sample %d, another file follows, of %d channels at %d Hz; the first has %d channels at %d Hz: split them",
			r.frames, f.Channels, f.SampleRate, r.Format.Channels, r.Format.SampleRate)
	}
	r.in = next.in
	return nil
}

// rest notes bytes that are neither padding nor recognised, and returns io.EOF.
func (r *Reader) rest() error {
	for range maxPadding {
		b, err := r.bytes.ReadByte()
		switch {
		case err == io.EOF:
			return err
		case err != nil:
			return fmt.Errorf("audio: %w", err)
		case b != 0:
			r.opt.note("after sample %d, where it ends by its header, other bytes follow, which are not read; raw samples need --format and --rate", r.frames)
			return io.EOF
		}
	}
	return io.EOF
}

// follows returns the first bytes of another file that follows, after it has skipped what is before
// it, or nil if there is none. An incomplete tag is the end, other errors are those of the input.
func (r *Reader) follows() (head []byte, err error) {
	for in := r.bytes; ; {
		head, err = skipTags(in)
		switch {
		case errors.Is(err, ErrTruncated) || err == nil && len(head) < 8:
			return nil, nil
		case err != nil || recognise(head).Format != "" || string(head[:4]) == "data" || r.Container != MP3 && isMP3(head) && confirmed(in, head, true):
			return head, err
		case string(head[:3]) == "TAG":
			in.Discard(128)
		case r.Container == WAV && !slices.ContainsFunc(head[:4], func(c byte) bool { return c < ' ' || c > 'z' }): // a chunk
			if size := int64(binary.LittleEndian.Uint32(head[4:])); !discard(in, 8+size+size&1) {
				return nil, nil
			}
		case r.Container == MP3:
			if _, found := syncMP3(in, true); !found {
				return nil, nil
			}
			return in.Peek(4)
		default:
			return nil, nil
		}
	}
}

func discard(in *bufio.Reader, n int64) bool {
	_, err := io.CopyN(io.Discard, in, n)
	return err == nil
}

const headBytes = 64 // in which Open recognises a format

// skipTags skips ID3v2 and APE tags and returns the next bytes, at most headBytes, without reading
// them.
func skipTags(in *bufio.Reader) ([]byte, error) {
	for {
		head, err := in.Peek(headBytes)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("audio: %w", err)
		}
		size := tagSize(head)
		if size == 0 {
			return head, nil
		}
		if n, err := io.CopyN(io.Discard, in, size); err == io.EOF {
			return nil, fmt.Errorf("audio: %w file: it ends after %d of %d bytes of an ID3 tag", ErrTruncated, n, size)
		} else if err != nil {
			return nil, fmt.Errorf("audio: ID3 tag: %w", err)
		}
	}
}

// tagSize returns the size of the tag with which b begins, or 0. A tag of ID3v2 is "ID3", two bytes
// of version, one of flags, and four bytes of 7 bits with the size of what follows; flag 0x10
// announces a footer of 10 bytes. One of APEv2 is "APETAGEX", version, size after a header of 32
// bytes, number of items, and flags (32 bits each), of which bit 29 marks that header.
func tagSize(b []byte) int64 {
	switch {
	case len(b) >= 10 && string(b[:3]) == "ID3":
		size := 10 + int64(b[6]&0x7f)<<21 + int64(b[7]&0x7f)<<14 + int64(b[8]&0x7f)<<7 + int64(b[9]&0x7f)
		if b[5]&0x10 != 0 {
			size += 10
		}
		return size
	case len(b) >= 32 && string(b[:8]) == "APETAGEX":
		if b[23]&0x20 == 0 {
			return 32 // the footer of a tag without a header
		}
		return 32 + int64(binary.LittleEndian.Uint32(b[12:]))
	}
	return 0
}

// Before MP3, Open skips so many bytes at most in search of the first frame, and so many other than
// zero.
const (
	maxPadding = 1 << 16
	maxJunk    = 1 << 12
)

// syncMP3 skips bytes up to the header of a frame that frames of the same stream follow, or the end
// of the file. It searches without a limit if far is set. Tags are skipped whole, because
// a picture in them may look like a frame.
func syncMP3(in *bufio.Reader, far bool) (skipped int, found bool) {
	for junk := 0; far || skipped < maxPadding && junk < maxJunk; {
		head, _ := in.Peek(headBytes)
		if len(head) < 4 {
			return skipped, false
		}
		n := max(tagSize(head), 1)
		if string(head[:3]) == "TAG" && (len(head) < headBytes || far) {
			n = 128
		}
		if n == 1 && confirmed(in, head, far) {
			return skipped, true
		}
		if !discard(in, n) {
			return skipped, false
		}
		skipped += int(n)
		if head[0] != 0 {
			junk++
		}
	}
	return skipped, false
}

// confirmed reports whether the next bytes are the header of a frame, and after that frame there
// are two more of the same stream, a tag or the end. With far, the frame may be the last.
func confirmed(in *bufio.Reader, head []byte, far bool) bool {
	first, err := parseMP3Header(head)
	if err != nil {
		return false
	}
	at, h := 0, first
	for i := range 2 {
		at += h.size
		b, err := in.Peek(at + 4)
		b = b[min(at, len(b)):]
		if len(b) < 4 {
			return err == io.EOF && (i > 0 || far && len(b) == 0)
		}
		if name := string(b[:3]); name == "TAG" || name == "ID3" || name == "APE" {
			return true
		}
		if h, err = parseMP3Header(b); err != nil || !h.continues(first) {
			return false
		}
	}
	return true
}

// syncMP3 searches for the first frame of MP3 behind other bytes, and notes them unless they are
// padding.
func (o Options) syncMP3(in *bufio.Reader, head string) bool {
	skipped, found := syncMP3(in, false)
	if found && head != "\x00\x00\x00\x00" {
		o.note("it starts with %q, which no format does: it is read as MP3 from byte %d after its tags on, where the first frame is", head, skipped)
	}
	return found
}
