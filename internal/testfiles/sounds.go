package testfiles

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/synth"
)

// Sounds returns noise, tones and notes of 0.2 to 0.8 s with pauses, at a rate in Hz, over faint
// noise. They are a function of the arguments.
func Sounds(seconds float64, rate int, seed uint64) []float32 {
	s := synth.Synth{Sampler: random.Sampler{Stream: random.New(seed, 0, 0, 0)}, Rate: float64(rate)}
	x := make([]float32, int(seconds*float64(rate)))
	s.Noise(x)
	synth.ScaleTo(x, 1e-3)
	for at := 0; at < len(x); {
		y := make([]float32, int(s.Between(0.2, 0.8)*s.Rate))
		[]func([]float32){s.Noise, s.Tones, s.Notes}[s.Below(3)](y)
		gain := float32(s.Amplitude(-30, -12))
		for i := range min(len(y), len(x)-at) {
			x[at+i] += gain * y[i]
		}
		at += len(y) + int(s.Between(0.05, 0.6)*s.Rate)
	}
	return x
}

// Speech returns words that espeak-ng speaks, 1.5 s apart, at a rate in Hz. The error is that
// espeak-ng is not installed, or its own. It writes files to dir.
func Speech(dir string, rate int, words ...string) ([]float32, error) {
	speech := make([]float32, rate/2)
	for i, word := range words {
		path := filepath.Join(dir, fmt.Sprint(i, ".wav"))
		if out, err := exec.Command("espeak-ng", "-v", "en-us-nyc+m7", "-s", "150", "-w", path, word).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("espeak-ng: %w: %s", err, out)
		}
		x, err := audio.ReadMono(path, rate)
		if err != nil {
			return nil, err
		}
		speech = append(speech, x...)
		speech = append(speech, make([]float32, rate*3/2)...)
	}
	return speech, nil
}

// Stereo writes two channels of the same length, at a rate in Hz.
func Stereo(t testing.TB, path string, rate int, left, right []float32) {
	t.Helper()
	var b bytes.Buffer
	x := make([]float32, 0, 2*len(left))
	for i, v := range left {
		x = append(x, v, right[i])
	}
	must.Do(t, audio.WriteWAV(&b, rate, x))
	b.Bytes()[22], b.Bytes()[32] = 2, 4
	Write(t, path, b.Bytes())
}
