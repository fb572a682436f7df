package model

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// Fingerprints are recordings by their audio.Fingerprint, ascending and distinct. As text, they are
// the base64 encoding of 8 bytes each, the lowest first.
type Fingerprints []uint64

// With returns f and others. It leaves out 0, the fingerprint of silence.
func (f Fingerprints) With(others ...uint64) Fingerprints {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(f, others))))
	return slices.DeleteFunc(all, func(v uint64) bool { return v == 0 })
}

// Has reports whether f contains a fingerprint.
func (f Fingerprints) Has(v uint64) bool {
	_, ok := slices.BinarySearch(f, v)
	return ok
}

// MarshalText implements encoding.TextMarshaler.
func (f Fingerprints) MarshalText() ([]byte, error) {
	var b []byte
	for _, v := range f {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fingerprints) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b)%8 != 0 {
		return fmt.Errorf("recordings: %d characters, expected the base64 encoding of 8 bytes per recording", len(text))
	}
	list := make([]uint64, len(b)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	*f = Fingerprints(nil).With(list...)
	return nil
}
