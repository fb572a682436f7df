package calibration_test

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// bed returns background with the given samples.
func bed(x []float32) calibration.Stream {
	return calibration.Stream{Name: "bed", Open: func() (calibration.Audio, error) { return &memory{x: x}, nil }}
}

// Background that is silent, or begins with more than a minute of silence, is noise where it has
// sound. Amplitudes that are almost 0 are silence: they cannot be amplified to a level.
func TestSilentBackground(t *testing.T) {
	_, clips := clipFolder(t)
	silence := make([]float32, 100*rate)
	late := append(append([]float32{}, silence...), tone(0.01, 0, rate)...)
	quiet := read(t, wordStreams(t, clips, clean())[0], 4096)
	for name, beds := range map[string][]calibration.Stream{
		"another bed": {bed(silence), bed(tone(0.01, 0, rate))}, "late sound": {bed(late)}, "both": {bed(nil), bed(silence), bed(late)},
	} {
		opt := clean()
		opt.SNR, opt.Noise = 0, beds
		noisy := read(t, wordStreams(t, clips, opt)[0], 4096)
		for i := range noisy {
			noisy[i] -= quiet[i]
		}
		if level := rms(noisy); !(level > 0.1 && level < 1) {
			t.Errorf("%s: noise of level %v", name, level)
		}
	}
	faint := make([]float32, rate)
	for i := range faint {
		faint[i] = math.SmallestNonzeroFloat32
	}
	opt := clean()
	opt.SNR, opt.Noise = 0, []calibration.Stream{bed(faint)}
	must.Reject(wordStreams(t, clips, opt)[0].Open())(t, "bed: silence, expected noise")
}
