package audio

import (
	"encoding/binary"
	"math"
)

// decoder returns the function that converts little-endian samples to float32, or nil for an
// unknown format. An integer v of b bits becomes v/2^(b−1); integers of 8 bits are stored with 128
// added.
func decoder(tag uint16, bits int) func(dst []float32, src []byte) {
	switch {
	case tag == tagPCM && bits == 8:
		return decode8
	case tag == tagPCM && bits == 16:
		return DecodeS16LE
	case tag == tagPCM && bits == 24:
		return decode24
	case tag == tagPCM && bits == 32:
		return decode32
	case tag == tagFloat && bits == 32:
		return decodeFloat
	case tag == tagFloat && bits == 64:
		return decodeDouble
	case tag == tagALaw && bits == 8:
		return func(dst []float32, src []byte) { decodeTable(dst, src, &aLaw) }
	case tag == tagMuLaw && bits == 8:
		return func(dst []float32, src []byte) { decodeTable(dst, src, &muLaw) }
	}
	return nil
}

func decode8(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int(src[i])-128) / (1 << 7)
	}
}

// DecodeS16LE converts len(dst) signed little-endian samples of 16 bits in src to float32 in
// [−1, 1).
func DecodeS16LE(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:]))) / (1 << 15)
	}
}

func decodeS16BE(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int16(binary.BigEndian.Uint16(src[2*i:]))) / (1 << 15)
	}
}

func decode24(dst []float32, src []byte) {
	for i := range dst {
		b := src[3*i : 3*i+3]
		v := int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24) >> 8
		dst[i] = float32(v) / (1 << 23)
	}
}

// belowOne is the largest float32 below 1: the largest 32-bit integers would round to 1.
const belowOne = 1 - 0x1p-24

func decode32(dst []float32, src []byte) {
	for i := range dst {
		v := int32(binary.LittleEndian.Uint32(src[4*i:]))
		dst[i] = min(float32(v)/(1<<31), belowOne)
	}
}

func decodeFloat(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeDouble(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func decodeTable(dst []float32, src []byte, table *[256]float32) {
	for i := range dst {
		dst[i] = table[src[i]]
	}
}

// aLaw and muLaw are the values of the bytes of ITU-T G.711: a sign, 3 bits of exponent and 4 of
// mantissa, inverted in part or as a whole.
var aLaw, muLaw = g711()

func g711() (a, mu [256]float32) {
	for i := range 256 {
		b := byte(i) ^ 0x55
		exponent := max(int(b>>4&7), 1)
		v := (2*int(b&15) + 1 + 32*min(int(b>>4&7), 1)) << (exponent + 2)
		if b&0x80 == 0 {
			v = -v
		}
		a[i] = float32(v) / (1 << 15)
		b = ^byte(i)
		v = (2*int(b&15)+33)<<(b>>4&7+2) - 33<<2
		if b&0x80 != 0 {
			v = -v
		}
		mu[i] = float32(v) / (1 << 15)
	}
	return a, mu
}

// notFinite returns the index of the first NaN or infinity, or len(x).
func notFinite(x []float32) int {
	for i, v := range x {
		if v-v != 0 {
			return i
		}
	}
	return len(x)
}
