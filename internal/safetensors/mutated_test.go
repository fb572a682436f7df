package safetensors

import (
	"bytes"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A mutated file without a checksum is an error or arrays that can be written and read again.
func TestMutatedFile(t *testing.T) {
	file := sample()
	whole := encode(t, file)
	without := raw(`{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}`, make([]byte, 16)...)
	for _, b := range [][]byte{whole, without} {
		must.Mutate(t, "a mutated safetensors file is an error or whole arrays, with bounded memory", 1<<20, b, func(b []byte) bool {
			f, err := Read(bytes.NewReader(b))
			if err != nil {
				return true
			}
			var out bytes.Buffer
			if _, err := f.WriteTo(&out); err != nil {
				return false
			}
			_, err = Read(&out)
			return err == nil
		})
	}
}
