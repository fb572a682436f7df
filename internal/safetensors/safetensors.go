// Package safetensors reads and writes files of named arrays: eight bytes of header length, a JSON header
// with each array's type, shape and place, then the bytes, little endian.
//
// A File goes out with WriteTo and comes in with Read. Nothing that a header declares is believed before it is
// checked against the bytes that are there.
package safetensors

// Element types that are read and written.
const (
	F32 = "F32"
	I64 = "I64"
)

// Bounds of what is read and written.
const (
	maxHeader = 16 << 20 // bytes
	maxArrays = 1 << 16
	maxRank   = 8
	maxBytes  = 1 << 40 // of an array
	maxName   = 256     // bytes of an array's name, when read
)

// metadataKey is the header's entry that is no array.
const metadataKey = "__metadata__"

// Array is one named array: one of F32 and I64 holds its values, row-major.
type Array struct {
	Name  string
	Shape []int
	F32   []float32
	I64   []int64
}

// File is what a file holds. Arrays keep their order.
type File struct {
	Metadata map[string]string
	Arrays   []Array
}

// Find returns the array of a name, or nil.
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
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}
