package audio

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestRawDecodes(t *testing.T) {
	tests := []struct {
		encoding Encoding
		bytes    []byte
		want     []float32
	}{
		{S16LE, []byte{0, 0, 0xff, 0x7f, 0, 0x80, 1, 0}, []float32{0, 32767.0 / 32768, -1, 1.0 / 32768}},
		{S16BE, []byte{0, 0, 0x7f, 0xff, 0x80, 0, 0, 1}, []float32{0, 32767.0 / 32768, -1, 1.0 / 32768}},
		{U8, []byte{128, 0, 255}, []float32{0, -1, 127.0 / 128}},
		{F32LE, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf, 0, 0, 0x80, 0x7f}, []float32{1, -0.5, float32(math.Inf(1))}},
	}
	for _, tt := range tests {
		for name, in := range map[string]io.Reader{"whole": bytes.NewReader(tt.bytes), "bytewise": iotest.OneByteReader(bytes.NewReader(tt.bytes))} {
			r := must.Get(NewRawReader(in, tt.encoding))(t)
			got := make([]float32, len(tt.want)+1)
			n, err := r.Read(got)
			if err != io.EOF || !slices.Equal(got[:n], tt.want) {
				t.Errorf("%s %s: %v, %v; expected %v, EOF", tt.encoding, name, got[:n], err, tt.want)
			}
		}
	}
}

func TestRawRejects(t *testing.T) {
	must.Reject(NewRawReader(nil, "mp3"))(t, `"mp3"`)
	r, _ := NewRawReader(bytes.NewReader([]byte{1, 0, 7}), S16LE)
	got := make([]float32, 4)
	if n, err := r.Read(got); n != 1 || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "1 bytes into a sample of 2") {
		t.Errorf("half a sample: %d samples, error %v", n, err)
	}
}
