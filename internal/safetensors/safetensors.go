// Package safetensors reads and writes files of named arrays: eight bytes of header length, a JSON header
// with each array's type, shape and place, then the bytes, little endian.
//
// A File goes out with WriteTo and comes in with Read. Nothing that a header declares is believed before it is
// checked against the bytes that are there.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Element types that are read and written.
const (
	F32 = "F32"
	I64 = "I64"
)

// maxHeader bounds the header, in bytes.
const maxHeader = 16 << 20

// Array is one named array: exactly one of F32 and I64 holds its values, row-major.
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

func (a *Array) dtype() (string, int64) {
	if a.I64 != nil {
		return I64, 8 * int64(len(a.I64))
	}
	return F32, 4 * int64(len(a.F32))
}

// WriteTo writes the file.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	header, err := f.header()
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
	out.Write(header)
	total, err := out.WriteTo(w)
	for i := range f.Arrays {
		if err != nil {
			break
		}
		var n int
		n, err = w.Write(f.Arrays[i].bytes())
		total += int64(n)
	}
	return total, err
}

// header renders the JSON header with the arrays in order, padded with spaces to a multiple of 64 bytes.
func (f *File) header() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	if len(f.Metadata) > 0 {
		m, err := json.Marshal(f.Metadata)
		if err != nil {
			return nil, fmt.Errorf("safetensors: metadata: %w", err)
		}
		b.WriteString(`"__metadata__":`)
		b.Write(m)
	}
	at := int64(0)
	for i := range f.Arrays {
		a := &f.Arrays[i]
		dtype, size := a.dtype()
		e := entry{DType: dtype, Shape: []int64{}, Offsets: [2]int64{at, at + size}}
		for _, d := range a.Shape {
			e.Shape = append(e.Shape, int64(d))
		}
		name, err := json.Marshal(a.Name)
		if err != nil {
			return nil, fmt.Errorf("safetensors: name %q: %w", a.Name, err)
		}
		body, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("safetensors: array %q: %w", a.Name, err)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(body)
		at += size
	}
	b.WriteByte('}')
	for (b.Len()+8)%64 != 0 {
		b.WriteByte(' ')
	}
	return b.Bytes(), nil
}

func (a *Array) bytes() []byte {
	if a.I64 != nil {
		out := make([]byte, 0, 8*len(a.I64))
		for _, v := range a.I64 {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
		return out
	}
	out := make([]byte, 0, 4*len(a.F32))
	for _, v := range a.F32 {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// Read reads a whole file. Every error names what is wrong and, where there is one, the array.
func Read(r io.Reader) (*File, error) {
	header, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	f, places, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, p := range places {
		total = max(total, p[1])
	}
	// The buffer grows with the bytes that arrive, whatever the header promises.
	var data bytes.Buffer
	n, err := io.Copy(&data, io.LimitReader(r, total+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("safetensors: %w", err)
	case n < total:
		return nil, fmt.Errorf("safetensors: the file is cut short: %d bytes of data, %d declared", n, total)
	case n > total:
		return nil, fmt.Errorf("safetensors: bytes after the last array")
	}
	for i := range f.Arrays {
		f.Arrays[i].decode(data.Bytes()[places[i][0]:places[i][1]])
	}
	return f, nil
}

func readHeader(r io.Reader) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("safetensors: the file is cut short in the header's length")
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n < 2 || n > maxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes: want 2 … %d", n, maxHeader)
	}
	var header bytes.Buffer
	if got, err := io.CopyN(&header, r, int64(n)); err != nil {
		return nil, fmt.Errorf("safetensors: the file is cut short in the header: %d of %d bytes", got, n)
	}
	return header.Bytes(), nil
}

// parseHeader returns the arrays in the order of their places, without values, and the places.
func parseHeader(header []byte) (*File, [][2]int64, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %w", err)
	}
	f := &File{}
	entries := map[string]entry{}
	for name, body := range raw {
		if name == "__metadata__" {
			if err := json.Unmarshal(body, &f.Metadata); err != nil {
				return nil, nil, fmt.Errorf("safetensors: metadata: %w", err)
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, nil, fmt.Errorf("safetensors: array %q: %w", name, err)
		}
		if err := e.check(); err != nil {
			return nil, nil, fmt.Errorf("safetensors: array %q: %w", name, err)
		}
		entries[name] = e
		f.Arrays = append(f.Arrays, Array{Name: name, Shape: e.shape(), I64: map[bool][]int64{true: {}}[e.DType == I64]})
	}
	slices.SortFunc(f.Arrays, func(a, b Array) int {
		x, y := entries[a.Name].Offsets, entries[b.Name].Offsets
		if c := slices.Compare(x[:], y[:]); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	places := make([][2]int64, len(f.Arrays))
	end := int64(0)
	for i, a := range f.Arrays {
		places[i] = entries[a.Name].Offsets
		if places[i][0] != end {
			return nil, nil, fmt.Errorf("safetensors: array %q begins at byte %d, want %d: arrays overlap or leave a gap", a.Name, places[i][0], end)
		}
		end = places[i][1]
	}
	return f, places, nil
}

// check compares type, shape and place with each other.
func (e entry) check() error {
	width := map[string]int64{F32: 4, I64: 8}[e.DType]
	if width == 0 {
		return fmt.Errorf("type %q: only F32 and I64 are read", e.DType)
	}
	size := width
	for _, d := range e.Shape {
		if d < 0 || d > 0 && size > math.MaxInt32*width*64/d {
			return fmt.Errorf("shape %v makes no sense", e.Shape)
		}
		size *= d
	}
	if e.Offsets[0] < 0 || e.Offsets[1]-e.Offsets[0] != size {
		return fmt.Errorf("shape %v takes %d bytes, its place is %v", e.Shape, size, e.Offsets)
	}
	return nil
}

func (e entry) shape() []int {
	s := make([]int, len(e.Shape))
	for i, d := range e.Shape {
		s[i] = int(d)
	}
	return s
}

func (a *Array) decode(b []byte) {
	if a.I64 != nil {
		a.I64 = make([]int64, len(b)/8)
		for i := range a.I64 {
			a.I64[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return
	}
	a.F32 = make([]float32, len(b)/4)
	for i := range a.F32 {
		a.F32[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
