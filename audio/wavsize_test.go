package audio

import (
	"bytes"
	"encoding/binary"
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
