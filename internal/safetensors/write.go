package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
)

// WriteTo writes the file, with its checksum. The arrays must have different names, and as many
// values as their shapes say. A header that Read would reject is an error before anything is
// written.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	header, err := f.header()
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, uint64(len(header)))
	b.Write(header)
	for i := range f.Arrays {
		binary.Write(&b, binary.LittleEndian, f.Arrays[i].F32)
	}
	sum := sha256.Sum256(b.Bytes())
	digits := 8 + bytes.Index(header, []byte(`"`+sumKey+`":"`+noSum)) + len(sumKey) + 4
	hex.Encode(b.Bytes()[digits:], sum[:])
	return b.WriteTo(w)
}

// header returns the JSON header with noSum for the checksum. Spaces pad it so that the data begin
// at a multiple of 64 bytes.
func (f *File) header() ([]byte, error) {
	metadata := map[string]string{}
	maps.Copy(metadata, f.Metadata)
	metadata[sumKey] = noSum
	members, at := map[string]any{metadataKey: metadata}, int64(0)
	for _, a := range f.Arrays {
		e := entry{DType: F32, Shape: []int64{}, Offsets: []int64{at, at + int64(len(a.F32))*width}}
		for _, d := range a.Shape {
			e.Shape = append(e.Shape, int64(d))
		}
		members[a.Name], at = e, e.Offsets[1]
	}
	b, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	for (len(b)+8)%64 != 0 {
		b = append(b, ' ')
	}
	if len(b) > maxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes: expected at most %d", len(b), maxHeader)
	}
	return b, nil
}
