package safetensors

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A mutated file without a checksum is an error, or arrays that have all data of the file, and that
// can be written and read again.
func TestMutatedFile(t *testing.T) {
	file := sample()
	whole := encode(t, file)
	without := raw(`{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}}`, []byte("abcdefghijklmnop")...)
	for _, b := range [][]byte{whole, without} {
		must.Get(Read(bytes.NewReader(b)))(t)
		must.Mutate(t, "a mutated safetensors file is an error or whole arrays, with bounded memory", 1<<20, b, func(b []byte) bool {
			f, err := Read(bytes.NewReader(b))
			if err != nil {
				return true
			}
			left := len(b) - 8 - int(binary.LittleEndian.Uint64(b))
			for _, a := range f.Arrays {
				n := 1
				for _, d := range a.Shape {
					n *= d
				}
				if n != len(a.F32)+len(a.I64) {
					return false
				}
				left -= 4*len(a.F32) + 8*len(a.I64)
			}
			var out bytes.Buffer
			if _, err := f.WriteTo(&out); err != nil {
				return false
			}
			_, err = Read(&out)
			return err == nil && left == 0
		})
	}
}
