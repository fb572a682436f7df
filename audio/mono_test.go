package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// MonoAt returns the same samples as ReadMono, at the rate of the recording and at another one.
func TestMonoAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wav")
	x := make([]float32, 5000)
	for i := range x {
		x[i] = float32(i%97)/97 - 0.5
	}
	must.Do(t, WriteWAVFile(path, 8000, x))
	for _, rate := range []int{8000, 16000, 11025} {
		want := must.Get(ReadMono(path, rate))(t)
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		in := must.Get(must.Get(Open(f))(t).MonoAt(rate))(t)
		got := must.Get(all(in, 700))(t)
		if !slices.Equal(got, want) {
			t.Errorf("%d Hz: %d samples, which are not the %d of ReadMono", rate, len(got), len(want))
		}
	}
	must.Reject(must.Get(Open(bytes.NewReader(must.Get(os.ReadFile(path))(t))))(t).MonoAt(0))(t, "audio: ")
}

// Mono gives the mean of every frame's channels, whatever the size of the reads; one channel passes
// unchanged.
func TestMono(t *testing.T) {
	const frames = 3000
	for _, channels := range []int{1, 3} {
		var whole bytes.Buffer
		must.Do(t, WriteWAV(&whole, 8000, make([]float32, frames*channels)))
		b := whole.Bytes()
		binary.LittleEndian.PutUint16(b[22:], uint16(channels))
		binary.LittleEndian.PutUint16(b[32:], uint16(2*channels))
		for i := range frames * channels {
			binary.LittleEndian.PutUint16(b[44+2*i:], uint16(i-4000))
		}
		for _, size := range []int{1, 7, frames + 1} {
			r := must.Get(OpenWAV(bytes.NewReader(b)))(t)
			got := must.Get(all(Mono(r), size))(t)
			must.Equal(t, len(got), frames, "%d channels: samples", channels)
			for i, v := range got {
				expected := float32((float64(i*channels-4000) + float64(channels-1)/2) / (1 << 15))
				if v != expected {
					t.Fatalf("%d channels, reads of %d: sample %d is %v, expected %v", channels, size, i, v, expected)
				}
			}
		}
	}
}

// A file gives no sample at a new rate that is not finite.
func TestReadMonoLimits(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, format []byte, data []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, riff(chunk("fmt ", format), chunk("data", data)), 0o644))
		return path
	}
	slow := save("slow.wav", format(tagPCM, 1, 1, 8), make([]byte, 4000))
	must.Equal(t, len(must.Get(ReadMono(slow, maxRatio))(t)), 4000*maxRatio, "samples at the largest ratio")
	must.Reject(ReadMono(slow, 16000))(t, "slow.wav: audio: 1 Hz to 16000 Hz: expected at most 256 times the rate")

	var loud []byte
	for i := range 4000 {
		loud = binary.LittleEndian.AppendUint32(loud, math.Float32bits(float32(1-i/50%2*2)*3e38))
	}
	path := save("loud.wav", format(tagFloat, 1, 48000, 32), loud)
	must.Get(ReadMono(path, 48000))(t)
	must.Reject(ReadMono(path, 16000))(t, "loud.wav: audio: converted sample ")
	r := must.Get(Open(bytes.NewReader(must.Get(os.ReadFile(path))(t))))(t)
	src := must.Get(r.MonoAt(16000))(t)
	buf := make([]float32, 2000)
	n, err := src.Read(buf)
	must.Fail(t, err, "converted sample ")
	must.Equal(t, notFinite(buf[:n]), -1, "finite samples before the error")
}
