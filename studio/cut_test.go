package studio

import (
	"bytes"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Clicks and quiet sounds are not words, and words keep their margins without those of neighbours.
func TestUtterances(t *testing.T) {
	x := tones(500, 3)
	for i := range 160 { // a click of 10 ms in the first pause
		x[rate/5+i] = 0.3
	}
	pieces, skipped, err := utterances(x, false)
	must.Do(t, err)
	must.Equal(t, len(pieces), 3, "words")
	must.Equal(t, len(skipped), 0, "sounds left out")
	for i, p := range pieces {
		if n := len(p); n < rate*9/10 || n > rate*11/10 {
			t.Errorf("word %d has %d samples, expected half a second and two margins of a quarter", i, n)
		}
	}
	pieces, _, err = utterances(x, true)
	must.Do(t, err)
	must.Equal(t, len(pieces), 1, "words, only the loudest")
	_, _, err = utterances(make([]float32, 100), false)
	must.Fail(t, err, "no word was found")
}

// The pieces of a recording are the recording.
func TestDivide(t *testing.T) {
	x := make([]float32, 23)
	for i := range x {
		x[i] = float32(i)
	}
	for n, want := range map[int]int{4: 6, 5: 5, 10: 2, 20: 1, 100: 1} {
		pieces := divide(x, n)
		must.Equal(t, len(pieces), want, "pieces of %d", n)
		at := 0
		for _, p := range pieces {
			for _, v := range p {
				must.Equal(t, v, x[at], "sample %d", at)
				at++
			}
		}
		must.Equal(t, at, len(x), "samples in pieces of %d", n)
	}
}

// An upload is an error that the client can read, or words within the limits.
func FuzzUpload(f *testing.F) {
	whole := wav(f, tones(500, 2))
	f.Add(whole, true)
	f.Add(whole[:20000], false)
	f.Add([]byte("RIFF"), false)
	f.Fuzz(func(t *testing.T, b []byte, loudest bool) {
		x, err := decode(bytes.NewReader(b), 5)
		if err == nil && len(x) > 5*rate {
			t.Fatalf("%d samples, expected at most 5 s", len(x))
		}
		var pieces [][]float32
		if err == nil && !silent(x) {
			pieces, _, err = utterances(x, loudest)
			if err == nil && (len(pieces) == 0 || loudest && len(pieces) != 1) {
				t.Fatalf("%d words without an error", len(pieces))
			}
		}
		if _, ok := err.(*apiError); err != nil && !ok {
			t.Fatalf("%T: %v", err, err)
		}
		for _, p := range pieces {
			if len(p) == 0 || float64(len(p)) > (longestWord+2*margin)*rate+1 {
				t.Fatalf("a word of %d samples", len(p))
			}
		}
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Fatal("an error without a text")
		}
	})
}
