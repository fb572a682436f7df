package audio

import (
	"bufio"
	"math/bits"
)

// bitReader reads bits, the most significant first, and computes the checksum of FLAC over the
// bytes that it reads. After an error, all bits are 0.
type bitReader struct {
	in    *bufio.Reader
	acc   uint64 // the low n bits have not been returned; the others are 0
	n     uint
	crc16 uint16 // polynomial x¹⁶+x¹⁵+x²+1
	err   error
}

var crc16Table = func() (t [256]uint16) {
	for i := range t {
		t[i] = uint16(i) << 8
		for range 8 {
			t[i] = t[i]<<1 ^ 0x8005*(t[i]>>15)
		}
	}
	return t
}()

// fill takes one more byte.
func (b *bitReader) fill() {
	c, err := b.in.ReadByte()
	if err != nil {
		b.err = err
		return
	}
	b.crc16 = b.crc16<<8 ^ crc16Table[uint8(b.crc16>>8)^c]
	b.acc = b.acc<<8 | uint64(c)
	b.n += 8
}

// uint returns the next n bits, at most 56.
func (b *bitReader) uint(n uint) uint64 {
	for b.n < n {
		if b.fill(); b.err != nil {
			b.acc, b.n = 0, 0
			return 0
		}
	}
	b.n -= n
	v := b.acc >> b.n
	b.acc &= 1<<b.n - 1
	return v
}

// int returns the next n bits, at most 56, as a number in two's complement.
func (b *bitReader) int(n uint) int64 {
	return int64(b.uint(n)<<(64-n)) >> (64 - n)
}

// unary returns the number of zeros before the next one, or max+1 if there are more than max.
func (b *bitReader) unary(max uint64) uint64 {
	zeros := uint64(0)
	for b.acc == 0 {
		zeros += uint64(b.n)
		b.n = 0
		if zeros > max {
			return max + 1
		}
		if b.fill(); b.err != nil {
			return 0
		}
	}
	lead := uint(bits.LeadingZeros64(b.acc)) - (64 - b.n)
	b.n -= lead + 1
	b.acc &= 1<<b.n - 1
	return min(zeros+uint64(lead), max+1)
}
