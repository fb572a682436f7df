package audio

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A restored Resampler continues with the same bits, wherever the snapshot was made.
func TestResamplerSnapshot(t *testing.T) {
	for _, rates := range [][2]int{{8000, 8000}, {16000, 8000}, {8000, 16000}, {44100, 8000}, {11025, 16000}, {192000, 8000}} {
		x := make([]float32, 5000)
		for i := range x {
			x[i] = float32((i*i)%1000)/1000 - 0.5
		}
		convert := func(cut int) []float32 {
			first := must.Get(NewResampler(rates[0], rates[1]))(t)
			second := must.Get(NewResampler(rates[0], rates[1]))(t)
			y := first.Process(nil, x[:cut])
			second.Process(nil, x[:100]) // which Restore replaces
			must.Do(t, second.Restore(first.Snapshot()))
			return second.Flush(second.Process(y, x[cut:]))
		}
		want := convert(0)
		for _, cut := range []int{1, 2, 999, 1024, 2500, 4999, 5000} {
			if !slices.Equal(convert(cut), want) {
				t.Errorf("%v Hz: a snapshot after %d samples changes the output", rates, cut)
			}
		}
	}
}

func TestResamplerRestoreErrors(t *testing.T) {
	newResampler := func(from, to int) *Resampler {
		return must.Get(NewResampler(from, to))(t)
	}
	r := newResampler(44100, 8000)
	good := r.Snapshot()
	phase := slices.Clone(good)
	phase[8] = 80
	for name, b := range map[string][]byte{
		"empty": nil, "odd": good[:len(good)-1], "long": append(good, make([]byte, 4*r.width)...),
		"phase": phase, "ratio": newResampler(48000, 8000).Snapshot()[:len(good)],
	} {
		before := fmt.Sprint(r.Snapshot())
		if err := r.Restore(b); err == nil {
			t.Errorf("%s: restored", name)
		}
		if fmt.Sprint(r.Snapshot()) != before {
			t.Errorf("%s: the error changes the state", name)
		}
	}
}
