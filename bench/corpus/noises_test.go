package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every kind of noise is audible in each tenth of a file, does not clip, and follows from its seed.
func TestKinds(t *testing.T) {
	o := options{seed: 1}
	for set, list := range kinds {
		for i, k := range list {
			x := k.file(o.dice(ofNoise, i), 8000)
			must.Equal(t, len(x), 8000*noiseSeconds, "%s: samples", k.name)
			for part := range slices.Chunk(x, len(x)/10) {
				var peak float32
				for _, v := range part {
					peak = max(peak, v, -v)
				}
				if !(peak > 1e-4 && peak <= 0.9) {
					t.Errorf("%s, %s: peak %v, expected 0.0001 to 0.9", set, k.name, peak)
				}
			}
			if !slices.Equal(x, k.file(o.dice(ofNoise, i), 8000)) {
				t.Errorf("%s differs the second time", k.name)
			}
			if slices.Equal(x, k.file(o.dice(ofNoise, i+100), 8000)) {
				t.Errorf("%s is the same in another file", k.name)
			}
		}
	}
}

// The colours of noise differ in their power at high frequencies. The measure is the power of the
// differences of neighbouring samples divided by the power of the samples, which is 2 for white
// noise.
func TestColours(t *testing.T) {
	ratio := func(k func(*dice, int, float64) []float64) float64 {
		x := k(options{}.dice(ofNoise, 3), 1<<16, 16000)
		power, change := 0.0, 0.0
		for i := 1; i < len(x); i++ {
			power += x[i] * x[i]
			change += (x[i] - x[i-1]) * (x[i] - x[i-1])
		}
		return change / power
	}
	if r := ratio(white); math.Abs(r-2) > 0.05 {
		t.Errorf("white: %v, expected 2", r)
	}
	if r := ratio(blue); math.Abs(r-3) > 0.05 { // (1−2+1)² of the autocorrelation 2, −1
		t.Errorf("blue: %v, expected 3", r)
	}
	if p, b := ratio(pink), ratio(brown); !(b < p/4 && p < 1.5) {
		t.Errorf("pink %v, brown %v, expected less than white noise, and less for brown", p, b)
	}
}

// The files have the kinds of noise in turn.
func TestNoises(t *testing.T) {
	out := t.TempDir()
	text := must.Get(corpus("noises", "-set", test, "-rate", "4000", "-minutes", "4", "-out", out))(t)
	must.Equal(t, text, "8 files of 30 s in "+out+"\n", "output")
	files := tree(t, out)
	for _, name := range []string{"blue/0.wav", "beeps/5.wav", "knocks/6.wav", "blue/7.wav"} {
		if len(files[name]) != 44+30*4000*2 {
			t.Errorf("%s has %d bytes, expected 30 s", name, len(files[name]))
		}
	}
}

// A file of two channels is an error. Silence is cut from both ends, except 20 ms.
func TestDecode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.wav")
	x := make([]float32, 10000)
	for i := 3000; i < 5000; i++ {
		x[i] = 0.5
	}
	x[100] = 0.0001
	must.Do(t, audio.WriteWAVFile(path, 10000, x))
	wav := []byte(tree(t, filepath.Dir(path))["x.wav"])
	got := must.Get(decode(wav, 10000))(t)
	must.Equal(t, len(got), 2400, "samples")
	must.Equal(t, got[200], 0.5, "first sample of the sound")
	must.Equal(t, len(must.Get(decode(wav, 5000))(t)), 1200, "samples at half the rate")
	must.Reject(decode(wav[:30], 5000))(t, audio.ErrTruncated)
	wav[22] = 2 // channels
	wav[32] = 4 // bytes of a frame
	must.Reject(decode(wav, 10000))(t, "2 channels, expected 1")
	must.Reject(decode([]byte(strings.Repeat("x", 100)), 10000))(t, "WAV")
}
