package audio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// maxPacket is the largest size of a packet in memory. The setup header and audio packets take a
// few kilobytes.
const maxPacket = 1 << 20 // bytes

// Flags of an Ogg page.
const (
	oggContinued = 1 << iota // the first packet began on an earlier page
	oggFirst                 // of its stream
	oggLast
)

// oggPages reads the pages of an Ogg file of one logical stream (RFC 3533). A page takes at most
// 64 kB.
type oggPages struct {
	in       *bufio.Reader
	read     int // pages of this stream
	serial   uint32
	sequence uint32 // of the next page
	flags    byte
	granule  int64 // the position after the last packet that ends on the page; −1: none ends
	sizes    []byte
	content  []byte
	body     [255 * 255]byte
	table    [255]byte
	partial  []byte // the start of a packet that continues on the next page
	skip     bool   // do not keep the packet that begins next
}

var oggCRCTable = func() (t [256]uint32) {
	for i := range t {
		t[i] = uint32(i) << 24
		for range 8 {
			t[i] = t[i]<<1 ^ 0x04c11db7*(t[i]>>31)
		}
	}
	return t
}()

func oggCRC(crc uint32, b []byte) uint32 {
	for _, c := range b {
		crc = crc<<8 ^ oggCRCTable[byte(crc>>24)^c]
	}
	return crc
}

// page reads the next page of the stream. io.EOF comes after the last one.
func (o *oggPages) page() error {
	if o.flags&oggLast != 0 {
		return io.EOF
	}
	head, err := o.anyPage()
	if err != nil {
		return err
	}
	serial, sequence := binary.LittleEndian.Uint32(head[14:]), binary.LittleEndian.Uint32(head[18:])
	if o.read > 0 && serial != o.serial {
		return &UnsupportedError{Format: "Ogg of several streams", demuxer: "ogg"}
	}
	if o.read > 0 && sequence != o.sequence {
		return fmt.Errorf("audio: Ogg: page %d has the number %d, expected %d", o.read+1, sequence, o.sequence)
	}
	o.flags, o.granule = head[5], int64(binary.LittleEndian.Uint64(head[6:]))
	if o.flags&oggContinued == 0 != (len(o.partial) == 0) {
		return fmt.Errorf("audio: Ogg: page %d does not continue the packet before it", o.read+1)
	}
	o.serial, o.sequence = serial, sequence+1
	o.read++
	return nil
}

// anyPage reads a page of any stream: "OggS", version 0, flags, granule position (64 bits), serial
// number, sequence number, checksum (32 each), number of segments, their sizes, their bytes.
func (o *oggPages) anyPage() (head [27]byte, err error) {
	if n, err := io.ReadFull(o.in, head[:]); n == 0 && err == io.EOF {
		return head, fmt.Errorf("audio: %w Ogg: it ends after page %d, which is not marked as the last", ErrTruncated, o.read)
	} else if err != nil {
		return head, truncated(err, "Ogg", "page %d", o.read+1)
	}
	if string(head[:5]) != "OggS\x00" {
		return head, fmt.Errorf("audio: Ogg: page %d starts with %q, expected \"OggS\" and version 0", o.read+1, head[:5])
	}
	o.sizes = o.table[:head[26]]
	if _, err := io.ReadFull(o.in, o.sizes); err != nil {
		return head, truncated(err, "Ogg", "page %d", o.read+1)
	}
	size := 0
	for _, s := range o.sizes {
		size += int(s)
	}
	o.content = o.body[:size]
	if _, err := io.ReadFull(o.in, o.content); err != nil {
		return head, truncated(err, "Ogg", "page %d", o.read+1)
	}
	sum := binary.LittleEndian.Uint32(head[22:])
	clear(head[22:26])
	if got := oggCRC(oggCRC(oggCRC(0, head[:]), o.sizes), o.content); got != sum {
		return head, fmt.Errorf("audio: Ogg: page %d has the checksum %#08x, expected %#08x", o.read+1, got, sum)
	}
	return head, nil
}

// packet returns the next packet that ends on the page, valid until the next call, or nil if there
// are no more.
func (o *oggPages) packet() ([]byte, error) {
	size := 0
	for i, s := range o.sizes {
		size += int(s)
		if s == 255 && i+1 < len(o.sizes) {
			continue
		}
		part := o.content[:size]
		o.sizes, o.content = o.sizes[i+1:], o.content[size:]
		if !o.skip && len(o.partial)+size > maxPacket {
			return nil, fmt.Errorf("audio: Ogg: page %d has a packet of more than %d bytes", o.read, maxPacket)
		}
		if o.skip {
			o.partial = append(o.partial[:0], 0) // as a mark that the packet has begun
		} else {
			o.partial = append(o.partial, part...)
		}
		if s == 255 {
			return nil, nil
		}
		packet := o.partial
		if len(packet) == 0 {
			packet = []byte{}
		}
		o.partial, o.skip = o.partial[:0], false
		return packet, nil
	}
	return nil, nil
}

// header returns the next packet of the headers, which may take several pages.
func (o *oggPages) header() ([]byte, error) {
	for {
		if p, err := o.packet(); p != nil || err != nil {
			return p, err
		}
		if err := o.page(); err == io.EOF {
			return nil, fmt.Errorf("audio: %w Ogg: it ends in the headers", ErrTruncated)
		} else if err != nil {
			return nil, err
		}
	}
}
