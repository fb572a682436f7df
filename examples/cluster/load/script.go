package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/report"
)

const (
	chunkDuration = time.Second / 10
	maxScripts    = 8
	pause         = 0.3 // seconds between two words
	tail          = 0.5 // seconds of silence at the end of a clip, in which its last event ends
)

// script is audio that is sent again and again, and the events of a single detector in it.
type script struct {
	rate     float64 // Hz
	clip     [][]byte
	chunks   int // in total
	expected []expectedEvent
}

// expectedEvent is an event and the number of the chunk that completes it. An event that only the
// end of the audio completes has the number of chunks.
type expectedEvent struct {
	event report.Event
	chunk int
}

// chunk returns the k-th chunk.
func (s *script) chunk(k int) []byte { return s.clip[k%len(s.clip)] }

// newScript returns the script of a clip and a total number of chunks.
func newScript(r *events.Recognizer, clip []float32, chunks int) (*script, error) {
	s := &script{rate: r.SampleRate(), chunks: chunks}
	size := int(chunkDuration.Seconds() * s.rate)
	for ; len(clip) >= size; clip = clip[size:] {
		var b []byte
		for _, v := range clip[:size] {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*(1<<15))))
		}
		s.clip = append(s.clip, b)
	}
	if len(s.clip) == 0 {
		return nil, fmt.Errorf("clip of %d samples, expected at least %d", len(clip), size)
	}
	d := r.NewDetector()
	for k := range chunks + 1 {
		var found []events.Event
		var err error
		if k < chunks {
			found, err = d.Process(wire.AppendSamples(nil, s.chunk(k)))
		} else {
			found, err = d.Flush()
		}
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			s.expected = append(s.expected, expectedEvent{report.NewEvent(e, func(n int64) int64 { return n }), k})
		}
	}
	return s, nil
}

// scriptsOf returns scripts of WAV files with a word each. Every clip starts with another file.
func scriptsOf(r *events.Recognizer, files []string, seconds float64, chunks int) (all []*script, err error) {
	if len(files) == 0 {
		return nil, errors.New("no arguments: expected WAV files with a word each")
	}
	found := 0
	for i := range min(maxScripts, len(files)) {
		clip, err := join(r.SampleRate(), append(files[i:len(files):len(files)], files[:i]...), seconds)
		if err != nil {
			return nil, err
		}
		s, err := newScript(r, clip, chunks)
		if err != nil {
			return nil, err
		}
		all, found = append(all, s), found+len(s.expected)
	}
	if found == 0 {
		return nil, fmt.Errorf("the model finds no event in the first words of the files that fit into %g s: expected other files or more -seconds", seconds)
	}
	return all, nil
}

// join returns a clip of as many words as fit.
func join(rate float64, files []string, seconds float64) ([]float32, error) {
	clip := make([]float32, int(seconds*rate))
	at := int(pause * rate)
	for _, path := range files {
		word, format, err := audio.ReadWAVFile(path)
		if err != nil {
			return nil, err
		}
		if float64(format.SampleRate) != rate || format.Channels != 1 {
			return nil, fmt.Errorf("%s: %d channels at %d Hz, expected 1 at %g Hz", path, format.Channels, format.SampleRate, rate)
		}
		if at+len(word)+int(tail*rate) > len(clip) {
			break
		}
		at += copy(clip[at:], word) + int(pause*rate)
	}
	return clip, nil
}
