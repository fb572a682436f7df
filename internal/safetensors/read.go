package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// place is an array's description with its name.
type place struct {
	name string
	entry
}

// Read reads a whole file of arrays of type F32, and verifies its checksum, if it has one. Errors
// say what is wrong, and in which array.
func Read(r io.Reader) (*File, error) {
	f, err := ReadAny(r, func(dtype string) int { return map[string]int{F32: width}[dtype] })
	if err != nil {
		return nil, err
	}
	for i := range f.Arrays {
		a := &f.Arrays[i]
		a.F32 = make([]float32, len(a.Raw)/width)
		binary.Decode(a.Raw, binary.LittleEndian, a.F32) // of the same size
		a.DType, a.Raw = "", nil
	}
	return f, nil
}

// ReadAny is Read for files of other programs. widthOf returns the bytes of an element of a type, 0
// for a type that the caller cannot read. The arrays have DType and Raw instead of F32.
func ReadAny(r io.Reader, widthOf func(dtype string) int) (*File, error) {
	header, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	metadata, places, err := parseHeader(header, widthOf)
	if err != nil {
		return nil, err
	}
	f := &File{Metadata: metadata, Arrays: make([]Array, len(places))}
	sum, summed := metadata[sumKey]
	h := sha256.New()
	if summed {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
		h.Write(bytes.Replace(header, []byte(sum), []byte(noSum), 1))
		delete(metadata, sumKey)
		r = io.TeeReader(r, h)
	}
	for i, p := range places {
		if f.Arrays[i], err = p.read(r); err != nil {
			return nil, fmt.Errorf("safetensors: array %.80q: %w", p.name, err)
		}
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); {
	case err == nil:
		return nil, fmt.Errorf("safetensors: trailing data after the last array")
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("safetensors: %w", err)
	case summed && hex.EncodeToString(h.Sum(nil)) != sum:
		return nil, fmt.Errorf("safetensors: wrong checksum: the file is damaged, or was changed without removing %q from its metadata", sumKey)
	}
	return f, nil
}

func readHeader(r io.Reader) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("safetensors: header's length: %w", truncated(err))
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n < 2 || n > maxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes: expected 2 … %d", n, maxHeader)
	}
	var header bytes.Buffer // grows with the bytes that arrive
	if got, err := io.CopyN(&header, r, int64(n)); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w: %d of %d bytes", truncated(err), got, n)
	}
	return header.Bytes(), nil
}

var errTruncated = errors.New("the file is truncated")

// truncated replaces the end of the file, where more bytes were announced, by errTruncated.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}

// parseHeader returns the metadata, and the arrays' places in the order of their bytes. The places
// cover the data without overlap or gap.
func parseHeader(header []byte, widthOf func(dtype string) int) (metadata map[string]string, places []place, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(header, &members); err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %.200w", err)
	}
	for name, text := range members {
		if name == metadataKey {
			if err := json.Unmarshal(text, &metadata); err != nil {
				return nil, nil, fmt.Errorf("safetensors: metadata: %.200s", err) // may hold a whole value
			}
			continue
		}
		p := place{name: name}
		if err := json.Unmarshal(text, &p.entry); err != nil {
			return nil, nil, fmt.Errorf("safetensors: array %.80q: %.200s", name, err)
		}
		if err := p.check(widthOf(p.DType)); err != nil {
			return nil, nil, fmt.Errorf("safetensors: array %.80q: %w", name, err)
		}
		places = append(places, p)
	}
	return metadata, places, arrange(places)
}

// arrange sorts the arrays by their place, and empty ones by name, and rejects overlaps and gaps.
func arrange(places []place) error {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(slices.Compare(a.Offsets, b.Offsets), strings.Compare(a.name, b.name))
	})
	end := int64(0)
	for _, p := range places {
		if p.Offsets[0] != end {
			return fmt.Errorf("safetensors: array %.80q begins at byte %d, expected %d: arrays overlap or leave a gap", p.name, p.Offsets[0], end)
		}
		end = p.Offsets[1]
	}
	return nil
}

// check compares the type, the shape and the place with each other.
func (e *entry) check(width int) error {
	if width == 0 {
		return fmt.Errorf("type %.64q: expected %s", e.DType, F32)
	}
	size := int64(width)
	if e.Shape == nil || len(e.Offsets) != 2 {
		return fmt.Errorf("shape %v, data_offsets with %d numbers: expected a list of dimensions, and two offsets", e.Shape, len(e.Offsets))
	}
	if len(e.Shape) > maxRank {
		return fmt.Errorf("%d dimensions: expected at most %d", len(e.Shape), maxRank)
	}
	for _, d := range e.Shape {
		if d < 0 || d > maxBytes || d > 0 && size > maxBytes/d {
			return fmt.Errorf("invalid shape %v", e.Shape)
		}
		size *= d
	}
	if e.Offsets[0] < 0 || e.Offsets[1]-e.Offsets[0] != size {
		return fmt.Errorf("shape %v needs %d bytes, its data_offsets are %v", e.Shape, size, e.Offsets)
	}
	return nil
}

// read reads the array's bytes from r. Memory grows with the bytes that arrive, not with what the
// header announces.
func (p *place) read(r io.Reader) (Array, error) {
	a := Array{Name: p.name, DType: p.DType, Shape: make([]int, len(p.Shape))}
	for i, d := range p.Shape {
		a.Shape[i] = int(d)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, p.Offsets[1]-p.Offsets[0]); err != nil {
		return a, truncated(err)
	}
	a.Raw = b.Bytes()
	return a, nil
}
