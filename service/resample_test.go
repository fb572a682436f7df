package service

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

const highRate = 44100 // Hz

// highRateWords returns the words at highRate as s16le.
func highRateWords(t *testing.T) []byte {
	t.Helper()
	r := must.Get(audio.NewResampler(tonemodel.SampleRate, highRate))(t)
	return encode(r.Flush(r.Process(nil, tonemodel.Words().Samples)))
}

// checkResampled compares the events of audio at a rate with those at the model's rate.
func checkResampled(t *testing.T, name string, rate float64, got transcript) {
	t.Helper()
	want := expectedEvents(t, encode(tonemodel.Words().Samples))
	if len(got.events) != len(want) {
		t.Fatalf("%s: %d events, expected %d: %+v", name, len(got.events), len(want), got.err)
	}
	ratio := rate / tonemodel.SampleRate
	for i, e := range got.events {
		must.Equal(t, e.Label, want[i].Label, "%s: event %d", name, i)
		onset, end := float64(e.Onset)-ratio*float64(want[i].Onset), float64(e.End)-ratio*float64(want[i].End)
		if limit := rate / 100; math.Abs(onset) > limit || math.Abs(end) > limit { // 10 ms, a frame of the gate
			t.Errorf("%s: event %d begins %.0f and ends %.0f samples late", name, i, onset, end)
		}
	}
	must.Equal(t, got.start.SampleRate, rate, "%s: rate", name)
	must.Equal(t, got.start.ModelSampleRate, tonemodel.SampleRate, "%s: rate of the model", name)
}

// With resample=true audio at another rate gives the events of the model's rate, in the audio's own
// samples. The channels of a WAV are mixed.
func TestResample(t *testing.T) {
	pcm := highRateWords(t)
	wav := func(channels, rate int) []byte { // with channels, whose mean has half the rate if they are 2
		var b bytes.Buffer
		must.Do(t, audio.WriteWAV(&b, rate, decodePCM(pcm)))
		b.Bytes()[22], b.Bytes()[32] = byte(channels), byte(2*channels)
		return b.Bytes()
	}
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for _, c := range []struct {
			query string
			body  []byte
			rate  float64
		}{
			{"format=s16le&rate=44100", pcm, highRate}, {"", wav(1, highRate), highRate}, {"rate=22050", wav(2, highRate/2), highRate / 2},
		} {
			_, text := in.post("/v1/streams?resample=true&"+c.query, bytes.NewReader(c.body))
			checkResampled(t, c.query, c.rate, parse(t, text))
		}
		c := in.dial("/v1/streams?rate=44100&resample=true")
		c.sendAudio(pcm, 8820)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkResampled(t, "WebSocket", highRate, got)
	})
}

// The parameter channel selects one channel of a file, also over WebSocket.
func TestChannelOfFile(t *testing.T) {
	var frames []float32
	words := tonemodel.Words().Samples
	for i := range words {
		frames = append(frames, words[len(words)-1-i], words[i])
	}
	wav := func(samples []float32) []byte {
		var b bytes.Buffer
		must.Do(t, audio.WriteWAV(&b, tonemodel.SampleRate, samples))
		return b.Bytes()
	}
	file := wav(frames)
	file[22], file[32] = 2, 4
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		_, text := in.post("/v1/streams?channel=1", bytes.NewReader(file))
		_, mono := in.post("/v1/streams", bytes.NewReader(wav(words)))
		want := fmt.Sprint(parse(t, mono).events)
		must.Equal(t, fmt.Sprint(parse(t, text).events), want, "events of channel 1")
		c := in.dial("/v1/streams?channel=1&format=wav")
		c.sendAudio(file, 8820)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		must.Equal(t, fmt.Sprint(got.events), want, "events of channel 1 over WebSocket")
		status, text := in.post("/v1/streams?channel=2", bytes.NewReader(file))
		checkError(t, "channel 2", status, text, 400, "audio", "no channel 2", "expected 0 to 1")
	})
}

// A resampled stream that is interrupted has the events of an uninterrupted one. It resumes only at
// its own rate.
func TestResumeResampled(t *testing.T) {
	pcm := highRateWords(t)
	const path = "/v1/streams/mine?format=s16le&rate=44100&resample=true"
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		_, text := in.post(path, bytes.NewReader(pcm))
		want := fmt.Sprint(parse(t, text).events)
		const cut = 100_002 // bytes, of which all whole blocks are processed
		in.interrupt("mine?rate=44100&resample=true", pcm[:cut])
		status, text := in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "other rate", status, text, 409, "snapshot", "44100 Hz", "8000 Hz")
		_, text = in.post(path+"&events=0", bytes.NewReader(pcm[cut:]))
		got := parse(t, text)
		must.Equal(t, *got.start.Samples, cut/2, "resumes at sample")
		must.Equal(t, fmt.Sprint(got.events), want, "events")
	})
}
