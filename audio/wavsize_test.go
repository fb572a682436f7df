package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestWrongSizes(t *testing.T) {
	const sizeAt = 40
	var file bytes.Buffer
	must.Do(t, WriteWAV(&file, 8000, []float32{0.5, -0.5, 0.25}))
	tests := []struct {
		name    string
		size    uint32
		drop    int // bytes
		samples int
		unknown bool
		cut     string // the error
	}{
		{"right", 6, 0, 3, false, ""},
		{"zero", 0, 0, 3, true, ""},
		{"no samples", 0, 6, 0, true, ""},
		{"smaller than the data", 4, 0, 2, false, ""},
		{"larger than the data", 1 << 20, 1, 2, false, "declares 1048576 bytes, the file has 5"},
		{"larger by a header, in a whole file", 6 + 36, 0, 3, false, ""},
		{"cut", 6, 2, 2, false, "declares 6 bytes, the file has 4"},
		{"cut to nothing", 6, 6, 0, false, "declares 6 bytes, the file has 0"},
		{"unknown, cut inside a sample", 0, 1, 2, true, "inside a frame after 5 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(file.Bytes()[:file.Len()-tt.drop])
			binary.LittleEndian.PutUint32(b[sizeAt:], tt.size)
			r := must.Get(OpenWAV(bytes.NewReader(b)))(t)
			got, err := all(r, 10)
			if want := []float32{0.5, -0.5, 0.25}[:tt.samples]; !slices.Equal(got, want) {
				t.Errorf("%v, error %v; expected %v", got, err, want)
			}
			must.Equal(t, r.in.(*wavStream).unknown, tt.unknown, "size unknown")
			if tt.cut == "" {
				must.Do(t, err)
			} else {
				must.Fail(t, err, ErrTruncated, tt.cut)
			}
		})
	}
}

// Only the placeholders that programs write leave the amount of data open; other large sizes are
// real, such as that of 3.1 hours of 48 kHz stereo.
func TestPlaceholders(t *testing.T) {
	for _, size := range []int64{0, 0x7FFF0000, 0x7FFFF000, 0x7FFFFF00, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFF - 44, 0xFFFFFFFC} {
		must.Equal(t, isPlaceholder(size, 4), true, "%#x", size)
	}
	for _, size := range []int64{31 * 360 * 48000 * 4, 0x7FFE0000, 0x7FFF8000, 0x80000004, 0xFFFF0000} {
		must.Equal(t, isPlaceholder(size, 4), false, "%#x", size)
	}
}

// The size of data beyond 4 GiB stands in a ds64 chunk.
func TestRF64(t *testing.T) {
	le := binary.LittleEndian
	file := func(magic string, size uint64) []byte {
		ds64 := le.AppendUint64(le.AppendUint64(nil, 0), size)
		ds64 = append(ds64, make([]byte, 12)...)
		b := riff(chunk("ds64", ds64), chunk("fmt ", format(1, 1, 8000, 16)), chunk("data", []byte{0, 0x40, 0, 0xc0}), chunk("LIST", make([]byte, 8)))
		copy(b, magic)
		le.PutUint32(b[bytes.Index(b, []byte("data"))+4:], 0xFFFFFFFF)
		return b
	}
	for _, c := range []struct {
		name    string
		file    []byte
		samples int
		unknown bool
	}{
		{"RF64", file("RF64", 4), 2, false},
		{"BW64", file("BW64", 4), 2, false},
		{"no size", file("RF64", 0), 2, true},
		{"size of all ones", file("RF64", math.MaxUint64), 2, true},
		{"RIFF, which has no ds64", file("RIFF", 4), 2, true},
	} {
		r := must.Get(OpenWAV(bytes.NewReader(c.file)))(t)
		got, err := all(r, 3)
		if err != nil || len(got) != c.samples {
			t.Errorf("%s: %d samples, error %v, expected %d samples", c.name, len(got), err, c.samples)
		}
		must.Equal(t, r.in.(*wavStream).unknown, c.unknown, "%s: size unknown", c.name)
	}
	short := riff(chunk("ds64", make([]byte, 8)))
	copy(short, "RF64")
	must.Reject(OpenWAV(bytes.NewReader(short)))(t, "ds64 chunk of 8 bytes")
}
