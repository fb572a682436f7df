// Package safetensors reads and writes files of named arrays in Hugging Face's safetensors format.
// A file has eight bytes with the header's length, a JSON header with the type, shape and place of
// each array, then the arrays' bytes. All numbers are little endian.
//
// WriteTo stores a checksum in the metadata, and Read verifies it where there is one. Read trusts
// no number in a header before the bytes that it announces have been read.
package safetensors

import (
	"crypto/sha256"
	"strings"
)

// F32 is the type of the elements, float32.
const F32 = "F32"

const width = 4 // bytes of an element

// Bounds of what is read and written. The largest checkpoint of a run has 79,884 arrays: the
// weights and two moments of 2048 layers.
const (
	maxHeader = 16 << 20 // bytes
	maxRank   = 8
	maxBytes  = 1 << 40 // of an array
)

// metadataKey is the one entry of the header that does not describe an array.
const metadataKey = "__metadata__"

// sumKey is the metadata entry with the file's checksum: the SHA-256 of the whole file in
// hexadecimal digits, computed with noSum in their place.
const sumKey = "sha256"

var noSum = strings.Repeat("0", 2*sha256.Size)

// Array is one named array with its values, row-major.
type Array struct {
	Name  string
	Shape []int
	F32   []float32

	// Of an array that ReadAny has read: the type and the bytes.
	DType string
	Raw   []byte
}

// File is the content of a file. Arrays keep their order. Metadata does not include the checksum.
type File struct {
	Metadata map[string]string
	Arrays   []Array
}

// Find returns the array with the given name, or nil.
func (f *File) Find(name string) *Array {
	for i := range f.Arrays {
		if f.Arrays[i].Name == name {
			return &f.Arrays[i]
		}
	}
	return nil
}

// entry is an array's description in the header.
type entry struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // begin and end
}
