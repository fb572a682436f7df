package service

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
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

// checkResampled compares the events of audio at highRate with those at the model's rate.
func checkResampled(t *testing.T, name string, got transcript) {
	t.Helper()
	want := expectedEvents(t, encode(tonemodel.Words().Samples))
	if len(got.events) != len(want) {
		t.Fatalf("%s: %d events, expected %d: %+v", name, len(got.events), len(want), got.err)
	}
	const ratio = float64(highRate) / tonemodel.SampleRate
	const tolerance = highRate / 100.0 // 10 ms, a frame of the gate
	near := func(got, want int64) bool {
		difference := float64(got) - ratio*float64(want)
		return -tolerance <= difference && difference <= tolerance
	}
	for i, e := range got.events {
		must.Equal(t, e.Label, want[i].Label, "%s: event %d", name, i)
		if !near(e.Onset, want[i].Onset) || !near(e.End, want[i].End) {
			t.Errorf("%s: event %d from %d to %d, expected from %.0f to %.0f",
				name, i, e.Onset, e.End, ratio*float64(want[i].Onset), ratio*float64(want[i].End))
		}
	}
	if got.start.SampleRate != highRate || got.start.ModelSampleRate != tonemodel.SampleRate {
		t.Errorf("%s: rates %v and %v, expected %v and %v",
			name, got.start.SampleRate, got.start.ModelSampleRate, highRate, tonemodel.SampleRate)
	}
}

// With resample=true audio at another rate gives the events of the model's rate, in the audio's own
// samples. The channels of a WAV are mixed.
func TestResample(t *testing.T) {
	pcm := highRateWords(t)
	mono, stereo := wavFile(1, pcm), wavFile(2, interleave(pcm))
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		for path, body := range map[string][]byte{
			"/v1/streams?format=s16le&rate=44100&resample=true": pcm,
			"/v1/streams?resample=true":                         mono,
			"/v1/streams?resample=true&rate=44100":              stereo,
		} {
			_, text := in.post(path, bytes.NewReader(body))
			got := parse(t, text)
			checkResampled(t, path, got)
			if got.end == nil || got.end.Samples != int64(len(pcm)/2) {
				t.Errorf("%s: end line %+v, expected %d samples", path, got.end, len(pcm)/2)
			}
		}
		c := in.dial("/v1/streams?rate=44100&resample=true")
		c.sendAudio(pcm, 8820)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkResampled(t, "WebSocket", got)
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
		c := in.dial(strings.Replace(path, "format=s16le&", "", 1))
		c.sendAudio(pcm[:cut], 4410)
		synctest.Wait()
		c.conn.CloseNow()
		synctest.Wait()
		status, text := in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "other rate", status, text, 409, "snapshot", "44100 Hz", "8000 Hz")
		_, text = in.post(path+"&events=0", bytes.NewReader(pcm[cut:]))
		got := parse(t, text)
		must.Equal(t, *got.start.Samples, cut/2, "resumes at sample")
		must.Equal(t, fmt.Sprint(got.events), want, "events")
	})
}

// wavFile returns a WAV at highRate.
func wavFile(channels int, pcm []byte) []byte {
	b := []byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, highRate)
	b = binary.LittleEndian.AppendUint32(b, uint32(2*channels*highRate))
	b = binary.LittleEndian.AppendUint16(b, uint16(2*channels))
	b = append(b, "\x10\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(pcm))), pcm...)
}

// interleave returns stereo with twice the signal on the left, and silence on the right.
func interleave(pcm []byte) (b []byte) {
	for i := 0; i < len(pcm); i += 2 {
		v := int16(binary.LittleEndian.Uint16(pcm[i:]))
		b = append(binary.LittleEndian.AppendUint16(b, uint16(2*v)), 0, 0)
	}
	return b
}
