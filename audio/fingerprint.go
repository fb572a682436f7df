package audio

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
)

// Fingerprint identifies a recording by its samples, rounded to 16 bits. Copies with other names
// and in other lossless formats have the same fingerprint.
type Fingerprint struct {
	hash  hash.Hash
	bytes []byte
	sound bool // a sample is not 0
}

// NewFingerprint returns the Fingerprint of no samples.
func NewFingerprint() *Fingerprint { return &Fingerprint{hash: sha256.New()} }

// Add adds the next samples, of full scale ±1.
func (f *Fingerprint) Add(x []float32) {
	f.bytes = f.bytes[:0]
	for _, v := range x {
		s := toInt16(v)
		f.sound = f.sound || s != 0
		f.bytes = binary.LittleEndian.AppendUint16(f.bytes, uint16(s))
	}
	f.hash.Write(f.bytes)
}

// Sum returns the fingerprint: 0 for silence, which tells no recordings apart.
func (f *Fingerprint) Sum() uint64 {
	if !f.sound {
		return 0
	}
	return binary.LittleEndian.Uint64(f.hash.Sum(nil))
}

// toInt16 returns v·2¹⁵, rounded and limited to 16 bits.
func toInt16(v float32) int16 {
	return int16(min(max(math.RoundToEven(float64(v)*(1<<15)), math.MinInt16), math.MaxInt16))
}
