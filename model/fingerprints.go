package model

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Fingerprints are recordings by the low 40 bits of their audio.Fingerprint, ascending and
// distinct: of 10,000 other recordings, one is taken for one of 10,000 of these with a probability
// of 1 in 10,000. As text, they are the base64 encoding of 5 bytes each, the lowest first, after
// "5:".
type Fingerprints []uint64

const (
	printBytes  = 5
	printMask   = 1<<(8*printBytes) - 1
	printPrefix = "5:"
)

// With returns f and others. It leaves out 0, the fingerprint of silence.
func (f Fingerprints) With(others ...uint64) Fingerprints {
	all := slices.Concat(f, others)
	for i := range all {
		all[i] &= printMask
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(v uint64) bool { return v == 0 })
}

// Has reports whether f contains a fingerprint.
func (f Fingerprints) Has(v uint64) bool {
	_, ok := slices.BinarySearch(f, v&printMask)
	return ok
}

// MarshalText implements encoding.TextMarshaler.
func (f Fingerprints) MarshalText() ([]byte, error) {
	var b []byte
	for _, v := range f {
		b = append(b, binary.LittleEndian.AppendUint64(nil, v)[:printBytes]...)
	}
	return base64.StdEncoding.AppendEncode([]byte(printPrefix), b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fingerprints) UnmarshalText(text []byte) error {
	rest, ok := strings.CutPrefix(string(text), printPrefix)
	b, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(b)%printBytes != 0 {
		return fmt.Errorf("recordings: %d characters, expected %q and the base64 encoding of %d bytes per recording", len(text), printPrefix, printBytes)
	}
	var list []uint64
	for each := range slices.Chunk(b, printBytes) {
		list = append(list, binary.LittleEndian.Uint64(append(slices.Clip(each), 0, 0, 0)))
	}
	*f = Fingerprints(nil).With(list...)
	return nil
}
