package safetensors

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// WriteTo writes the file, with its checksum. A file that Read would reject is an error before
// anything is written.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	header, err := f.header()
	if err != nil {
		return 0, err
	}
	head := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	h := sha256.New()
	if _, err := f.write(h, head); err != nil {
		return 0, err
	}
	digits := bytes.Index(head, []byte(`"`+sumKey+`":"`+noSum)) + len(sumKey) + 4
	hex.Encode(head[digits:], h.Sum(nil))
	out := bufio.NewWriterSize(w, 1<<16) // most tensors are small
	n, err := f.write(out, head)
	if err == nil {
		err = out.Flush()
	}
	return n - int64(out.Buffered()), err
}

// write writes the length and the header, then the arrays.
func (f *File) write(w io.Writer, head []byte) (int64, error) {
	n, err := w.Write(head)
	total := int64(n)
	for i := range f.Arrays {
		if err != nil {
			break
		}
		n, err = w.Write(f.Arrays[i].bytes())
		total += int64(n)
	}
	return total, err
}

// header returns the JSON header with noSum for the checksum. Spaces pad it so that the data begin
// at a multiple of 64 bytes.
func (f *File) header() ([]byte, error) {
	metadata := map[string]string{}
	for k, v := range f.Metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, fmt.Errorf("safetensors: metadata %.80q: %.80q: expected UTF-8", k, v)
		}
		metadata[k] = v
	}
	metadata[sumKey] = noSum
	var b bytes.Buffer
	b.WriteByte('{')
	if err := member(&b, metadataKey, metadata); err != nil {
		return nil, err
	}
	at, seen := int64(0), map[string]bool{metadataKey: true}
	for i := range f.Arrays {
		name := f.Arrays[i].Name
		if !utf8.ValidString(name) || seen[name] {
			return nil, fmt.Errorf("safetensors: array %.80q: expected a name in UTF-8 that occurs once", name)
		}
		seen[name] = true
		e, err := f.Arrays[i].entry(at)
		if err != nil {
			return nil, err
		}
		if err := member(&b, name, e); err != nil {
			return nil, err
		}
		at = e.Offsets[1]
	}
	b.WriteByte('}')
	for (b.Len()+8)%64 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes: expected at most %d", b.Len(), maxHeader)
	}
	return b.Bytes(), nil
}

// member appends "name": value to an open JSON object.
func member(b *bytes.Buffer, name string, value any) error {
	key, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("safetensors: name %q: %w", name, err)
	}
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("safetensors: %q: %w", name, err)
	}
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	b.Write(key)
	b.WriteByte(':')
	b.Write(body)
	return nil
}

// entry describes the array at byte position at.
func (a *Array) entry(at int64) (entry, error) {
	e := entry{DType: F32, Shape: []int64{}}
	want := 1
	for _, d := range a.Shape {
		e.Shape = append(e.Shape, int64(d))
		want *= d
	}
	if len(a.F32) != want {
		return e, fmt.Errorf("safetensors: array %.80q: shape %v with %d values", a.Name, a.Shape, len(a.F32))
	}
	e.Offsets = []int64{at, at + int64(len(a.F32))*width}
	if err := e.check(); err != nil {
		return e, fmt.Errorf("safetensors: array %q: %w", a.Name, err)
	}
	return e, nil
}

func (a *Array) bytes() []byte {
	out := make([]byte, 0, width*len(a.F32))
	for _, v := range a.F32 {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}
