package audio

import (
	"encoding/binary"
	"math"
	"slices"
)

// decoders convert little-endian samples to float32, by the format tag and the bits of a sample. An
// integer v of b bits becomes v/2^(b−1); integers of 8 bits are stored with 128 added.
var decoders = map[[2]int]func(dst []float32, src []byte){
	{tagPCM, 8}:  each(1, func(b []byte) float32 { return float32(int(b[0])-128) / (1 << 7) }),
	{tagPCM, 16}: DecodeS16LE,
	{tagPCM, 24}: each(3, func(b []byte) float32 {
		return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
	}),
	{tagPCM, 32}:   each(4, func(b []byte) float32 { return min(float32(int32(binary.LittleEndian.Uint32(b)))/(1<<31), belowOne) }),
	{tagFloat, 32}: each(4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }),
	{tagFloat, 64}: each(8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }),
	{tagALaw, 8}:   each(1, func(b []byte) float32 { return aLaw[b[0]] }),
	{tagMuLaw, 8}:  each(1, func(b []byte) float32 { return muLaw[b[0]] }),
}

// each returns the function that decodes samples of width bytes.
func each(width int, value func(b []byte) float32) func(dst []float32, src []byte) {
	return func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = value(src[i*width:][:width])
		}
	}
}

// DecodeS16LE converts len(dst) signed little-endian samples of 16 bits in src to float32 in
// [−1, 1).
func DecodeS16LE(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:]))) / (1 << 15)
	}
}

// belowOne is the largest float32 below 1: the largest 32-bit integers would round to 1.
const belowOne = 1 - 0x1p-24

// aLaw and muLaw are the values of the bytes of ITU-T G.711: a sign, 3 bits of exponent and 4 of
// mantissa, inverted in part or as a whole.
var aLaw, muLaw = g711()

func g711() (a, mu [256]float32) {
	for i := range 256 {
		b := byte(i) ^ 0x55
		exponent := int(b >> 4 & 7)
		v := (2*int(b&15) + 1 + 32*min(exponent, 1)) << (max(exponent, 1) + 2)
		a[i] = float32(int(b>>7)*2*v-v) / (1 << 15)
		b = ^byte(i)
		v = (2*int(b&15)+33)<<(b>>4&7+2) - 33<<2
		mu[i] = float32(v-int(b>>7)*2*v) / (1 << 15)
	}
	return a, mu
}

// notFinite returns the index of the first NaN or infinity, or −1.
func notFinite(x []float32) int {
	return slices.IndexFunc(x, func(v float32) bool { return v-v != 0 })
}
