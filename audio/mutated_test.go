package audio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A mutated sound file is an error or gives finite samples, and neither takes much memory.
func TestMutatedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of files take minutes under emulation")
	}
	read := func(name string) []byte { return must.Get(os.ReadFile(filepath.Join("testdata", name)))(t) }
	samples := make([]byte, 120)
	for i := range samples {
		samples[i] = byte(i * i)
	}
	for _, c := range []struct {
		name string
		most int // bytes that may be allocated
		file []byte
	}{
		{"WAV of 8 bits", 1 << 20, riff(chunk("fmt ", format(1, 1, 8000, 8)), chunk("data", samples))},
		{"WAV of 24 bits", 1 << 20, riff(chunk("fmt ", format(1, 2, 8000, 24)), chunk("LIST", samples[:9]), chunk("data", samples))},
		{"WAV of floats", 1 << 20, riff(chunk("fmt ", format(3, 1, 8000, 32)), chunk("data", bytes.Repeat([]byte{0xff, 0xff, 0x7f, 0x7f}, 10)))},
		{"extensible WAV", 1 << 20, riff(chunk("fmt ", extensible(1, 2, 8000, 16)), chunk("data", samples))},
		{"FLAC", 8 << 20, read("stereo.flac")},
		{"MP3", 8 << 20, read("joint.mp3")},
		{"Ogg Vorbis", 32 << 20, read("mono.ogg")},
	} {
		t.Run(c.name, func(t *testing.T) {
			block := make([]float32, 1<<16)
			must.Mutate(t, "a mutated sound file is an error or gives finite samples, with bounded memory", c.most, c.file, func(b []byte) bool {
				r, err := Open(bytes.NewReader(b))
				for total := 0; err == nil && total < 1<<20; {
					if r.Format.Channels < 1 || r.Format.Channels > len(block) || r.Format.SampleRate < 1 {
						return false
					}
					buf := block[:len(block)/r.Format.Channels*r.Format.Channels]
					n := 0
					n, err = r.Read(buf)
					if total += n; notFinite(buf[:n]) < n || n%r.Format.Channels > 0 || n < len(buf) && err == nil {
						return false
					}
				}
				return true
			})
		})
	}
}
