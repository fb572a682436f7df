package audio_test

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A fingerprint depends on the samples as 16-bit integers, and not on how they are divided into
// calls.
func TestFingerprint(t *testing.T) {
	of := func(blocks ...[]float32) uint64 {
		f := audio.NewFingerprint()
		for _, x := range blocks {
			f.Add(x)
		}
		return f.Sum()
	}
	x := []float32{0, 0.5, -0.25, 1, -1}
	want := of(x)
	must.Equal(t, of(x[:2], nil, x[2:]), want, "fingerprint in blocks")
	must.Equal(t, of([]float32{1e-6, 0.500001, -0.25, 7, -2}), want, "fingerprint of samples that are rounded and limited to the same")
	must.Equal(t, of(make([]float32, 5)), 0, "fingerprint of silence")
	if of(x[:4]) == want || of([]float32{0, 0.5, -0.25, 1, -0.99}) == want {
		t.Error("other samples have the same fingerprint")
	}
}
