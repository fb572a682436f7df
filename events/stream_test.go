package events_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// at converts samples of the tone model's rate to another rate.
func at(t testing.TB, hz int, x []float32) []float32 {
	r := must.Get(audio.NewResampler(rate, hz))(t)
	return r.Flush(r.Process(nil, x))
}

// A Stream at any rate finds the tones, at positions of its input, however the input is divided
// into blocks and wherever it is restored from a snapshot, also after Flush and Skip.
func TestStream(t *testing.T) {
	r, words := recognizer(t, toneOptions()), tonemodel.Words()
	for _, hz := range []int{8000, 11025, 16000, 44100} {
		x := at(t, hz, words.Samples)
		s := must.Get(r.NewStream(float64(hz)))(t)
		want := listen(t, s, x, len(x))
		if len(want) != len(words.Tones) {
			t.Fatalf("%d Hz: events %+v, expected %+v", hz, want, words.Tones)
		}
		for i, e := range want {
			tone, ratio := words.Tones[i], float64(hz)/rate
			if e.Label != tone.Label || math.Abs(float64(e.Onset)-ratio*float64(tone.Onset)) > 0.1*float64(hz) {
				t.Errorf("%d Hz: event %+v, expected %+v at 8000 Hz", hz, e, tone)
			}
		}
		for _, blocks := range [][]int{{1}, {79, 1500, 3}} {
			got := listen(t, must.Get(r.NewStream(float64(hz)))(t), x, blocks...)
			must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "%d Hz: events in blocks of %v", hz, blocks)
		}

		must.Get(s.Skip(12345))(t)
		after := s.Position()
		must.Equal(t, after, int64(len(x))+12345, "%d Hz: position", hz)
		var got []events.Event
		for part := range slices.Chunk(x, hz/3) {
			got = append(got, must.Get(s.Process(part))(t)...)
			next := must.Get(r.NewStream(float64(hz)))(t)
			must.Do(t, next.Restore(s.Snapshot()))
			s = next
		}
		got = append(got, must.Get(s.Flush())(t)...)
		must.Equal(t, fmt.Sprint(got), fmt.Sprint(later(want, after)), "%d Hz: events of a restored second signal", hz)
	}
}

// Samples that are not audio count as 0 at every rate.
func TestStreamBadSamples(t *testing.T) {
	x := at(t, 16000, tonemodel.Words().Samples)
	bad, silent := slices.Clone(x), slices.Clone(x)
	for i, v := range []float64{math.NaN(), math.Inf(1), 1e7} {
		bad[9000+i], silent[9000+i] = float32(v), 0
	}
	r := recognizer(t, toneOptions())
	for _, hz := range []float64{8000, 16000} {
		got := listen(t, must.Get(r.NewStream(hz))(t), bad, 800)
		must.Equal(t, fmt.Sprint(got), fmt.Sprint(listen(t, must.Get(r.NewStream(hz))(t), silent, 800)), "events")
	}
}

func TestStreamErrors(t *testing.T) {
	r := recognizer(t, toneOptions())
	must.Reject(r.NewStream(44100.5))(t, "resampling from 44100.5 Hz to 8000 Hz: expected whole numbers")
	must.Reject(r.NewStream(1))(t, "audio: 1 Hz to 8000 Hz")
	s, other := must.Get(r.NewStream(16000))(t), must.Get(r.NewStream(0))(t)
	must.Equal(t, other.SampleRate(), 8000, "rate")
	must.Fail(t, other.Restore(s.Snapshot()), "taken at 16000 Hz, this stream has 8000 Hz")
}

// Detect finds the events of a Stream in a file. In a truncated one it finds those before its end.
func TestDetect(t *testing.T) {
	r := recognizer(t, toneOptions())
	x := at(t, 16000, tonemodel.Words().Samples)
	var file bytes.Buffer
	must.Do(t, audio.WriteWAV(&file, 16000, x))
	whole := file.Bytes()
	found := must.Get(r.Detect(must.Get(audio.Open(bytes.NewReader(whole)))(t)))(t)
	decoded := make([]float32, len(x)) // rounded to 16 bits
	must.Get(must.Get(audio.Open(bytes.NewReader(whole)))(t).Read(decoded))(t)
	want := listen(t, must.Get(r.NewStream(16000))(t), decoded, len(x))
	must.Equal(t, fmt.Sprint(found), fmt.Sprint(want), "events")
	found, err := r.Detect(must.Get(audio.Open(bytes.NewReader(whole[:len(whole)/2])))(t))
	must.Fail(t, err, "truncated")
	if len(found) == 0 || !slices.Equal(found, want[:len(found)]) {
		t.Errorf("events of half a file: %+v, expected the first of %+v", found, want)
	}
}
