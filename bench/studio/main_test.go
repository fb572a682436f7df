package main

import (
	"io"
	"os/exec"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The utterances of a word are the same in every run, and the test has others than the training.
func TestUtterances(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	o := options{voices: []string{"en-us+m3", "en-gb+f2"}, seed: 1}
	first := must.Get(o.utterances(t.Context(), "lumo", 0, 2, ofTraining))(t)
	again := must.Get(o.utterances(t.Context(), "lumo", 0, 2, ofTraining))(t)
	test := must.Get(o.utterances(t.Context(), "lumo", 0, 2, ofTests))(t)
	for i := range first {
		must.Equal(t, slices.Equal(first[i], again[i]), true, "utterance %d again", i)
		must.Equal(t, slices.Equal(first[i], test[i]), false, "utterance %d of the test and of the training", i)
	}
	must.Equal(t, len(joined(first)), len(first[0])+len(first[1])+rate/2+2*(3*rate/4), "samples with pauses")
}

// Samples beyond full scale are clipped.
func TestPCM(t *testing.T) {
	must.Equal(t, string(pcm([]float32{0, 0.5, -1, 2})), "\x00\x00\x00\x40\x00\x80\xff\x7f", "bytes")
}

// A folder that exists is not replaced.
func TestOut(t *testing.T) {
	o := options{out: t.TempDir()}
	must.Fail(t, run(t.Context(), o, io.Discard), "-out", o.out, "exists")
}
