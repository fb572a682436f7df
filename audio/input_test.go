package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// finite is a check of samples.
func finite(x []float32) (int, error) {
	if n := notFinite(x); n >= 0 {
		return n, errors.New("not finite")
	}
	return len(x), nil
}

// The header of a file has to be what the Input expects. Samples without a header need a rate.
func TestInputHeader(t *testing.T) {
	var mono bytes.Buffer
	must.Do(t, WriteWAV(&mono, 8000, make([]float32, 100)))
	stereo := bytes.Clone(mono.Bytes())
	stereo[22], stereo[32] = 2, 4
	zero := 0
	for _, c := range []struct {
		in   Input
		file []byte
		want string // error
		rate float64
	}{
		{Input{Format: AnyFile}, mono.Bytes(), "", 8000},
		{Input{Format: "wav", Rate: 8000}, mono.Bytes(), "", 8000},
		{Input{Format: "mp3"}, mono.Bytes(), "the format is wav, expected mp3 (format)", 0},
		{Input{Format: AnyFile, Rate: 16000}, mono.Bytes(), "rate 8000 Hz in the header, expected 16000 Hz", 0},
		{Input{Format: AnyFile}, stereo, "2 channels, expected 1", 0},
		{Input{Format: AnyFile, Mix: true}, stereo, "", 8000},
		{Input{Format: AnyFile, Options: Options{Channel: &zero}}, stereo, "", 8000},
		{Input{Format: AnyFile}, []byte("no sound"), "unknown format", 0},
		{Input{Format: "s16le", Rate: 16000, Fallback: 8000}, nil, "", 16000},
		{Input{Format: "s16le", Fallback: 8000}, nil, "", 8000},
		{Input{Format: "s16le"}, nil, "expected their rate", 0},
	} {
		r, err := c.in.Open(bytes.NewReader(c.file))
		if c.want != "" {
			must.Fail(t, err, c.want)
			continue
		}
		must.Do(t, err)
		must.Equal(t, r.Rate, c.rate, "rate of %+v", c.in)
		must.Do(t, r.Close())
	}
}

// The samples before an invalid one are read and counted. Samples that begin as a file does are
// reported.
func TestInputSamples(t *testing.T) {
	nan := must.Get(binary.Append(nil, binary.LittleEndian, []float32{1, 2, float32(math.NaN()), 3}))(t)
	r := must.Get(Input{Format: "f32le", Rate: 1, Check: finite}.Open(bytes.NewReader(nan)))(t)
	n, err := r.Read(make([]float32, 9))
	must.Fail(t, err, "not finite")
	must.Equal(t, int64(n), r.Samples, "samples")
	must.Equal(t, n, 2, "samples before the invalid one")
	var noted string
	r = must.Get(Input{Format: "s16le", Rate: 1, Check: finite, Sniffed: func(format string) error { noted = format; return nil }}.Open(bytes.NewReader([]byte("fLaC and more"))))(t)
	n, err = r.Read(make([]float32, 3))
	must.Equal(t, n == 3 && (err == nil || err == io.EOF) && noted == "FLAC", true, "%d samples, error %v, format %q", n, err, noted)
}
